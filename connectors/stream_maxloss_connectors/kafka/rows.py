"""Rows as JSON messages."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import pyarrow as pa

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.positions import check_entry, is_count, is_text

__all__ = ["encode_rows", "key_of", "pack_rows", "unpack_rows"]

# More than any checkpoint's worth of rows, unpacked: a damaged one must not fill the memory.
_MOST_BYTES = 1 << 32


def encode_rows(records: pa.RecordBatch, key: str | None) -> list[tuple[bytes, bytes | None]]:
    """Return each row as a JSON object, and the value of its key column as text; None where there is no key.

    Raises
    ------
    ValueError
        If there is no such column.

    """
    if key is not None and key not in records.schema.names:
        raise ValueError(f"key must name a column of the rows, got {key!r}; there are {records.schema.names}")
    return [(orjson.dumps(row, default=_plain), _as_key(row, key)) for row in records.to_pylist()]


def key_of(value: bytes, key: str | None) -> bytes | None:
    """Return the key of a row that was encoded before."""
    return None if key is None else _as_key(orjson.loads(value), key)


def pack_rows(rows: Sequence[bytes]) -> dict[str, Any]:
    """Return encoded rows as data for a position."""
    packed = zlib.compress(b"\n".join(rows), 1)
    return {"rows": len(rows), "pending": base64.b64encode(packed).decode("ascii")}


def unpack_rows(position: Mapping[str, Any], topic: str) -> list[bytes]:
    """Return what `pack_rows` put into a position.

    Raises
    ------
    SourceError
        If it is damaged.

    """
    check_entry(topic, position, rows=is_count, pending=is_text)
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(base64.b64decode(position["pending"], validate=True), _MOST_BYTES)
        rows = data.split(b"\n") if position["rows"] else []
    except (ValueError, zlib.error):
        rows = []
    if len(rows) != position["rows"]:
        raise SourceError(
            f"{topic}: the saved position must hold the {position['rows']} rows that were not written yet, got other "
            "data; resume from another checkpoint"
        )
    return rows


def _as_key(row: dict[str, Any], key: str | None) -> bytes | None:
    return None if key is None or row[key] is None else str(row[key]).encode()


def _plain(value: Any) -> Any:
    """Write what JSON has no form for as text: bytes, decimals, durations."""
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)
