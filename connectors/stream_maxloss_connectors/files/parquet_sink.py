"""A Parquet sink: a directory of immutable part files, one per flush."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.base import Position, Sink
from stream_maxloss_connectors.files.sinks import fsync_directory
from stream_maxloss_connectors.positions import check_entry, is_count, is_text, or_none
from stream_maxloss_connectors.schemas import decode_schema, encode_schema

__all__ = ["ParquetSink"]


class ParquetSink(Sink):
    """Rows as `name.parquet/part-000001.parquet` and so on.

    A Parquet file ends with its footer and cannot be cut, so every `flush` completes one part: written under a
    temporary name, forced to the disk, renamed. A resumed sink removes the parts after its position. Readers of
    directories (pyarrow, Polars, DuckDB, Spark, `open_source`) see whole parts only.

    Parameters
    ----------
    path
        The directory, created if need be. Opened without a position its parts are removed.

    Notes
    -----
    A checkpoint every second makes a file every second: flush less often, or merge the parts afterwards.

    Examples
    --------
    >>> import pathlib, tempfile, pyarrow as pa, pyarrow.parquet as pq
    >>> from stream_maxloss_connectors.files.parquet_sink import ParquetSink
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "predictions.parquet")
    ...     with ParquetSink(path) as sink:
    ...         sink.open()
    ...         for p in (0.25, 0.5):
    ...             sink.write(pa.RecordBatch.from_pylist([{"p": p}]))
    ...             parts = sink.flush()["parts"]
    ...     print(parts, pq.read_table(path).to_pylist())
    2 [{'p': 0.25}, {'p': 0.5}]

    """

    exactly_once = True

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._parts = 0
        self._schema: pa.Schema | None = None
        self._writer: pq.ParquetWriter | None = None
        self._open = False

    def open(self, position: Mapping[str, Any] | None = None) -> None:
        """Remove the parts that the position does not count."""
        self._abandon()
        if position is not None:
            check_entry(str(self.path), position, parts=is_count, schema=or_none(is_text))
        self._parts = 0 if position is None else int(position["parts"])
        text = None if position is None else position["schema"]
        self._schema = None if text is None else decode_schema(text)
        try:
            self.path.mkdir(exist_ok=True)
            self._remove_later_parts()
        except OSError as error:
            raise SourceError(f"{self.path}: cannot be opened for writing: {error.strerror or error}") from error
        missing = next((number for number in range(1, self._parts + 1) if not self._part(number).exists()), None)
        if missing is not None:
            raise SourceError(
                f"{self._part(missing)}: a part of the checkpoint must be there, got none; it was removed since, so "
                "resume from an older checkpoint or start anew"
            )
        self._open = True

    def files(self) -> list[Path]:
        """Return the first part, and those that are there, which are removed if the sink is opened anew."""
        return [self._part(1), *self.path.glob("part-*.parquet")]

    def write(self, records: pa.RecordBatch) -> None:
        """Append rows to the part that the next flush completes."""
        if not self._open:
            raise SourceError(f"{self.path}: the sink must be open to be written; call open()")
        if self._schema is None:
            self._schema = records.schema
        elif not records.schema.equals(self._schema):
            raise ValueError(f"records must have the schema of the first ones, {self._schema}, got {records.schema}")
        try:
            if self._writer is None:
                self._writer = pq.ParquetWriter(self._temporary(), self._schema)
            self._writer.write_batch(records)
        except OSError as error:
            raise SourceError(f"{self.path}: cannot be written: {error.strerror or error}") from error

    def flush(self) -> Position:
        """Complete the part, if any row was written since the last, and return the number of parts and the schema."""
        if self._writer is not None:
            try:
                self._complete()
            except OSError as error:
                raise SourceError(f"{self.path}: cannot be written: {error.strerror or error}") from error
        return {"parts": self._parts, "schema": None if self._schema is None else encode_schema(self._schema)}

    def close(self) -> None:
        """Complete the last part."""
        if self._open:
            self.flush()
        self._open = False

    def _complete(self) -> None:
        self._writer.close()  # type: ignore[union-attr]
        self._writer = None
        with self._temporary().open("rb") as file:
            os.fsync(file.fileno())
        self._temporary().rename(self._part(self._parts + 1))
        fsync_directory(self.path)
        self._parts += 1

    def _part(self, number: int) -> Path:
        return self.path / f"part-{number:06d}.parquet"

    def _temporary(self) -> Path:
        # The dot keeps readers of the directory away from it.
        return self.path / f".part-{self._parts + 1:06d}.parquet.tmp"

    def _remove_later_parts(self) -> None:
        for file in self.path.glob(".part-*.parquet.tmp"):
            file.unlink()
        for file in self.path.glob("part-*.parquet"):
            number = file.stem.removeprefix("part-")
            if number.isdigit() and int(number) > self._parts:
                file.unlink()
        fsync_directory(self.path)

    def _abandon(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
