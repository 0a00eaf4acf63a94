"""Which file a path means: names move, inodes are used again, contents are replaced."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from stream_maxloss.errors import SourceError

__all__ = [
    "FINGERPRINT_BYTES",
    "FileChangedError",
    "FileIdentity",
    "OpenedFile",
    "find_file",
    "is_rotated_name",
    "rotated_names",
]

# A header may be the same in every file of a kind, so the fingerprint reaches this far behind it.
FINGERPRINT_BYTES = 1024

_ROTATED = re.compile(r"[.\-_](\d[\dTZ:._\-]*|old)")


class FileChangedError(Exception):
    """An open file no longer holds what was read from it: it was cut short, or filled anew.

    Parameters
    ----------
    size
        Its length now.
    same_start
        Whether it still starts with the bytes that it started with.

    """

    def __init__(self, size: int, same_start: bool) -> None:
        super().__init__(f"{size} bytes, {'same' if same_start else 'another'} start")
        self.size = size
        self.same_start = same_start


@dataclass(frozen=True)
class FileIdentity:
    """What tells a file from every other: device and inode, and the bytes it starts with.

    An inode alone is given to the next file once the old one is deleted. A fingerprint alone is shared by files that
    start alike.

    Parameters
    ----------
    device, inode
        As the file system has them.
    prefix_bytes
        How many bytes the fingerprint covers: the header and the first line, at most 1024 bytes of it. It stays 0
        until there is one.
    fingerprint
        The sha256 of those bytes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from stream_maxloss_connectors.follow.file_identity import FileIdentity, OpenedFile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "live.csv")
    ...     _ = path.write_text("x,y" + chr(10) + "1,2" + chr(10))
    ...     file = OpenedFile(path)
    ...     file.remember_start(4, b"x,y" + bytes([10]) + b"1,2" + bytes([10]))
    ...     saved = file.identity.to_json()
    ...     _ = path.rename(path.with_suffix(".csv.1"))
    ...     print(FileIdentity.from_json(saved) == file.identity, file.stands_at(path))
    ...     file.close()
    True None

    """

    device: int
    inode: int
    prefix_bytes: int = 0
    fingerprint: str = hashlib.sha256().hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Return it as data for a position."""
        return asdict(self)

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> FileIdentity:
        """Return what `to_json` wrote."""
        return cls(**saved)

    def is_of(self, path: Path) -> bool:
        """Return whether the file at a path is this one."""
        try:
            status = path.stat()
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == (self.device, self.inode) and self.starts_like(path)

    def starts_like(self, path: Path) -> bool:
        """Return whether a file starts with the same bytes, as a copy does."""
        try:
            with path.open("rb") as file:
                return hashlib.sha256(file.read(self.prefix_bytes)).hexdigest() == self.fingerprint
        except OSError:
            return False


