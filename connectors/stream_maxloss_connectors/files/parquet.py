"""Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from stream_maxloss.errors import GapError, SourceError
from stream_maxloss_connectors.files.base import FileFormat, FileReader
from stream_maxloss_connectors.files.paths import STDIN
from stream_maxloss_connectors.schemas import choose, conform

__all__ = ["ParquetFormat"]

BUFFER_BYTES = 1 << 18
"""Read at once of each column. Fresh memory costs as much as decoding: with 1 MiB it was felt in small files."""


class ParquetFormat(FileFormat):
    """Reads Parquet a batch at a time.

    The position is a row group and a row in it. Reopening in the middle of a row group decodes that group again up to
    the row.

    Parameters
    ----------
    columns
        Columns to return; None for all. The others are not read from the disk.
    batch_rows
        Rows to decode at once.
    threads
        1 decodes columns one after the other, in the calling thread; more, or None, by pyarrow's threads side by side.

    Examples
    --------
    >>> from stream_maxloss_connectors.files.parquet import ParquetFormat
    >>> ParquetFormat(columns=["amount"]).may_grow("day.parquet")
    False

    """

    def __init__(
        self, columns: Sequence[str] | None = None, batch_rows: int = 1 << 16, threads: int | None = None
    ) -> None:
        if batch_rows < 1:
            raise ValueError(f"batch_rows must be positive, got {batch_rows!r}")
        if threads is not None and threads < 1:
            raise ValueError(f"threads must be positive, got {threads!r}")
        self.columns = columns
        self.batch_rows = batch_rows
        self.threads = threads

    def may_grow(self, path: str) -> bool:
        """Whether records can be appended to the file: never, since its footer comes last."""
        return False

    def open(self, path: str, schema: pa.Schema | None, saved: Mapping[str, Any] | None) -> FileReader:
        """Start to read a file."""
        if path == STDIN:
            raise SourceError("-: Parquet must be read from a file, since its footer comes last; save the input first")
        return _ParquetReader(self, path, schema, saved or {"row_group": 0, "row": 0})


class _ParquetReader(FileReader):
    def __init__(self, format: ParquetFormat, path: str, schema: pa.Schema | None, saved: Mapping[str, Any]) -> None:
        self.path = path
        self._size = Path(path).stat().st_size
        # Without the buffer a whole column chunk is read at once, and with pre-buffering a whole row group.
        self._file = self._guarded(lambda: pq.ParquetFile(path, buffer_size=BUFFER_BYTES, pre_buffer=False))
        metadata = self._file.metadata
        counts = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        self._group_starts = np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
        found = self._guarded(lambda: self._file.schema_arrow.remove_metadata())
        self._guarded(lambda: found.names)
        self.schema = self._schema = choose(found, schema, format.columns, path)
        if min(counts, default=0) < 0:
            raise self._damaged("a negative number of rows")
        group = int(saved["row_group"])
        if group >= len(self._group_starts) or self._group_starts[group] + int(saved["row"]) > self._group_starts[-1]:
            raise GapError(f"{path}: file must reach to the saved position, but has {self._group_starts[-1]} rows")
        self._row = int(self._group_starts[group]) + int(saved["row"])
        self._batches = self._decode(format, group, int(saved["row"]))
        self._batch: pa.RecordBatch | None = None
        self._taken = 0

    def read(self, max_rows: int, timeout: float) -> tuple[pa.RecordBatch, Callable[[int], str]] | None:
        """Return up to `max_rows` rows and what gives a row's address, or None at the end."""
        if self._batch is None or self._taken == self._batch.num_rows:
            self._batch, self._taken = next(self._batches, None), 0
        if self._batch is None:
            if not self.exhausted:
                raise self._damaged(f"{self._row} rows where its footer names {self._group_starts[-1]}")
            return None
        records = self._batch.slice(self._taken, max_rows)
        first, path = self._row, self.path
        self._taken += records.num_rows
        self._row += records.num_rows
        return records, lambda row: f"{path}@{first + row}"

    @property
    def exhausted(self) -> bool:
        """True once the last row was returned."""
        return self._row == int(self._group_starts[-1])

    def position(self) -> dict[str, Any]:
        """Return the row group and the row in it that comes next."""
        group = int(np.searchsorted(self._group_starts, self._row, side="right")) - 1
        return {"row_group": group, "row": self._row - int(self._group_starts[group])}

    def remaining(self) -> int | None:
        """Return the share of the file's bytes that the unread rows make up."""
        rows = int(self._group_starts[-1])
        return 0 if rows == 0 else self._size * (rows - self._row) // rows

    def close(self) -> None:
        """Let go of the file."""
        self._batches = iter(())
        self._file.close()

    def _decode(self, format: ParquetFormat, group: int, skip: int) -> Iterator[pa.RecordBatch]:
        groups = range(group, self._file.metadata.num_row_groups)
        names = None if self._schema.names == self._file.schema_arrow.names else self._schema.names
        rows, threads = format.batch_rows, format.threads != 1
        batches = iter(self._guarded(lambda: self._file.iter_batches(rows, groups, names, threads)))
        while (batch := self._guarded(lambda: next(batches, None))) is not None:
            rest = batch.slice(skip)
            skip = max(skip - batch.num_rows, 0)
            if rest.num_rows:
                yield conform(rest.replace_schema_metadata(), self._schema, self.path)

    def _guarded(self, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise self._damaged((str(error).splitlines() or ["damaged data"])[0]) from error

    def _damaged(self, finding: str) -> SourceError:
        return SourceError(
            f"{self.path}: file must be whole Parquet, got: {finding}; was it cut off or damaged? write it again"
        )
