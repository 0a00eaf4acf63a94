"""Arrow IPC streams that grow."""

from __future__ import annotations

import io
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from stream_maxloss.errors import DecodeError, SourceError
from stream_maxloss_connectors.bad_records import BadRecords
from stream_maxloss_connectors.follow.file_identity import FINGERPRINT_BYTES, FileChangedError, OpenedFile
from stream_maxloss_connectors.follow.reader import GrowingReader, Rows
from stream_maxloss_connectors.schemas import require_columns, select

__all__ = ["GrowingIpc"]

_CONTINUATION = 0xFFFFFFFF
_SCHEMA, _DICTIONARY, _RECORDS = 1, 2, 3
_END_BYTES = 8
_KEPT_BYTES = 1 << 20


@dataclass(frozen=True)
class _Message:
    kind: int
    start: int
    end: int


class _Feed(io.RawIOBase):
    """Hands whole messages to pyarrow's reader, which is of no use any more once it has met half a one."""

    def __init__(self) -> None:
        super().__init__()
        self._data = memoryview(b"")

    def give(self, data: bytes) -> None:
        self._data = memoryview(bytes(self._data) + data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = min(len(buffer), len(self._data))
        buffer[:size] = self._data[:size]
        self._data = self._data[size:]
        return size


class GrowingIpc(GrowingReader):
    """Reads the whole messages of an Arrow IPC stream.

    The position is the byte of the message that holds the next row, and the row's number in it. The end mark is not
    passed as long as nothing follows it: a writer that resumes cuts it off and goes on in its place.

    Parameters
    ----------
    file, name, schema
        As for `GrowingReader`.
    bad
        Where an unfinished batch at the end of a replaced file is reported.
    saved
        Where to go on, as `position` gave it; None for the start of the file.
    columns
        The columns to return, when there is no schema yet.

    Notes
    -----
    Reopening at a position walks over the heads of the messages before it, and reads their dictionaries again.

    """

    def __init__(
        self,
        file: OpenedFile,
        name: str,
        schema: pa.Schema | None,
        bad: BadRecords,
        saved: Mapping[str, Any] | None = None,
        columns: list[str] | None = None,
    ) -> None:
        super().__init__(file, name, schema)
        self.bad = bad
        self.columns = columns
        self._feed = _Feed()
        self._stream: pa.RecordBatchReader | None = None
        self._records: pa.RecordBatch | None = None
        self._start = 0
        self._offset = 0
        self._next = 0
        self._row = 0
        if saved is not None:
            self._resume(saved["offset"], saved["row"])

    def take(self, max_rows: int) -> Rows | None:
        """Return rows; see `GrowingReader.take`."""
        while self._records is not None or self._read_records():
            if self._records is None:
                continue
            rows, first, place = self._records.slice(self._row, max_rows), self._row, self._offset
            self._row += rows.num_rows
            if self._row >= self._records.num_rows:
                self._records, self._row, self._offset = None, 0, self._next
            if rows.num_rows:
                return rows, partial(self._address, place, first)
        return None

    def finish(self) -> None:
        """Report what is left of a message that was never finished."""
        rest = self.file.size - self._offset
        if rest <= 0:
            return
        raw = self.file.read_at(self._offset, min(rest, _KEPT_BYTES))
        if raw != struct.pack("<II", _CONTINUATION, 0):
            reason = f"the last batch must be whole, got {rest} bytes of it before the file was replaced"
            self.bad.saw(1)
            self.bad.handle(DecodeError(f"{self.name}@{self._offset}", reason, raw))
        self._offset = self._next = self._offset + rest

    @property
    def offset(self) -> int:
        """Byte of the message that holds the next unread row."""
        return self._offset

    def position(self) -> dict[str, Any]:
        """Return byte of the message, and row in it, of the next unread row."""
        return {"offset": self._offset, "row": self._row, "start": self._start}

    def _read_records(self) -> bool:
        """Read the next message if it is whole; only one with rows gives any."""
        message = self._message_at(self._next)
        if message is None or message.end > self.file.size:
            # Asked first: to read a damaged length would ask for that much memory.
            return False
        data = self.file.read_at(message.start, message.end - message.start)
        if len(data) < message.end - message.start:
            return False
        self._offset = message.start
        if message.kind == _RECORDS:
            self._feed.give(data)
            self._records = self._decode()
            self._remember_start(message)
        else:
            self._keep(message, data)
            self._offset = message.end
        self._next = message.end
        return True

    def _address(self, place: int, first: int, row: int) -> str:
        return f"{self.name}@{place}[{first + row}]"

    def _keep(self, message: _Message, data: bytes) -> None:
        """Take what later batches need: the schema, or a dictionary."""
        try:
            self._take_in(message, data)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise SourceError(f"{self.name}@{message.start}: schema cannot be read: {error}; write it again") from error

    def _take_in(self, message: _Message, data: bytes) -> None:
        if message.kind == _DICTIONARY:
            self._feed.give(data)
        elif message.kind == _SCHEMA and self._stream is None:
            self._feed.give(data)
            self._stream = pa.ipc.open_stream(pa.PythonFile(self._feed, mode="r"))
            self._start = message.end
            self._fix_schema(self._stream.schema)
            self.file.remember_prefix(self.file.read_at(0, message.end))

    def _fix_schema(self, found: pa.Schema) -> None:
        if self.schema is None:
            self.schema = select(found, self.columns, self.name)
        require_columns(self.schema.names, found.names, self.name)

    def _decode(self) -> pa.RecordBatch:
        if self._stream is None or self.schema is None:
            raise SourceError(f"{self.name}: an Arrow IPC stream must start with its schema, got a batch")
        try:
            batch = self._stream.read_next_batch().select(self.schema.names)
            # Offsets inside the message are the writer's: unchecked, they lead out of it.
            batch.validate(full=True)
            return batch.cast(self.schema)
        except (pa.ArrowException, OSError, StopIteration, UnicodeDecodeError) as error:
            raise SourceError(f"{self.name}@{self._offset}: batch cannot be read: {error}") from error

    def _remember_start(self, message: _Message) -> None:
        if self.file.identity.prefix_bytes <= self._start:
            # So far the schema alone was known, which other files have too.
            stop = min(message.end, self._start + FINGERPRINT_BYTES)
            self.file.remember_prefix(self.file.read_at(0, stop))

    def _message_at(self, place: int) -> _Message | None:
        """Find the next message, or None if its head is not whole yet."""
        head = self.file.read_at(place, _END_BYTES)
        if len(head) < _END_BYTES:
            return None
        mark, length = struct.unpack("<Ii", head)
        if head.startswith(b"ARROW1"):
            raise SourceError(f"{self.name}: an Arrow IPC file cannot grow; follow its directory, or write a stream")
        if mark != _CONTINUATION or length < 0:
            raise SourceError(f"{self.name}@{place}: an Arrow IPC message must start here, got {head!r}")
        if length == 0:
            return self._message_at(place + _END_BYTES) if self.file.size > place + _END_BYTES else None
        if place + _END_BYTES + length > self.file.size:
            return None
        metadata = self.file.read_at(place + _END_BYTES, length)
        if len(metadata) < length:
            return None
        try:
            kind, body = _kind_and_body(metadata)
        except (struct.error, IndexError) as error:
            raise SourceError(f"{self.name}@{place}: an Arrow IPC message must start here, got damaged data") from error
        if body < 0 or kind not in (_SCHEMA, _DICTIONARY, _RECORDS):
            raise SourceError(f"{self.name}@{place}: an Arrow IPC message must start here, got damaged data")
        end = place + _END_BYTES + length + body
        return _Message(kind, place, end)

    def _resume(self, offset: int, row: int) -> None:
        while self._next < offset:
            message = self._message_at(self._next)
            if message is None:
                raise SourceError(f"{self.name}: position must lie at a message, got byte {offset}")
            if message.end > self.file.size:
                raise FileChangedError(self.file.size, same_start=True)
            if message.kind != _RECORDS:
                self._keep(message, self.file.read_at(message.start, message.end - message.start))
            self._next = message.end
        self._offset = offset
        if row and not self._read_records():
            raise FileChangedError(self.file.size, same_start=True)
        self._row = row


def _kind_and_body(metadata: bytes) -> tuple[int, int]:
    """Read type of header and length of body from a message's flatbuffer (Message.fbs: fields 1 and 3)."""
    root = struct.unpack_from("<I", metadata, 0)[0]
    table = root - struct.unpack_from("<i", metadata, root)[0]
    slots = (struct.unpack_from("<H", metadata, table)[0] - 4) // 2
    offsets = struct.unpack_from(f"<{slots}H", metadata, table + 4) + (0,) * 4
    kind = metadata[root + offsets[1]] if offsets[1] else 0
    body = struct.unpack_from("<q", metadata, root + offsets[3])[0] if offsets[3] else 0
    return kind, body
