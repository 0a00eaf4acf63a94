"""One writer to a directory."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
from pathlib import Path

from stream_maxloss.errors import CheckpointError

HELD = (errno.EWOULDBLOCK, errno.EACCES)

__all__ = ["DirectoryLock", "HeldError"]


class HeldError(CheckpointError):
    """Another process writes to the directory."""


class DirectoryLock:
    """An exclusive lock on a directory, held by the kernel: it goes when the process does, however that ends.

    The file `LOCK` stays; its text says who holds or last held the lock, and is never what decides.

    Parameters
    ----------
    directory
        The directory, which must exist.
    run_id
        Name of the run, for the message of the `CheckpointError` that a second writer gets.

    """

    def __init__(self, directory: Path, run_id: str) -> None:
        import fcntl  # which is not everywhere; a store has asked for it by then

        self.path = directory / "LOCK"
        try:
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise CheckpointError(
                f"checkpoint directory must be writable, got {directory}: {error.strerror}; choose another directory"
            ) from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._write_owner(run_id)
        except OSError as error:
            owner = os.pread(self._descriptor, 1000, 0).decode("utf-8", "replace")
            os.close(self._descriptor)
            kind = HeldError if error.errno in HELD else CheckpointError
            raise kind(_explain(directory, owner, error)) from error

    def _write_owner(self, run_id: str) -> None:
        owner = json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "run_id": run_id}) + "\n"
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, owner.encode(), 0)

    def check(self) -> None:
        """Raise `CheckpointError` if the file was removed or replaced, so that there can be two writers."""
        ours = os.fstat(self._descriptor)
        try:
            theirs = self.path.lstat()
        except OSError as error:
            raise CheckpointError(
                f"{self.path} must stay while a run writes, got: {error.strerror}; restart"
            ) from error
        if (ours.st_dev, ours.st_ino) != (theirs.st_dev, theirs.st_ino):
            raise CheckpointError(f"{self.path} must stay while a run writes, got another file in its place; restart")

    def release(self) -> None:
        """Let the next writer in."""
        # The text is a courtesy: a full disk must not keep the lock from being released.
        with contextlib.suppress(OSError):
            os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)


def _explain(directory: Path, owner: str, error: OSError) -> str:
    if error.errno not in HELD:
        return f"checkpoint directory must be lockable, got {directory}: {error.strerror}; free space or choose another"
    try:
        entry = json.loads(owner)
        who = f"process {entry['pid']} on {entry['host']} (run {entry['run_id']})"
    except (ValueError, KeyError, TypeError):
        who = "another process"
    return (
        f"checkpoint directory must have one writer, got {directory}, which {who} is writing to; "
        "wait for it to end or choose another directory"
    )
