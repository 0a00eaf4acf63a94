"""Arrow IPC files and streams, and Feather, which is the same as the file."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from stream_maxloss.errors import GapError, SourceError
from stream_maxloss_connectors.files.base import FileFormat, FileReader
from stream_maxloss_connectors.files.paths import STDIN
from stream_maxloss_connectors.schemas import choose, conform

__all__ = ["IpcFormat"]

_MAGIC = b"ARROW1"


class IpcFormat(FileFormat):
    """Reads Arrow IPC and Feather, file or stream as the first bytes tell, from mapped memory without a copy.

    The position is a record batch and a row in it. Of text and nested columns each value is checked, since a damaged
    offset would lead out of the mapped memory; numbers are not touched.

    Parameters
    ----------
    columns
        Columns to return; None for all.

    Notes
    -----
    A stream that lacks its end mark ends where its last batch does: whether batches are missing cannot be told. From
    standard input a batch is waited for however long it takes.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from stream_maxloss_connectors.files.source import FileSource
    >>> from stream_maxloss_connectors.files.ipc import IpcFormat
    >>> table = pa.table({"amount": [3.0, 1200.0], "kind": ["card", "cash"]})
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     with pa.ipc.new_file(file.name, table.schema) as writer:
    ...         writer.write_table(table)
    ...     with FileSource([file.name], IpcFormat(columns=["amount"])) as source:
    ...         source.open()
    ...         source.next_batch(max_rows=10, timeout=1).records.to_pydict()
    {'amount': [3.0, 1200.0]}

    """

    def __init__(self, columns: Sequence[str] | None = None) -> None:
        self.columns = columns

    def may_grow(self, path: str) -> bool:
        """Whether records can be appended to the file: only to a stream."""
        return not _is_file_form(path)

    def open(self, path: str, schema: pa.Schema | None, saved: Mapping[str, Any] | None) -> FileReader:
        """Start to read a file."""
        reader = _IpcReader(self, path, schema)
        try:
            reader.skip(saved or {"batch": 0, "row": 0})
        except BaseException:
            reader.close()
            raise
        return reader


class _IpcReader(FileReader):
    def __init__(self, format: IpcFormat, path: str, schema: pa.Schema | None) -> None:
        self.path = path
        self._next = 0
        self._size = 0 if path == STDIN else Path(path).stat().st_size
        self._memory = self._guarded(lambda: _open_memory(path))
        self._by_index = path != STDIN and _is_file_form(path)
        self._reader = self._guarded(self._open)
        found = self._reader.schema.remove_metadata()
        self._guarded(lambda: found.names)  # names that are no text are told here, before anything asks for them
        self._schema = choose(found, schema, format.columns, path)
        if self._by_index and self._schema.names != found.names:
            places = {name: place for place, name in enumerate(found.names)}
            fields = [places[name] for name in self._schema.names]
            self._reader = self._guarded(lambda: self._open(fields))
        self.schema = self._schema
        # Places of the columns whose values tell where others lie; the same in all batches of a file.
        self._leading: list[int] | None = None
        self._batch: pa.RecordBatch | None = None
        self._row = 0
        self._ended = False

    def read(self, max_rows: int, timeout: float) -> tuple[pa.RecordBatch, Callable[[int], str]] | None:
        """Return up to `max_rows` rows and what gives a row's address, or None at the end."""
        while not self._ended and (self._batch is None or self._row == self._batch.num_rows):
            self._load()
        if self._batch is None or self._ended:
            return None
        records = self._batch
        if self._row or max_rows < records.num_rows:
            records = records.slice(self._row, max_rows)
        index, first, path = self._next - 1, self._row, self.path
        self._row += records.num_rows
        return records, lambda row: f"{path}[{index}]@{first + row}"

    @property
    def exhausted(self) -> bool:
        """True once the last row was returned."""
        return self._ended

    def position(self) -> dict[str, Any]:
        """Return the record batch and the row in it that comes next."""
        if self._batch is None or self._row == self._batch.num_rows:
            return {"batch": self._next, "row": 0}
        return {"batch": self._next - 1, "row": self._row}

    def remaining(self) -> int | None:
        """Return how many bytes are left: by what was read of a stream, by batches of a file."""
        if self.path == STDIN:
            return None
        if not self._by_index:
            return 0 if self._ended else self._size - self._memory.tell()
        batches = self._reader.num_record_batches
        return self._size * (batches - self.position()["batch"]) // batches if batches else 0

    def close(self) -> None:
        """Let go of the file. Rows that were returned keep the memory that they lie in."""
        self._batch = None
        self._memory.close()

    def skip(self, saved: Mapping[str, Any]) -> None:
        """Pass batches and rows that were read before."""
        if self._by_index:
            self._next = int(saved["batch"])
        while self._next < int(saved["batch"]) and not self._ended:
            self._load()
        self._batch = None
        if saved["row"]:
            self._load()
            self._row = int(saved["row"])
        if self._next < int(saved["batch"]):
            raise GapError(f"{self.path}: input must hold the {saved['batch']} batches read before, got {self._next}")

    def _load(self) -> None:
        """Step to the next batch."""
        batch = self._guarded(self._next_batch)
        self._row = 0
        if batch is None:
            self._ended, self._batch = True, None
            return
        batch = batch if self._schema.names == batch.schema.names else batch.select(self._schema.names)
        self._guarded(lambda: self._validate(batch))
        self._batch = conform(batch.replace_schema_metadata(), self._schema, self.path)
        self._next += 1

    def _validate(self, batch: pa.RecordBatch) -> None:
        if self._leading is None:
            kinds = enumerate(batch.schema.types)
            self._leading = [place for place, kind in kinds if not pa.types.is_primitive(kind)]
        batch.validate()
        for place in self._leading:
            batch.column(place).validate(full=True)

    def _next_batch(self) -> pa.RecordBatch | None:
        if not self._by_index:
            return next(self._reader, None)
        return self._reader.get_batch(self._next) if self._next < self._reader.num_record_batches else None

    def _open(self, fields: list[int] | None = None) -> Any:
        options = pa.ipc.IpcReadOptions(included_fields=fields)
        opener = pa.ipc.open_file if self._by_index else pa.ipc.open_stream
        return opener(self._memory, options=options)

    def _guarded(self, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except (pa.ArrowException, OSError, EOFError, UnicodeDecodeError) as error:
            first_line = (str(error).splitlines() or ["damaged data"])[0]
            raise SourceError(
                f"{self.path}[{self._next}]: batch must be whole Arrow IPC, got: {first_line}; was the file cut off? "
                "write it again"
            ) from error


def _open_memory(path: str) -> Any:
    if path == STDIN:
        return pa.PythonFile(open(0, "rb", closefd=False))
    with Path(path).open("rb") as file:
        start = file.read(len(_MAGIC))
        if start.startswith(b"FEA1"):
            raise SourceError(f"{path}: Feather must be of version 2, got version 1; write it again with pyarrow")
        if not start:
            return pa.BufferReader(b"")
        memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    # pyarrow's own mapping asks the system for every page of a batch, even for those that are there: a twentieth of
    # the time to read a file from memory. From a disk this is as fast.
    if hasattr(mmap, "MADV_SEQUENTIAL"):
        memory.madvise(mmap.MADV_SEQUENTIAL)
    return pa.BufferReader(pa.py_buffer(memory))


def _is_file_form(path: str) -> bool:
    with Path(path).open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC
