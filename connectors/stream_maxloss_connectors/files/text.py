"""CSV, JSON lines and svmlight files."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa

from stream_maxloss.errors import DecodeError, SourceError
from stream_maxloss_connectors.bad_records import BadRecords
from stream_maxloss_connectors.files.base import FileFormat, FileReader
from stream_maxloss_connectors.files.byte_streams import ByteStream, open_bytes
from stream_maxloss_connectors.files.text_blocks import TextBlock, TextBlocks
from stream_maxloss_connectors.schemas import empty_batch, require_columns, select
from stream_maxloss_connectors.text.csv_lines import CsvDecoder
from stream_maxloss_connectors.text.lines import DecodedBlock, Fault, LineDecoder, too_long_reason
from stream_maxloss_connectors.text.pending_rows import PendingRows, faults_to_look_for

__all__ = ["TextFormat"]

# Blocks that are decoded ahead, for each thread: one at work and two that wait, so that no thread has to while the rows
# of several blocks are learned at once.
AHEAD = 3


class TextFormat(FileFormat):
    r"""Reads text files in blocks.

    Blocks are decoded by a few threads ahead of the reader, in order, so that decoding and learning go on side by
    side. What was decoded but not handed out is unread; only a handful of blocks are held, whatever the file's size.

    Parameters
    ----------
    decoder
        Turns text into rows.
    bad
        What to do with bad records.
    columns
        Columns to return; None for all.
    every_column
        Refuse a file whose header names more columns than the schema.
    compression
        `gzip`, `zstd` or None. The position counts decompressed bytes, and reopening decompresses up to it.
    block_bytes
        Bytes to decode at once. Types are inferred from the first block.
    threads
        Threads that decode; None for one per processor, up to 4.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from stream_maxloss_connectors.bad_records import BadRecords
    >>> from stream_maxloss_connectors.files.source import FileSource
    >>> from stream_maxloss_connectors.text.json_lines import JsonDecoder
    >>> from stream_maxloss_connectors.files.text import TextFormat
    >>> bad = BadRecords("skip")
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = pathlib.Path(file.name).write_text('{"amount": 3}\n{"amount": "x"}\n{"amount": 5}\n')
    ...     with FileSource([file.name], TextFormat(JsonDecoder(), bad)) as source:
    ...         source.open()
    ...         source.next_batch(max_rows=10, timeout=1).records.to_pydict(), bad.count
    ({'amount': [3.0, 5.0]}, 1)

    """

    def __init__(
        self,
        decoder: LineDecoder,
        bad: BadRecords,
        columns: Sequence[str] | None = None,
        every_column: bool = True,
        compression: str | None = None,
        block_bytes: int = 1 << 20,
        threads: int | None = None,
    ) -> None:
        if block_bytes < 1:
            raise ValueError(f"block_bytes must be positive, got {block_bytes!r}")
        if threads is not None and threads < 1:
            raise ValueError(f"threads must be positive, got {threads!r}")
        self.decoder = decoder
        self.bad = bad
        self.columns = columns
        self.every_column = every_column and columns is None
        self.compression = compression
        self.block_bytes = block_bytes
        self.threads = threads or min(os.cpu_count() or 1, 4)

    def may_grow(self, path: str) -> bool:
        """Whether records can be appended to the file: always."""
        return True

    def open(self, path: str, schema: pa.Schema | None, saved: Mapping[str, Any] | None) -> FileReader:
        """Start to read a file."""
        stream = open_bytes(path, self.compression)
        try:
            return _TextReader(self, path, stream, schema, saved)
        except BaseException:
            stream.close()
            raise


class _TextReader(FileReader):
    def __init__(
        self,
        format: TextFormat,
        path: str,
        stream: ByteStream,
        schema: pa.Schema | None,
        saved: Mapping[str, Any] | None,
    ) -> None:
        self.format = format
        self.path = path
        self.stream = stream
        self.schema = schema
        self._blocks = TextBlocks(path, stream, format.decoder, format.block_bytes, saved)
        self._checked = False
        self._pool: ThreadPoolExecutor | None = None
        self._decoding: deque[tuple[TextBlock, Future[DecodedBlock]]] = deque()
        self._pending: PendingRows | None = None

    def read(self, max_rows: int, timeout: float) -> tuple[pa.RecordBatch, Callable[[int], str]] | None:
        """Return up to `max_rows` rows and what gives a row's address, or None if none came within `timeout`."""
        pending = self._await_block(timeout)
        while pending is not None:
            records = pending.take(max_rows)
            if records is not None:
                return records, _address(self.path, pending)
            pending = self._await_block(timeout)
        return None

    @property
    def exhausted(self) -> bool:
        """True once the last row was returned and the last fault reported."""
        return self._blocks.ended and not self._decoding and (self._pending is None or self._pending.finished)

    def position(self) -> dict[str, Any]:
        """Return the byte and line of the next unread record, and the header if there is one."""
        byte, line = self._place()
        position: dict[str, Any] = {"byte": byte, "line": line}
        if isinstance(self._blocks.decoder, CsvDecoder):
            position |= self._blocks.decoder.position()
        head = self.stream.head(byte)
        return position if head is None else {**position, "head": head}

    def remaining(self) -> int | None:
        """Return how many bytes of the file are unread; of a compressed one, how many are not yet decompressed."""
        remaining = self.stream.remaining()
        if remaining is None or self.format.compression is not None:
            return remaining
        return remaining + self._blocks.waiting + self._blocks.offset - self._place()[0]

    def close(self) -> None:
        """Let go of the file and the threads."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None
        self.stream.close()

    def _place(self) -> tuple[int, int]:
        if self._pending is not None and not self._pending.finished:
            return self._pending.byte, self._pending.line
        if self._decoding:
            return self._decoding[0][0].offset, self._decoding[0][0].line
        return self._blocks.offset, self._blocks.line

    def _await_block(self, timeout: float) -> PendingRows | None:
        """Return rows to take from, or None at the end, or if none came within `timeout` seconds."""
        if self._pending is not None and not self._pending.finished:
            return self._pending
        self._read_ahead(timeout)
        if not self._decoding:
            return None
        block, future = self._decoding[0]
        try:
            decoded = future.result()
        except pa.ArrowNotImplementedError as error:
            raise SourceError(f"{self.path}: schema must hold types that the format has, got: {error}") from error
        self._pending = PendingRows(decoded, self.format.bad, block.offset, block.line)
        self._decoding.popleft()
        return self._pending

    def _read_ahead(self, timeout: float) -> None:
        # From a pipe, a block is taken as it comes: reading ahead would wait for rows while others could be learnt.
        depth = 1 if self.stream.waits else AHEAD * self.format.threads + 1
        while len(self._decoding) < depth:
            block = self._blocks.next_block(timeout)
            if block is None:
                return
            schema = self._fix_schema(block)
            self._decoding.append((block, self._submit(block, schema)))

    def _submit(self, block: TextBlock, schema: pa.Schema) -> Future[DecodedBlock]:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.format.threads, "maxloss-decode")
        if block.dropped:
            return self._pool.submit(_too_long, self.path, block, schema, self._blocks.decoder.max_record_bytes)
        stop_after = faults_to_look_for(self.format.bad)
        decode = self._blocks.decoder.decode
        return self._pool.submit(decode, block.data, schema, block.line, self._name_line, None, stop_after)

    def _name_line(self, line: int) -> str:
        return f"{self.path}:{line}"

    def _fix_schema(self, block: TextBlock) -> pa.Schema:
        decoder = self._blocks.decoder
        if self.schema is None and not block.dropped and len(decoder.frame(block.data, whole=True).starts):
            schema = select(decoder.infer(block.data), self.format.columns, self.path)
            # Where every record is bad nothing was learnt of the fields; the next block may tell.
            self.schema = schema if len(schema) else None
        if self.schema is not None and not self._checked and isinstance(decoder, CsvDecoder):
            _check_header(decoder.header or [], self.schema, self.format.every_column, self.path)
            self._checked = True
        return pa.schema([]) if self.schema is None else self.schema


def _address(path: str, pending: PendingRows) -> Callable[[int], str]:
    lines, first = pending.block.lines, pending.first_row
    return lambda row: f"{path}:{lines[first + row]}"


def _too_long(path: str, block: TextBlock, schema: pa.Schema, most: int) -> DecodedBlock:
    error = DecodeError(f"{path}:{block.line}", too_long_reason(most), block.data)
    none = np.empty(0, np.int64)
    fault = Fault(0, block.dropped, block.line + 1, error)
    return DecodedBlock(empty_batch(schema), none, none, none, (fault,), block.dropped, block.line + 1)


def _check_header(header: Sequence[str], schema: pa.Schema, every_column: bool, path: str) -> None:
    require_columns(schema.names, header, path)
    known = set(schema.names)
    others = [name for name in header if name not in known]
    if every_column and others:
        raise SourceError(
            f"{path}: header must name the columns of the files before, got also {others[0]!r}; choose columns"
        )
