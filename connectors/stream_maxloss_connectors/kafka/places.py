"""Where the rows of a batch stand in their topic, as columns."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence

import pyarrow as pa

__all__ = ["make_places"]


def make_places(
    partition: int,
    offsets: Sequence[int],
    keys: Sequence[bytes | None],
    message_of: Callable[[int], int],
    rows: int,
) -> pa.RecordBatch:
    """Return partition, offset and key of the message that each row came from.

    A key that is no UTF-8 is given as base64: predictions are JSON, which has no bytes.

    Parameters
    ----------
    partition
        The partition.
    offsets, keys
        Of the messages.
    message_of
        Gives the index of the message that a row came from.
    rows
        Number of rows.

    Examples
    --------
    >>> from stream_maxloss_connectors.kafka.places import make_places
    >>> make_places(3, [1882, 1883], [b"o-7", None], range(2).__getitem__, 2).to_pylist()
    [{'partition': 3, 'offset': 1882, 'key': 'o-7'}, {'partition': 3, 'offset': 1883, 'key': None}]

    """
    messages = [message_of(row) for row in range(rows)]
    columns = {
        "partition": pa.array([partition] * rows, pa.int32()),
        "offset": pa.array([offsets[message] for message in messages], pa.int64()),
        "key": pa.array([as_text(keys[message]) for message in messages], pa.string()),
    }
    return pa.RecordBatch.from_pydict(columns)


def as_text(key: bytes | None) -> str | None:
    """Return a key as text."""
    if key is None:
        return None
    try:
        return key.decode()
    except UnicodeDecodeError:
        return base64.b64encode(key).decode("ascii")
