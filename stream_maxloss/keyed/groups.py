"""The rows of a batch by key, and each group through the model of its key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream_maxloss.errors import RowError
from stream_maxloss.keyed.keys import key_texts
from stream_maxloss.rows.frame import to_record_batch

__all__ = ["Group", "KeyedRows", "missing_key", "split_rows"]

Integers = NDArray[np.int64]


class Group(NamedTuple):
    """The rows of one key, in order.

    Parameters
    ----------
    key
        The key.
    first, last
        Where they stand among all rows in the order of their keys.

    """

    key: str
    first: int
    last: int


class KeyedRows(NamedTuple):
    """A batch in the order of its keys.

    Parameters
    ----------
    rows
        The features, without the key.
    names
        Their names as the caller spells them.
    order
        The row of the batch that each of these was.
    groups
        The keys with their rows, in the order in which keys first appear.

    """

    rows: Any
    names: list[Any]
    order: Integers
    groups: list[Group]


def missing_key(key: Any, row: int | None = None) -> ValueError:
    """Return the error for a row without a key."""
    reason = f"key column {key!r} must have a value, got none; leave the row out, or fill the column"
    return ValueError(reason) if row is None else RowError(row, reason)


def split_rows(X: Any, key: Any) -> KeyedRows:
    """Return a batch in the order of its keys.

    Raises
    ------
    ValueError
        If there is no such column.
    RowError
        If a row has no key.

    """
    names, batch = to_record_batch(X)
    if key not in names:
        raise ValueError(f"rows must have the key column {key!r}, got {', '.join(map(str, names))}; name another key")
    place = names.index(key)
    texts = key_texts(batch.column(place))
    if texts.null_count:
        raise missing_key(key, int(np.argmax(texts.is_null().to_numpy(zero_copy_only=False))))
    coded = texts.dictionary_encode()
    codes = coded.indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(coded.dictionary)))
    groups = [Group(*group) for group in zip(coded.dictionary.to_pylist(), _starts(ends), ends.tolist(), strict=True)]
    others = [j for j in range(len(names)) if j != place]
    rows = pa.RecordBatch.from_arrays(
        [batch.column(j) for j in others], schema=pa.schema([batch.schema.field(j) for j in others])
    )
    is_sorted = len(groups) < 2 or bool((np.diff(codes) >= 0).all())
    return KeyedRows(rows if is_sorted else rows.take(pa.array(order)), [names[j] for j in others], order, groups)


def _starts(ends: Integers) -> Iterator[int]:
    yield 0
    yield from ends[:-1].tolist()
