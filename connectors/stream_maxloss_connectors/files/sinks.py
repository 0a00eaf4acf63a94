"""Sinks that append to one file: JSON lines, CSV and the Arrow IPC stream.

Their position is the length of the file after the last `flush`. A run that was killed and resumed cuts the file there
and writes the rest again, so the file ends byte for byte as if nothing had happened.
"""

from __future__ import annotations

import base64
import os
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import orjson
import pyarrow as pa
import pyarrow.csv as pa_csv

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.base import Position, Sink
from stream_maxloss_connectors.file_kinds import require_file
from stream_maxloss_connectors.positions import check_entry, is_count, is_text, or_none
from stream_maxloss_connectors.schemas import decode_schema, encode_schema

__all__ = ["CsvSink", "FileSink", "IpcStreamSink", "JsonlSink", "fsync_directory"]

# The Arrow format ends a stream with a continuation mark and a length of zero.
_IPC_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"


class FileSink(Sink):
    """A file that rows are appended to; a subclass says how they become bytes.

    The schema of the first rows is fixed, kept in the position, and required of all later ones: a file with two kinds
    of rows in it could not be read back.

    Parameters
    ----------
    path
        The file. Opened without a position it is begun anew, whatever it held.

    Raises
    ------
    SourceError
        When the file cannot be opened or written, or is shorter than the position says.

    """

    exactly_once = True

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._file: BinaryIO | None = None
        self._length = 0
        self._schema: pa.Schema | None = None

    def _head(self, schema: pa.Schema) -> bytes:
        """Bytes that begin the file."""
        return b""

    @abstractmethod
    def _body(self, records: pa.RecordBatch) -> bytes:
        """Bytes of some rows."""

    def _tail(self) -> bytes:
        """Bytes that end the file; a resumed sink cuts them off again."""
        return b""

    def open(self, position: Mapping[str, Any] | None = None) -> None:
        """Cut the file to the length in the position, or to nothing."""
        self._let_go()
        if position is not None:
            check_entry(str(self.path), position, length=is_count, schema=or_none(is_text))
        self._length = 0 if position is None else int(position["length"])
        text = None if position is None else position["schema"]
        self._schema = None if text is None else decode_schema(text)
        require_file(self.path, "output", "write to a file, or to - and redirect it")
        try:
            # No buffer of Python's: it would be written out when a dropped sink is collected, behind our back.
            self._file = self.path.open("wb" if position is None else "r+b", buffering=0)
            size = self._file.seek(0, os.SEEK_END)
            if size < self._length:
                raise SourceError(
                    f"{self.path}: the file must hold at least the {self._length} bytes of the checkpoint, got {size}; "
                    "it was changed since, so resume from an older checkpoint or start anew"
                )
            self._file.truncate(self._length)
            self._file.seek(self._length)
            fsync_directory(self.path.parent)
        except OSError as error:
            raise SourceError(f"{self.path}: cannot be opened for writing: {error.strerror or error}") from error

    def files(self) -> list[Path]:
        """Return the file."""
        return [self.path]

    def write(self, records: pa.RecordBatch) -> None:
        """Append rows to the file; they survive a power cut only after `flush`."""
        if self._file is None:
            raise SourceError(f"{self.path}: the sink must be open to be written; call open()")
        if self._schema is None:
            head = self._head(records.schema)
            self._append(head + self._body(records))
            self._schema = records.schema
        elif not records.schema.equals(self._schema):
            raise ValueError(f"records must have the schema of the first ones, {self._schema}, got {records.schema}")
        else:
            self._append(self._body(records))

    def flush(self) -> Position:
        """Force the file to the disk, and return its length and schema."""
        if self._file is not None:
            os.fsync(self._file.fileno())
        return {"length": self._length, "schema": None if self._schema is None else encode_schema(self._schema)}

    def close(self) -> None:
        """End the file and close it."""
        if self._file is None:
            return
        if self._schema is not None:
            length = self._length
            self._append(self._tail())
            # The end of the file is no part of the position: a resumed sink goes on before it.
            self._length = length
        os.fsync(self._file.fileno())
        self._let_go()

    def _append(self, data: bytes) -> None:
        file = self._file
        if file is None:
            return
        try:
            view = memoryview(data)
            while view:
                view = view[file.write(view) :]
        except OSError as error:
            # Half a batch must not stay: a caller that frees some space and tries again would write it twice.
            file.truncate(self._length)
            file.seek(self._length)
            raise SourceError(f"{self.path}: cannot be written: {error.strerror or error}") from error
        self._length += len(data)

    def _let_go(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


class JsonlSink(FileSink):
    """One JSON object per row and line.

    A map column becomes an object, times are ISO 8601, bytes are base64. JSON has no nan and no infinities: they are
    written as null.

    Parameters
    ----------
    path
        The file.

    Examples
    --------
    >>> import pathlib, tempfile, pyarrow as pa
    >>> from stream_maxloss_connectors.files.sinks import JsonlSink
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "predictions.jsonl")
    ...     with JsonlSink(path) as sink:
    ...         sink.open()
    ...         sink.write(pa.RecordBatch.from_pylist([{"row": 1, "p": 0.25}]))
    ...         length = sink.flush()["length"]
    ...     print(length, path.read_text().strip())
    19 {"row":1,"p":0.25}

    """

    def _body(self, records: pa.RecordBatch) -> bytes:
        maps = [field.name for field in records.schema if pa.types.is_map(field.type)]
        rows = records.to_pylist()
        for name in maps:
            for row in rows:
                row[name] = None if row[name] is None else dict(row[name])
        options = orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS
        return b"".join([orjson.dumps(row, default=_plain, option=options) for row in rows])


class CsvSink(FileSink):
    """Comma- or tab-separated values with one header line; texts are quoted, a null is empty.

    Parameters
    ----------
    path
        The file.
    delimiter
        One character.

    Examples
    --------
    >>> import pathlib, tempfile, pyarrow as pa
    >>> from stream_maxloss_connectors.files.sinks import CsvSink
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "predictions.csv")
    ...     with CsvSink(path) as sink:
    ...         sink.open()
    ...         sink.write(pa.RecordBatch.from_pylist([{"id": "a", "p": 0.25}, {"id": None, "p": 1.0}]))
    ...     print(path.read_text().splitlines())
    ['"id","p"', '"a",0.25', ',1']

    """

    options = frozenset(["delimiter"])

    def __init__(self, path: str | os.PathLike[str], delimiter: str = ",") -> None:
        if len(delimiter) != 1:
            raise ValueError(f"delimiter must be one character, got {delimiter!r}")
        super().__init__(path)
        self.delimiter = delimiter

    def _head(self, schema: pa.Schema) -> bytes:
        return self._encode(schema.empty_table(), header=True)

    def _body(self, records: pa.RecordBatch) -> bytes:
        return self._encode(records, header=False)

    def _encode(self, records: Any, header: bool) -> bytes:
        options = pa_csv.WriteOptions(include_header=header, delimiter=self.delimiter)
        stream = pa.BufferOutputStream()
        try:
            pa_csv.write_csv(records, stream, options)
        except pa.ArrowInvalid as error:
            raise ValueError(f"columns must be of types that CSV can hold, got {error}; write JSON lines") from error
        return stream.getvalue().to_pybytes()


class TsvSink(CsvSink):
    """Tab-separated values; see `CsvSink`."""

    def __init__(self, path: str | os.PathLike[str], delimiter: str = "\t") -> None:
        super().__init__(path, delimiter)


class IpcStreamSink(FileSink):
    """An Arrow IPC stream: the schema, one message per written batch, and the end mark at `close`.

    Dictionary columns are written as their plain values: what a writer has said about dictionaries so far is hidden
    state, and a resumed one would have to say it again.

    Parameters
    ----------
    path
        The file; `.arrows` is its usual ending.

    Examples
    --------
    >>> import pathlib, tempfile, pyarrow as pa
    >>> from stream_maxloss_connectors.files.sinks import IpcStreamSink
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "predictions.arrows")
    ...     with IpcStreamSink(path) as sink:
    ...         sink.open()
    ...         sink.write(pa.RecordBatch.from_pylist([{"p": 0.25}]))
    ...     print(pa.ipc.open_stream(path.read_bytes()).read_all().to_pylist())
    [{'p': 0.25}]

    """

    def _head(self, schema: pa.Schema) -> bytes:
        return bytes(_without_dictionaries(schema).serialize())

    def _body(self, records: pa.RecordBatch) -> bytes:
        return bytes(records.cast(_without_dictionaries(records.schema)).serialize())

    def _tail(self) -> bytes:
        return _IPC_END


def fsync_directory(path: Path) -> None:
    """Make created, renamed and removed entries of a directory durable, where a directory can be opened."""
    if os.name != "posix":
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if hasattr(value, "total_seconds"):
        return value.total_seconds()
    return str(value)


def _without_dictionaries(schema: pa.Schema) -> pa.Schema:
    fields = [
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field for field in schema
    ]
    return pa.schema(fields, metadata=schema.metadata)
