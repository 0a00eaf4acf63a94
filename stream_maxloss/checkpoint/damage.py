"""The two ways in which a checkpoint can be unusable, and the warning for the first."""

from __future__ import annotations

from stream_maxloss.errors import CheckpointError

__all__ = ["CheckpointWarning", "DamagedError", "RefusedError"]


class DamagedError(CheckpointError):
    """Bytes are missing or not those that were written: the one before it can take over."""


class RefusedError(CheckpointError):
    """The bytes are what their author wrote, and we will not load them.

    A newer format, a pickle without permission, a path that leads outside: falling back to an older checkpoint in
    silence would hide this from the user, so nothing is read further, renamed or written.
    """


class CheckpointWarning(UserWarning):
    """A checkpoint was passed over, or something beside it could not be tidied up."""
