"""One request in the log: its bytes, framed by a length and a checksum."""

from __future__ import annotations

import enum
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

__all__ = ["MAX_BYTES", "Kind", "Record", "TornError", "split_records"]

FRAME = struct.Struct("<II")
"""Length and CRC-32 of what follows."""

FIELDS = struct.Struct("<QdIBB")
"""First row, time, rows, kind, length of the key."""

MAX_BYTES = 1 << 30


class Kind(enum.IntEnum):
    """What the payload of a record is. The numbers are on disks: they never change their meaning."""

    SCHEMA = 1
    JSON = 2
    LINES = 3
    ARROW = 4
    WAITING = 5
    LABELS = 6


class TornError(ValueError):
    """The bytes at a place are not a whole record."""


@dataclass(frozen=True)
class Record:
    """What one request asked for, as it was sent.

    Parameters
    ----------
    first
        Number of its first row, counted from 0 over all that the log ever held.
    rows
        How many rows it has, bad ones included; at least 1, so that a number tells which records come before it.
    kind
        What the payload is.
    payload
        The body of the request.
    seconds
        When it came, in seconds since 1970.
    key
        Its idempotency key; empty for none.

    Examples
    --------
    >>> from stream_maxloss.serve.log.record import Kind, Record, split_records
    >>> data = Record(7, 1, Kind.JSON, b'{"x": 1}', 0.0).to_bytes()
    >>> [(record.first, record.payload) for record, _ in split_records(data)]
    [(7, b'{"x": 1}')]
    >>> list(split_records(data[:-1]))
    Traceback (most recent call last):
    ...
    stream_maxloss.serve.log.record.TornError: a record must be whole, got 37 of 38 bytes at 0

    """

    first: int
    rows: int
    kind: Kind
    payload: bytes
    seconds: float
    key: str = ""

    @property
    def end(self) -> int:
        """Number of the first row after it."""
        return self.first + self.rows

    def to_bytes(self) -> bytes:
        """Return the framed record."""
        return b"".join(self.parts())

    def parts(self) -> tuple[bytes, bytes]:
        """Return the framed record in two pieces, of which the payload, which may be long, is not a copy."""
        key = self.key.encode()
        fields = FIELDS.pack(self.first, self.seconds, self.rows, self.kind, len(key)) + key
        checksum = zlib.crc32(self.payload, zlib.crc32(fields))
        return FRAME.pack(len(fields) + len(self.payload), checksum) + fields, self.payload

    @classmethod
    def from_body(cls, body: bytes) -> Self:
        """Return the record that a frame holds, whose checksum was right."""
        first, seconds, rows, kind, key_length = FIELDS.unpack_from(body)
        start = FIELDS.size + key_length
        return cls(first, rows, Kind(kind), body[start:], seconds, body[FIELDS.size : start].decode())


def split_records(data: bytes | memoryview, offset: int = 0) -> Iterator[tuple[Record, int]]:
    """Yield each record with the position of its end.

    Raises
    ------
    TornError
        At the first bytes that are no whole record. What was given before is good.

    """
    while offset < len(data):
        body = frame_at(data, offset)
        offset += FRAME.size + len(body)
        try:
            yield Record.from_body(body), offset
        except (ValueError, struct.error) as error:
            raise TornError(f"a record must be of a kind that this version knows, got {error} at {offset}") from error


def frame_at(data: bytes | memoryview, offset: int) -> bytes:
    """Return the body of the record at a place, or raise TornError."""
    if len(data) - offset < FRAME.size:
        raise TornError(f"a record must be whole, got {len(data) - offset} of {FRAME.size} bytes at {offset}")
    length, checksum = FRAME.unpack_from(data, offset)
    whole = FRAME.size + length
    if length < FIELDS.size or whole > MAX_BYTES or len(data) - offset < whole:
        raise TornError(f"a record must be whole, got {len(data) - offset} of {whole} bytes at {offset}")
    body = bytes(data[offset + FRAME.size : offset + whole])
    if zlib.crc32(body) != checksum:
        raise TornError(f"a record must have the checksum {checksum:#010x}, got {zlib.crc32(body):#010x} at {offset}")
    return body
