"""The rows of a frame as dicts, for models that take one row at a time."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import pyarrow as pa

from stream_maxloss.features import text_feature
from stream_maxloss.rows.frame import to_record_batch

__all__ = ["frame_to_dicts"]

CHUNK = 1024


def frame_to_dicts(frame: Any, spread: bool = False) -> Iterator[dict[Hashable, Any]]:
    """Yield each row as a dict, missing values left out, categories as text, maps spread into one entry per key.

    Parameters
    ----------
    frame
        The rows.
    spread
        Whether to spread lists of texts, too, into one entry `column=text` of value 1 for each: most models take
        numbers only.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.rows.dicts import frame_to_dicts
    >>> list(frame_to_dicts(pa.table({"size": [1.0, None], "shape": ["round", "flat"]})))
    [{'size': 1.0, 'shape': 'round'}, {'shape': 'flat'}]

    """
    names, batch = to_record_batch(frame)
    if not names:
        # Arrow forgets how many rows a frame without columns has.
        yield from ({} for _ in range(len(frame)))
        return
    types = [field.type for field in batch.schema]
    for first in range(0, batch.num_rows, CHUNK):
        part = batch.slice(first, CHUNK)
        columns = [column.to_pylist() for column in part.columns]
        for row in range(part.num_rows):
            x: dict[Hashable, Any] = {}
            for name, kind, column in zip(names, types, columns, strict=True):
                if not is_missing(column[row]):
                    x.update(entries_of(name, kind, column[row], spread))
            yield x


def is_missing(value: Any) -> bool:
    """Return whether a value is null or NaN."""
    return value is None or value != value


def entries_of(name: Hashable, kind: Any, value: Any, spread: bool) -> list[tuple[Hashable, Any]]:
    """Return the entries of a row's dict that one value makes."""
    if pa.types.is_map(kind):
        return [(str(key), entry) for key, entry in value if not is_missing(entry)]
    if spread and isinstance(value, list):
        return [(text_feature(name, text), 1.0) for text in value if isinstance(text, str)]
    # A category is text whatever its values are, as in a batch.
    return [(name, str(value) if pa.types.is_dictionary(kind) else value)]
