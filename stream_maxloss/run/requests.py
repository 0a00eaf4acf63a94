"""What is asked of a run while it runs."""

from __future__ import annotations

__all__ = ["Requests"]


class Requests:
    """What somebody else, such as a signal handler, wants of a run; looked at between two batches."""

    def __init__(self) -> None:
        self.stopped = False
        self.checkpoint_wanted = False

    def take_checkpoint_wanted(self) -> bool:
        """Return whether a checkpoint was requested since the last call."""
        wanted, self.checkpoint_wanted = self.checkpoint_wanted, False
        return wanted
