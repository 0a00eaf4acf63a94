"""What lies at a path: pipes and devices are neither sources nor outputs, since they cannot be gone back in."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from stream_maxloss.errors import SourceError

__all__ = ["is_standard_input", "require_file"]


def require_file(path: str | os.PathLike[str], what: str, remedy: str, devices: bool = False) -> None:
    """Raise `SourceError` if something lies at a path that is no file; a directory is left to whoever opens it.

    To be called before it is opened: opening a named pipe waits for its other end, maybe for ever.

    Parameters
    ----------
    path
        Where to look, through links; nothing has to be there.
    what, remedy
        For the message: what it is to be, and what to do.
    devices
        Whether a device will do.

    Examples
    --------
    >>> from stream_maxloss_connectors.file_kinds import require_file
    >>> require_file("/dev/null", "source", "give a file")
    Traceback (most recent call last):
    ...
    stream_maxloss.errors.SourceError: /dev/null: source must be a file, got a device; give a file

    """
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode) or (devices and stat.S_ISCHR(mode)):
        return
    kind = "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
    raise SourceError(f"{os.fspath(path)}: {what} must be a file, got {kind}; {remedy}")


def is_standard_input(path: str | os.PathLike[str]) -> bool:
    """Return whether standard input is redirected from the file at a path."""
    try:
        status = os.fstat(0)
        return stat.S_ISREG(status.st_mode) and os.path.samestat(status, Path(path).stat())
    except OSError:
        return False
