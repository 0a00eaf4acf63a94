"""A directory or glob that gains whole files: Parquet, Arrow IPC files, Feather."""

from __future__ import annotations

import glob
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from stream_maxloss.errors import GapError, SourceError
from stream_maxloss_connectors.files.base import FileFormat, FileReader
from stream_maxloss_connectors.files.ipc import IpcFormat
from stream_maxloss_connectors.files.parquet import ParquetFormat
from stream_maxloss_connectors.follow.reader import Rows

__all__ = ["ArrivingFiles", "UnfinishedFileWarning", "matching_files"]

_ENDINGS = {"parquet": (".parquet", ".pq"), "arrow": (".arrow", ".feather", ".ipc")}
_STREAM_END = b"\xff\xff\xff\xff\x00\x00\x00\x00"


class UnfinishedFileWarning(UserWarning):
    """A file cannot be read as it is; it is looked at again when it changes."""


class ArrivingFiles:
    """Reads the files of a directory or glob in the order of their names, each once, and the ones that come later.

    The position keeps the names of all files that were read, so a file that appears with a name *before* the last one
    is still read, once; the list grows with the directory. A file is known by its name: one that was read and is then
    replaced is not read again. A file that cannot be read is taken for one that is still being written: others are
    read first, and it is tried again when it changes. Writers should write elsewhere and rename.

    Parameters
    ----------
    pattern
        A directory, a glob, or a single path that need not exist yet.
    format
        `parquet` or `arrow`.
    columns
        The columns to return.
    on_gap
        `"fail"` or `"continue"`, when the file that was being read is gone or changed after a restart.
    until_eof
        A file that cannot be read is an error, since nobody waits for it.

    """

    def __init__(self, pattern: str, format: str, columns: list[str] | None, on_gap: str, until_eof: bool) -> None:
        self.pattern = pattern
        self.format = format
        self.on_gap = on_gap
        self.until_eof = until_eof
        self.gaps = 0
        self._opener: FileFormat = ParquetFormat(columns) if format == "parquet" else IpcFormat(columns)
        self._schema: pa.Schema | None = None
        self._done: dict[str, None] = {}
        self._unfinished: dict[str, tuple[int, int]] = {}
        self._reader: FileReader | None = None
        self._name = ""
        self._size = 0

    def open(self, saved: Mapping[str, Any] | None) -> None:
        """Go on in the file of a saved position."""
        self.close()
        self._unfinished = {}
        self._done = dict.fromkeys([] if saved is None else saved["done"])
        self.gaps = 0 if saved is None else saved["gaps"]
        if saved is not None and saved["file"] is not None:
            self._find_again(saved["file"], saved["size"], saved["at"])

    def take(self, max_rows: int) -> Rows | None:
        """Return the next rows, or None if there is no further file yet."""
        while self._reader is not None or self._open_next():
            if self._reader is None:
                continue
            rows = self._reader.read(max_rows, 0.0)
            if rows is not None:
                return rows
            self._done[self._name] = None
            self.close()
        return None

    def position(self) -> dict[str, Any]:
        """Return the names of the files that were read, and the next row of the one being read."""
        reading = self._reader is not None
        return {
            "done": list(self._done),
            "file": self._name if reading else None,
            "size": self._size if reading else None,
            "at": self._reader.position() if self._reader is not None else None,
            "gaps": self.gaps,
        }

    def lag(self) -> int:
        """Bytes not read, of the files that are there."""
        rest = 0 if self._reader is None else self._reader.remaining() or 0
        waiting = [path for path in self._names() if path not in self._done and path != self._name]
        return rest + sum(_size_of(path) for path in waiting)

    def fix_schema(self, schema: pa.Schema) -> None:
        """Use these columns for the files to come."""
        self._schema = schema

    def close(self) -> None:
        """Let go of the file being read."""
        if self._reader is not None:
            self._reader.close()
        self._reader, self._name = None, ""

    def _names(self) -> list[str]:
        return matching_files(self.pattern, _ENDINGS[self.format])

    def _open_next(self) -> bool:
        for name in self._names():
            if name in self._done:
                continue
            status = _status(name)
            if status is None or self._unfinished.get(name) == status:
                continue
            if self._open(name, None):
                return True
            self._unfinished[name] = status
        return False

    def _open(self, name: str, at: Mapping[str, Any] | None) -> bool:
        try:
            if self.format == "arrow":
                _require_end(name)
            self._reader = self._opener.open(name, self._schema, at)
        except SourceError as error:
            if self.until_eof or at is not None:
                raise
            warnings.warn(f"{error} (waiting for it to change)", UnfinishedFileWarning, stacklevel=2)
            return False
        self._name, self._size = name, _size_of(name)
        return True

    def _find_again(self, name: str, size: int, at: Mapping[str, Any]) -> None:
        status = _status(name)
        if status is not None and status[0] == size:
            self._open(name, at)
            return
        finding = "it is gone" if status is None else f"it has {status[0]} bytes"
        what = f"{name}: the file of {size} bytes must be as it was when its position was saved, but {finding}"
        if self.on_gap == "fail":
            raise GapError(f"{what}; pass on_gap='continue' to go on with the next")
        self.gaps += 1
        self._done[name] = None
        warnings.warn(f"{what}; going on with the next", UnfinishedFileWarning, stacklevel=2)


def matching_files(pattern: str, endings: tuple[str, ...]) -> list[str]:
    """Return the files of a directory that end so, or those of a glob, by name; no hidden or bookkeeping files."""
    if Path(pattern).is_dir():
        found = [str(path) for path in Path(pattern).iterdir() if path.name.endswith(endings)]
    elif Path(pattern).exists():
        found = [pattern]
    else:
        found = glob.glob(pattern, recursive=True)  # noqa: PTH207 - a Path takes no absolute pattern
    return sorted(path for path in found if Path(path).name[0] not in "._" and Path(path).is_file())


def _require_end(name: str) -> None:
    """Refuse an IPC stream without its end mark: pyarrow would take it for complete."""
    with Path(name).open("rb") as file:
        start = file.read(6)
        file.seek(max(-8, -_size_of(name)), os.SEEK_END)
        end = file.read()
    if start != b"ARROW1" and end != _STREAM_END:
        raise SourceError(f"{name}: Arrow IPC must end with its end mark, got {end!r}; is it still being written?")


def _status(name: str) -> tuple[int, int] | None:
    try:
        status = Path(name).stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def _size_of(name: str) -> int:
    status = _status(name)
    return 0 if status is None else status[0]
