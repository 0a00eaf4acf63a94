"""Files read one after another as one source."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from stream_maxloss.errors import GapError, SourceError
from stream_maxloss_connectors.bad_records import BadRecords
from stream_maxloss_connectors.base import Batch, Position, Source, SourceTraits
from stream_maxloss_connectors.file_kinds import is_standard_input
from stream_maxloss_connectors.files.base import FileFormat, FileReader
from stream_maxloss_connectors.files.paths import (
    STDIN,
    check_readable,
    check_unchanged,
    expand,
    fingerprint,
    is_among,
    is_meant_by,
)
from stream_maxloss_connectors.formats import ENDINGS, TEXT_FORMATS, check_format, split_suffix, unknown_format
from stream_maxloss_connectors.positions import check_file, is_plain
from stream_maxloss_connectors.schemas import decode_schema, encode_schema
from stream_maxloss_connectors.text.decoders import TEXT_OPTIONS, check_options, make_decoder

__all__ = ["FileSource"]


class FileSource(Source):
    """Bounded files, each a partition, read in order.

    The schema is fixed by the first file that has a record, or given. The position holds it, and for each file begun
    so far where reading stopped and a fingerprint, so that a file that was replaced since is refused.

    Parameters
    ----------
    paths
        The files in the order to read them; `-` is standard input.
    format
        How to read them.
    schema
        Names and types of the columns, if they are not to be inferred.

    Attributes
    ----------
    patterns
        The directories and globs that the files were found by.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> from stream_maxloss_connectors.files.source import FileSource
    >>> from stream_maxloss_connectors.files.parquet import ParquetFormat
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     paths = [f"{folder}/monday.parquet", f"{folder}/tuesday.parquet"]
    ...     for day, path in enumerate(paths):
    ...         pq.write_table(pa.table({"amount": [day + 0.5, day + 0.75]}), path)
    ...     with FileSource(paths, ParquetFormat()) as source:
    ...         source.open()
    ...         while (batch := source.next_batch(max_rows=10, timeout=1)) is not None:
    ...             print(pathlib.Path(batch.address(0)).name, batch.records["amount"].to_pylist())
    monday.parquet@0 [0.5, 0.75]
    tuesday.parquet@0 [1.5, 1.75]

    """

    traits = SourceTraits(
        several=True,
        options=TEXT_OPTIONS | {"bad_records", "batch_rows", "block_bytes", "columns", "format", "schema", "threads"},
    )

    def __init__(self, paths: Sequence[str], format: FileFormat, schema: pa.Schema | None = None) -> None:
        self.paths = list(paths)
        self.patterns: list[str] = []
        self.format = format
        self.schema = schema
        self._fixed: pa.Schema | None = schema
        self._reader: FileReader | None = None
        self._index = 0
        self._positions: dict[str, dict[str, Any]] = {}
        self._fingerprint: dict[str, Any] | None = None
        self._opened = False

    @classmethod
    def from_uri(
        cls,
        uri: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        format: str = "auto",
        schema: pa.Schema | None = None,
        columns: Sequence[str] | None = None,
        bad_records: BadRecords | None = None,
        **options: Any,
    ) -> FileSource:
        """Return a source of paths, globs and directories; see `open_source`."""
        files = expand(uri, ENDINGS)
        kind, compression = detect_format(files, format)
        bad = BadRecords() if bad_records is None else bad_records
        source = cls(files, make_format(kind, compression, schema, columns, bad, options), schema)
        source.patterns = [os.fspath(one) for one in ([uri] if isinstance(uri, str | os.PathLike) else uri)]
        return source

    @property
    def waits(self) -> bool:
        """True for standard input, whose rows come when they come."""
        return STDIN in self.paths

    def partitions(self) -> list[str]:
        """Return the paths in the order they are read."""
        return list(self.paths)

    def open(self, position: Position | None = None) -> None:
        """Place the source at a saved position, or at the beginning."""
        self.close()
        self._positions = {path: dict(entry) for path, entry in _restore(position or {}).items()}
        for path, entry in self._positions.items():
            if path not in self.paths and not entry.get("done"):
                raise GapError(f"{path}: file must be among those to read, since a position in it was saved; add it")
        schemas = [text for entry in self._positions.values() if (text := entry.pop("schema", None)) is not None]
        self._fixed = decode_schema(schemas[-1]) if schemas else self.schema
        self._index = 0
        self._opened = True
        self._open_next()

    def next_batch(self, max_rows: int, timeout: float) -> Batch | None:
        """Return up to `max_rows` rows of one file, or None if none came within `timeout` seconds."""
        if max_rows < 1:
            raise ValueError(f"max_rows must be at least 1, got {max_rows!r}")
        if not self._opened:
            raise ValueError("the source must be opened before it is read; call open first")
        while self._reader is not None:
            rows = self._reader.read(max_rows, timeout)
            if self._fixed is None:
                self._fixed = self._reader.schema
            if rows is not None:
                return Batch(rows[0], self.paths[self._index], rows[1])
            if not self._reader.exhausted:
                return None
            self._positions[self.paths[self._index]] = {**self._current(), "done": True}
            self._index += 1
            self._open_next()
        return None

    @property
    def exhausted(self) -> bool:
        """True once the last row of the last file was returned."""
        return self._opened and self._reader is None

    def position(self) -> Position:
        """Return the next unread record of each file begun, and the schema."""
        position = {path: dict(entry) for path, entry in self._positions.items()}
        if self._reader is not None:
            position[self.paths[self._index]] = self._current()
        if position and self._fixed is not None:
            position[next(reversed(position))]["schema"] = encode_schema(self._fixed)
        return position

    def reads(self, path: Path) -> bool:
        """Whether a file is one of these, or would be when the same directories and globs are read again."""
        if STDIN in self.paths and is_standard_input(path):
            return True
        files = (file for file in self.paths if file != STDIN)
        return is_among(path, files) or is_meant_by(path, self.patterns, ENDINGS)

    def lag(self) -> int | None:
        """Return how many bytes are left to read, compressed ones as they lie on the disk."""
        if self._reader is None:
            return 0
        remaining = self._reader.remaining()
        rest = self.paths[self._index + 1 :]
        if remaining is None or STDIN in rest:
            return None
        return remaining + sum(_size(path) for path in rest if not self._is_done(path))

    @property
    def lag_unit(self) -> str:
        """`bytes`."""
        return "bytes"

    def close(self) -> None:
        """Let go of the file that is being read."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        self._opened = False

    def _open_next(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        while self._index < len(self.paths) and self._is_done(self.paths[self._index]):
            self._index += 1
        if self._index < len(self.paths):
            path = self.paths[self._index]
            saved = self._positions.get(path)
            self._check_file(path, saved)
            self._fingerprint = None if path == STDIN else fingerprint(path, self.format.may_grow(path))
            self._reader = self.format.open(path, self._fixed, saved)

    def _check_file(self, path: str, saved: Mapping[str, Any] | None) -> None:
        if path == STDIN:
            return
        check_readable(path)
        if saved is not None:
            check_unchanged(path, saved["file"], self.format.may_grow(path))
        elif len(self.paths) == 1 and Path(path).is_file() and Path(path).stat().st_size == 0:
            raise SourceError(f"{path}: file must hold records, got an empty file; was it written to the end?")

    def _is_done(self, path: str) -> bool:
        """Return whether nothing is left of a file: it was read to its end, and is gone or has not changed in size."""
        saved = self._positions.get(path)
        if saved is None or not saved.get("done"):
            return False
        return path == STDIN or not Path(path).exists() or Path(path).stat().st_size == saved["file"]["size"]

    def _current(self) -> dict[str, Any]:
        if self._reader is None:
            return {}
        return {**self._reader.position(), "file": self._fingerprint}


def _restore(position: Position) -> Position:
    """Return a saved position once it is known to be one, that of a follower in our own form."""
    if not all(map(is_plain, position.values())):
        from stream_maxloss_connectors.follow.conversion import to_plain

        position = to_plain(position)
    for path, entry in position.items():
        check_file(path, entry, path == STDIN)
    return position


def _size(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0


def detect_format(files: Sequence[str], format: str) -> tuple[str, str | None]:
    """Return the one format and compression of all files.

    Raises
    ------
    ValueError
        If there is no such format.
    SourceError
        If a file's name does not tell its format, or files differ.

    """
    check_format(format)
    found: dict[tuple[str, str | None], str] = {}
    for file in files:
        kind, compression = split_suffix(file)
        if format != "auto":
            kind = format
        if kind is None:
            raise SourceError(unknown_format(file))
        if compression is not None and kind not in TEXT_FORMATS:
            raise SourceError(f"{file}: {kind} must not be compressed as a whole; unpack it, it compresses inside")
        found.setdefault((kind, compression), file)
    if len(found) > 1:
        (first, one), (second, other) = list(found.items())[:2]
        raise SourceError(
            f"files must be of one format, got {one} ({first[0]}) and {other} ({second[0]}); read them apart"
        )
    return next(iter(found))


def make_format(
    kind: str,
    compression: str | None,
    schema: pa.Schema | None,
    columns: Sequence[str] | None,
    bad: BadRecords,
    options: dict[str, Any],
) -> FileFormat:
    """Return what opens files of a format; only its module is loaded.

    Raises
    ------
    TypeError
        If the format does not take an option.

    """
    if kind == "parquet":
        from stream_maxloss_connectors.files.parquet import ParquetFormat

        check_options(options, kind, ParquetFormat)
        return ParquetFormat(columns, **options)
    if kind == "arrow":
        from stream_maxloss_connectors.files.ipc import IpcFormat

        check_options(options, kind, IpcFormat)
        return IpcFormat(columns, **options)
    from stream_maxloss_connectors.files.text import TextFormat

    reading = {name: options.pop(name) for name in ("block_bytes", "threads") if name in options}
    narrowed = schema is not None or columns is not None
    decoder = make_decoder(kind, narrowed, **options)
    return TextFormat(decoder, bad, columns, not narrowed, compression, **reading)
