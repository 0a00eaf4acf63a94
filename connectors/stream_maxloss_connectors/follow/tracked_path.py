"""One followed path: the file that stands there, those that were moved away, and those yet to come."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from stream_maxloss.errors import GapError
from stream_maxloss_connectors.follow.file_identity import (
    FINGERPRINT_BYTES,
    FileChangedError,
    FileIdentity,
    OpenedFile,
    find_file,
    is_rotated_name,
    rotated_names,
)
from stream_maxloss_connectors.follow.reader import GrowingReader, Rows

__all__ = ["FileChangedWarning", "MakeReader", "TrackedPath"]

MakeReader = Callable[[OpenedFile, Mapping[str, Any] | None, list[str] | None], GrowingReader]
"""From an open file, a saved position in it or None, and the header of the file before it."""


class FileChangedWarning(UserWarning):
    """A followed file was cut or filled anew: rows may be gone that were written just before."""


class TrackedPath:
    """Reads the generations of a file one after another.

    At the end of the file the path is checked: does it still lead there? If another file stands there, the old one is
    drained through its open handle, then earlier generations that were never seen (when it was rotated twice between
    two looks) are read in the order of their time stamps, then the new one.

    Parameters
    ----------
    path
        The path.
    make_reader
        Makes a reader for one generation.
    on_gap
        `"fail"` or `"continue"`, when rows are known to be lost or would come twice.
    rotate_wait
        Seconds without growth after which a file that was moved away is taken for complete.

    """

    def __init__(self, path: Path, make_reader: MakeReader, on_gap: str, rotate_wait: float) -> None:
        self.path = path
        self.on_gap = on_gap
        self.rotate_wait = rotate_wait
        self.gaps = 0
        self.truncations = 0
        self._make_reader = make_reader
        self._reader: GrowingReader | None = None
        self._header: list[str] | None = None
        self._finished: list[FileIdentity] = []
        self._leaving: tuple[float, int] | None = None

    @property
    def schema(self) -> pa.Schema | None:
        """The columns, as far as a reader knows them."""
        return None if self._reader is None else self._reader.schema

    def open(self, saved: Mapping[str, Any] | None) -> None:
        """Find the file that was being read again, wherever it has gone; at first, begin with the one at the path."""
        self.close()
        self._leaving = None
        if saved is None:
            self._finished = [identity_of(path) for path in rotated_names(self.path)]
            self._header, self.gaps, self.truncations = None, 0, 0
            return
        self._finished = [FileIdentity.from_json(entry) for entry in saved["finished"]]
        self._header, self.gaps, self.truncations = saved["header"], saved["gaps"], saved["truncations"]
        if saved["file"] is not None:
            self._find_again(saved)

    def take(self, max_rows: int) -> Rows | None:
        """Return the next rows of this path, or None if there are none yet."""
        while self._reader is not None or self._open_next():
            try:
                rows = self._take(max_rows)
                if rows is not None:
                    return rows
                left = self._left_behind()
                if left:
                    self._finish()
                elif left is None:
                    return None
            except FileChangedError as change:
                self._start_over(change)
        return None

    def position(self) -> dict[str, Any]:
        """Return the file, the next unread record in it, and the generations that are done with."""
        reader = self._reader
        return {
            "file": None if reader is None else reader.file.identity.to_json(),
            "path": None if reader is None else str(reader.file.path),
            "at": None if reader is None else reader.position(),
            "header": self._header,
            "finished": [identity.to_json() for identity in self._finished],
            "gaps": self.gaps,
            "truncations": self.truncations,
        }

    def lag(self) -> int:
        """Bytes of the current file that are not read."""
        if self._reader is not None:
            return max(0, self._reader.file.size - self._reader.offset)
        try:
            return self.path.stat().st_size
        except OSError:
            return 0

    def knows(self, path: Path) -> bool:
        """Return whether the file at another path is read, or was read, as a generation of this one."""
        if path.parent == self.path.parent and is_rotated_name(self.path.name, path.name):
            return True
        if self._reader is not None and self._reader.file.stands_at(path):
            return True
        return any(identity.is_of(path) for identity in self._finished)

    def fix_schema(self, schema: pa.Schema) -> None:
        """Use the columns that another path has shown first."""
        if self._reader is not None and self._reader.schema is None:
            self._reader.schema = schema

    def close(self) -> None:
        """Let go of the file."""
        if self._reader is not None:
            self._reader.file.close()
            self._reader = None

    def _take(self, max_rows: int) -> Rows | None:
        reader = self._reader
        rows = None if reader is None else reader.take(max_rows)
        if reader is not None:
            self._header = reader.position().get("header") or self._header
        if rows is not None:
            self._leaving = None
        return rows

    def _left_behind(self) -> bool | None:
        """True if the file at its end is to be left; False to read it once more first; None to stay with it."""
        if self._reader is None:
            return None
        file = self._reader.file
        unseen = self._unseen()
        stands = file.stands_at(self.path)
        if stands:
            # As long as the file was not moved, what appears beside it is a copy. (Looked for before asking where the
            # file stands: if it were moved in between, a copy could not be told from a generation.)
            self._finish_with(*(identity_of(path) for path in unseen))
        if stands or (stands is None and not file.unlinked and not unseen):
            self._leaving = None
            return None
        if self._leaving is None or self._leaving[1] != file.size:
            # What was written between our last read and the moving is still to be read.
            self._leaving = (time.monotonic(), file.size)
            return False
        return True if time.monotonic() - self._leaving[0] >= self.rotate_wait else None

    def _finish(self) -> None:
        reader = self._reader
        if reader is None:
            return
        self._finish_copies_of(reader.file.identity, reader.position())
        reader.finish()
        if not reader.file.identity.prefix_bytes:
            reader.file.remember_prefix(reader.file.read_at(0, FINGERPRINT_BYTES))
        self._finish_with(reader.file.identity)
        self._leaving = None
        self.close()

    def _finish_with(self, *identities: FileIdentity) -> None:
        """Remember files not to be read again, as long as they are there to be met again."""
        if not identities:
            return
        try:
            inodes = {entry.inode() for entry in os.scandir(self.path.parent)}
        except OSError:
            inodes = set()
        kept = [identity for identity in (*self._finished, *identities) if identity.inode in inodes]
        self._finished = list(dict.fromkeys(kept))

    def _finish_copies_of(self, identity: FileIdentity, at: Mapping[str, Any]) -> None:
        """Pass over copies of a file that was cut: what was read of it would come twice."""
        if _is_untouched(at):
            # Nothing but a header was read, which other files have too; a copy can only bring what was missed.
            return
        copies = [path for path in rotated_names(self.path) if identity.starts_like(path)]
        self._finish_with(*(identity_of(path) for path in copies))

    def _open_next(self) -> bool:
        for path in (*self._unseen(), self.path):
            try:
                self._reader = self._make_reader(OpenedFile(path), None, self._header)
            except FileNotFoundError:
                continue
            return True
        return False

    def _unseen(self) -> list[Path]:
        """Return generations that came and went between two looks, the oldest first."""
        current = None if self._reader is None else self._reader.file
        return [
            path
            for path in rotated_names(self.path)
            if not self._is_finished(path) and not (current is not None and current.stands_at(path))
        ]

    def _is_finished(self, path: Path) -> bool:
        # An empty file is known by its inode alone, which another may have by now.
        return any(
            identity.is_of(path) and (identity.prefix_bytes > 0 or not identity_of(path).prefix_bytes)
            for identity in self._finished
        )

    def _find_again(self, saved: Mapping[str, Any]) -> None:
        identity, offset = FileIdentity.from_json(saved["file"]), saved["at"]["offset"]
        found = find_file(identity, [self.path, Path(saved["path"])])
        no_record_known = _is_untouched(saved["at"]) and identity.prefix_bytes <= saved["at"]["start"]
        if no_record_known and found in (None, self.path, *rotated_names(self.path)):
            # It is known by little more than its inode, which another file may have by now. If it still is one of the
            # generations it will be read in its turn.
            return
        if found is None:
            self._gap(f"the file that was read up to byte {offset} is gone, and whatever was written to it since")
            self._finish_copies_of(identity, saved["at"])
            return
        file = OpenedFile(found, identity)
        try:
            file.read_at(offset, 0)
            self._reader = self._make_reader(file, saved["at"], self._header)
        except FileChangedError as change:
            file.close()
            self._gap(f"the file was read up to byte {offset} and then cut to {change.size} bytes")
            self._finish_copies_of(identity, saved["at"])

    def _start_over(self, change: FileChangedError) -> None:
        """Read a file that was cut or filled anew from its start."""
        reader = self._reader
        if reader is None:
            return
        unread = reader.file.known_size - reader.offset
        if change.same_start and reader.file.identity.prefix_bytes:
            self._gap(f"the file was cut to {change.size} bytes and starts as before, so rows would come twice")
        elif unread > 0:
            self._gap(f"the file was cut with {unread} bytes unread behind byte {reader.offset}")
        else:
            self.truncations += 1
            _warn(
                f"{self.path}: the file was cut or filled anew and is read from its start; rows written behind byte "
                f"{reader.offset} just before that are lost"
            )
        self._finish_copies_of(reader.file.identity, reader.position())
        reader.file.forget_start()
        self._reader = self._make_reader(reader.file, None, self._header)

    def _gap(self, what: str) -> None:
        if self.on_gap == "fail":
            raise GapError(f"{self.path}: {what}; pass on_gap='continue' to go on with what is there")
        self.gaps += 1
        _warn(f"{self.path}: {what}; going on with what is there")


def identity_of(path: Path) -> FileIdentity:
    """Identify a file that nothing has been read from."""
    try:
        file = OpenedFile(path)
    except FileNotFoundError:
        return FileIdentity(0, 0)
    try:
        file.remember_prefix(os.pread(file.descriptor, FINGERPRINT_BYTES, 0))
        return file.identity
    finally:
        file.close()


def _is_untouched(at: Mapping[str, Any]) -> bool:
    return at["offset"] == at["start"] and not at.get("row")


def _warn(message: str) -> None:
    warnings.warn(message, FileChangedWarning, stacklevel=2)
