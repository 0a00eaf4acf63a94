"""The key of a row as text, and the shard that a key belongs to."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np
import pyarrow as pa

__all__ = ["SHARDS", "key_text", "key_texts", "shard_of"]

SHARDS = 4096
"""Shards that keys are hashed to. Fixed, so that a key stays in its shard however many workers share them."""


def key_text(value: Any) -> str | None:
    """Return a key as text; None for one that is missing.

    A whole number has no fraction, whatever type it came as: 17, 17.0 and "17" are one key, as in a CSV file and a JSON
    object of the same rows.

    Examples
    --------
    >>> from stream_maxloss.keyed import key_text
    >>> key_text("north"), key_text(17.0), key_text(True), key_text(None), key_text(float("nan"))
    ('north', '17', 'true', None, None)

    """
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return None
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating):
        return str(int(value)) if float(value).is_integer() else repr(float(value))
    return str(value)


def key_texts(column: Any) -> pa.Array:
    """Return a column of keys as Arrow texts, null where one is missing.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.keyed.keys import key_texts
    >>> key_texts(pa.array([17.0, None, 2.5])).to_pylist()
    ['17', None, '2.5']

    """
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_string(kind):
        return column
    if pa.types.is_large_string(kind) or pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return column.cast(pa.string())
    return pa.array([key_text(value) for value in column.to_pylist()], pa.string())


def shard_of(key: str, shards: int = SHARDS) -> int:
    """Return the shard of a key: the first 8 bytes of BLAKE2b of its UTF-8 text, as a little-endian number, modulo.

    The same on every machine and in every release, so that workers agree on who owns a key.

    Examples
    --------
    >>> from stream_maxloss.keyed import shard_of
    >>> shard_of("north"), shard_of("south")
    (2772, 3150)

    """
    digest = blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") % shards