class OpenedFile:
    """An open file that notices when what was read from it is no longer there.

    Parameters
    ----------
    path
        Where to open it. The handle stays with the file when the name moves on.
    identity
        What the file must be, if known from a position.

    Raises
    ------
    FileNotFoundError
        If there is nothing at the path.
    SourceError
        If there is, but it is no file or cannot be read.

    """

    def __init__(self, path: Path, identity: FileIdentity | None = None) -> None:
        self.path = Path(os.path.realpath(path))
        try:
            self.descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except FileNotFoundError:
            raise
        except OSError as error:
            raise SourceError(f"{path}: file must be readable, got {error.strerror}; check its permissions") from error
        status = os.fstat(self.descriptor)
        self.identity = identity or FileIdentity(status.st_dev, status.st_ino)
        self.known_size = status.st_size
        self._verified: tuple[int, int] | None = None
        if not stat.S_ISREG(status.st_mode):
            self.close()
            kind = "a directory" if stat.S_ISDIR(status.st_mode) else "a pipe or a device"
            raise SourceError(f"{path}: a followed path must be a file, got {kind}; give a file, or a glob of files")

    @property
    def size(self) -> int:
        """Bytes of the file now."""
        return os.fstat(self.descriptor).st_size

    @property
    def unlinked(self) -> bool:
        """True if no name leads to the file any more."""
        return os.fstat(self.descriptor).st_nlink == 0

    def read_at(self, offset: int, length: int) -> bytes:
        """Read up to `length` bytes, as many as there are.

        Raises
        ------
        FileChangedError
            If the file is shorter than `offset` or starts with other bytes than it did. This is looked at *after*
            reading, so that what is returned is of the file that it is taken for.

        """
        data = os.pread(self.descriptor, length, offset)
        status = os.fstat(self.descriptor)
        now = (status.st_size, status.st_mtime_ns)
        if status.st_size < offset + len(data) or ((data or now != self._verified) and not self._starts_the_same()):
            raise FileChangedError(status.st_size, self._starts_the_same())
        self._verified = now
        self.known_size = status.st_size
        return data

    def remember_start(self, header_bytes: int, block: bytes) -> None:
        """Take the fingerprint from the first bytes of the file, as far as they are final.

        Parameters
        ----------
        header_bytes
            Bytes before the first record.
        block
            The first bytes of the file.

        """
        most = header_bytes + FINGERPRINT_BYTES
        line_end = block.find(b"\n", header_bytes, most) + 1
        self.remember_prefix(block[: line_end or (most if len(block) >= most else header_bytes)])

    def remember_prefix(self, prefix: bytes) -> None:
        """Take the fingerprint of the bytes that the file starts with, unless a longer one is known."""
        if len(prefix) <= self.identity.prefix_bytes:
            return
        fingerprint = hashlib.sha256(prefix).hexdigest()
        self.identity = FileIdentity(self.identity.device, self.identity.inode, len(prefix), fingerprint)

    def forget_start(self) -> None:
        """Take the file for a new one, since it was filled anew."""
        self.identity = FileIdentity(self.identity.device, self.identity.inode)
        self.known_size = self.size
        self._verified = None

    def stands_at(self, path: Path) -> bool | None:
        """Return whether a path leads to this file; None if it leads nowhere."""
        try:
            status = path.stat()
        except OSError:
            return None
        return (status.st_dev, status.st_ino) == (self.identity.device, self.identity.inode)

    def close(self) -> None:
        """Let go of the file."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def _starts_the_same(self) -> bool:
        prefix = os.pread(self.descriptor, self.identity.prefix_bytes, 0)
        return hashlib.sha256(prefix).hexdigest() == self.identity.fingerprint


def find_file(identity: FileIdentity, hints: Iterable[Path]) -> Path | None:
    """Find a file again by its identity: at one of the hinted paths, or under another name next to them."""
    hints = list(hints)
    for path in hints:
        if identity.is_of(path):
            return path
    for directory in dict.fromkeys(path.parent for path in hints):
        try:
            names = [entry.name for entry in os.scandir(directory) if entry.inode() == identity.inode]
        except OSError:
            continue
        for name in sorted(names):
            if identity.is_of(directory / name):
                return directory / name
    return None


def is_rotated_name(name: str, other: str) -> bool:
    """Return whether a name looks like that of an earlier generation of another."""
    return other.startswith(name) and _ROTATED.fullmatch(other, len(name)) is not None


def rotated_names(path: Path) -> list[Path]:
    """Return the files next to a path that look like earlier generations of it, the oldest first.

    Those are its name with a number or a date behind it, as logrotate and Python's handlers write them: `live.csv.1`,
    `live.csv-20260101`, `live.csv.2026-01-01_00`, `live.csv.old`. Compressed ones are not among them.
    """
    found = []
    try:
        for entry in os.scandir(path.parent):
            if is_rotated_name(path.name, entry.name) and entry.is_file():
                found.append((entry.stat().st_mtime_ns, entry.name))
    except OSError:
        return []
    # Of two with one time stamp the higher number is the older: .2 was .1 before.
    found.sort(key=lambda item: (item[0], [-int(digits) for digits in re.findall(r"\d+", item[1])]))
    return [path.parent / name for _, name in found]
