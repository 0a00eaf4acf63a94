"""What this project needs of an operating system beyond Python's own promises.

Learning needs nothing. Checkpoints that survive a crash, and files that are followed through rotations, rest on POSIX:
locks that go with their process, directories that can be forced to the disk, files that keep their number when they are
renamed. Where these are missing the caller is told, instead of being left with promises that do not hold.
"""

from __future__ import annotations

import os
import sys

from stream_maxloss.errors import StreamMaxlossError

__all__ = ["require_posix"]


def require_posix(what: str) -> None:
    """Refuse what cannot be kept on this system.

    Parameters
    ----------
    what
        What is wanted, as the subject of the message, in the plural.

    Raises
    ------
    StreamMaxlossError
        On a system without POSIX.

    Examples
    --------
    >>> from stream_maxloss.system import require_posix
    >>> require_posix("checkpoints")

    """
    if os.name != "posix":
        raise StreamMaxlossError(
            f"{what} must be on Linux or macOS, got {sys.platform}; use the Windows Subsystem for Linux"
        )
