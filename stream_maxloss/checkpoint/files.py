"""Writing so that a crash leaves either nothing or everything, and reading without being led astray.

A file is written and synced; its directory is built under a temporary name, synced, renamed, and the parent synced. The
rename is the one instant at which a checkpoint comes into being.

For fault injection every step is a *crash point*: with the environment variable `STREAM_MAXLOSS_CRASH_AT=NAME` (or
`NAME:COUNT` for its COUNT-th passing) the process ends there at once with exit code 70, as if it had been killed. The
variable is read once, when this module is imported. It exists for tests.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from stream_maxloss.checkpoint.damage import DamagedError, RefusedError
from stream_maxloss.errors import CheckpointError

__all__ = [
    "CRASH_EXIT_CODE",
    "FileEntry",
    "arm_crash_point",
    "check_length",
    "crash_point",
    "digest_of",
    "discard",
    "make_directory",
    "make_root",
    "open_directory",
    "publish",
    "read_file",
    "remove_tree",
    "set_aside",
    "sync_directory",
    "write_file",
]

CRASH_EXIT_CODE = 70

_armed: dict[str, int] = {}


def arm_crash_point(setting: str | None) -> None:
    """Choose where the process is to end: `NAME`, `NAME:COUNT`, or None for nowhere."""
    _armed.clear()
    if setting:
        name, _, count = setting.partition(":")
        _armed[name] = int(count or 1)


def crash_point(name: str) -> None:
    """End the process here if the environment asks for it. One test of an empty dict otherwise."""
    if _armed and name in _armed:
        _armed[name] -= 1
        if _armed[name] == 0:
            os._exit(CRASH_EXIT_CODE)


arm_crash_point(os.environ.get("STREAM_MAXLOSS_CRASH_AT"))


@dataclass(frozen=True)
class FileEntry:
    """What the manifest says of one file: its length, and the hexadecimal digest of its bytes."""

    bytes: int
    sha256: str


def make_root(path: Path) -> None:
    """Create a directory and those above it as far as they are missing, and force their names to the disk."""
    missing = [directory for directory in (path, *path.parents) if not directory.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for directory in reversed(missing):
        sync_directory(directory.parent)


def make_directory(path: Path) -> None:
    """Create one directory that must not exist yet."""
    crash_point("before-mkdir")
    path.mkdir()
    crash_point("after-mkdir")


def write_file(path: Path, parts: Iterable[bytes | memoryview]) -> FileEntry:
    """Write a new file from its parts, force it to the disk, and return its length and digest."""
    length = 0
    digest = hashlib.sha256()
    crash_point(f"before-create-{path.name}")
    with path.open("xb", buffering=0) as file:
        crash_point(f"before-write-{path.name}")
        for part in parts:
            _write_all(file.fileno(), memoryview(part))
            digest.update(part)
            length += len(part)
        crash_point(f"after-write-{path.name}")
        os.fsync(file.fileno())
        crash_point(f"after-fsync-{path.name}")
    return FileEntry(length, digest.hexdigest())


def _write_all(descriptor: int, view: memoryview) -> None:
    # A full disk or a file size limit shows as a short write first; only the next write raises.
    while view:
        view = view[os.write(descriptor, view) :]


def sync_directory(path: Path) -> None:
    """Force the entries of a directory to the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def publish(temporary: Path, final: Path) -> None:
    """Rename a finished directory to its final name."""
    crash_point("before-fsync-directory")
    sync_directory(temporary)
    crash_point("after-fsync-directory")
    # rename(2) would replace an empty directory of that name without a word.
    if os.path.lexists(final):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(final))
    temporary.rename(final)
    crash_point("after-rename")
    sync_directory(final.parent)
    crash_point("after-fsync-parent")


def set_aside(path: Path, target: Path) -> None:
    """Rename an entry of a directory and force that to the disk."""
    crash_point("before-set-aside")
    path.rename(target)
    crash_point("after-set-aside")
    sync_directory(target.parent)
    crash_point("after-fsync-set-aside")


def discard(path: Path, temporary: Path) -> None:
    """Remove a directory by way of a temporary name, so that no half of it is ever found under its own."""
    crash_point("before-discard")
    path.rename(temporary)
    crash_point("after-discard")
    remove_tree(temporary)


def remove_tree(path: Path) -> None:
    """Remove a directory and what is in it; of a symbolic link only the link."""
    crash_point("before-remove")
    if path.is_symlink() or not path.is_dir():
        path.unlink()
    else:
        shutil.rmtree(path)
    crash_point("after-remove")


@contextlib.contextmanager
def open_directory(path: Path) -> Iterator[int]:
    """Open a checkpoint's directory for reading, itself and not what a symbolic link makes of it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise RefusedError(f"{path} must be a directory and no symbolic link; remove it") from error
        raise _unreadable(path.name, error) from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def read_file(directory: int, name: str, limit: int, expected: int | None = None) -> bytes:
    """Read a regular file of an open directory, given by its descriptor, whole.

    Raises
    ------
    RefusedError
        If it is not a regular file, or holds more than `limit` bytes.
    DamagedError
        If it is missing, lost to the disk, or not of the expected length, which is looked at before anything is read.
    CheckpointError
        If it cannot be read for another reason, such as permissions.

    """
    # O_NONBLOCK: opening a named pipe would otherwise wait for ever for its writer.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(name, flags, dir_fd=directory)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise RefusedError(f"{name} must be a regular file, got a link or device") from error
        raise _unreadable(name, error) from error
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise RefusedError(f"{name} must be a regular file, got a directory or device")
        if expected is not None and status.st_size != expected:
            raise DamagedError(f"{name} must hold {expected} bytes, got {status.st_size}")
        if status.st_size > limit:
            raise RefusedError(f"{name} must hold at most {limit} bytes, got {status.st_size}")
        try:
            return file.readall()
        except OSError as error:
            raise _unreadable(name, error) from error


def check_length(directory: int, name: str, expected: int) -> None:
    """Raise unless an open directory has a regular file of this name and length; nothing of it is read."""
    try:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except OSError as error:
        raise _unreadable(name, error) from error
    if not stat.S_ISREG(status.st_mode):
        raise RefusedError(f"{name} must be a regular file, got a link, directory or device")
    if status.st_size != expected:
        raise DamagedError(f"{name} must hold {expected} bytes, got {status.st_size}")


def digest_of(directory: int, name: str) -> str:
    """Return the hexadecimal digest of a file of an open directory, read a piece at a time."""
    try:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=directory)
        with os.fdopen(descriptor, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(name, error) from error


def _unreadable(name: str, error: OSError) -> CheckpointError:
    # Missing or lost to the disk is damage. No permission, or no descriptor left, says nothing about the file: were
    # that damage too, a good checkpoint would be set aside and work lost.
    if error.errno in (errno.ENOENT, errno.EIO):
        return DamagedError(f"{name} cannot be read: {error.strerror}")
    return CheckpointError(f"{name} must be readable, got: {error.strerror}; make it so and try again")
