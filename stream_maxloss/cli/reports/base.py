"""What shows the progress of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from stream_maxloss.evaluate import Progress

__all__ = ["QuietReport", "Report"]


class Report(Protocol):
    """What shows progress."""

    def report(self, progress: Progress) -> None:
        """Show a report that is due."""

    def tick(self, measure: Callable[[], Progress]) -> None:
        """Be given the chance to redraw."""

    def finish(self, progress: Progress, details: Any) -> None:
        """Show the end."""

    def close(self) -> None:
        """Leave the terminal in order."""

    def leave_at_once(self) -> None:
        """Leave the terminal in order for a process that is about to end."""


class QuietReport:
    """Shows nothing; the others show what they do in its place."""

    def report(self, progress: Progress) -> None:
        """Do nothing."""

    def tick(self, measure: Callable[[], Progress]) -> None:
        """Do nothing between two reports."""

    def finish(self, progress: Progress, details: Any) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

    def leave_at_once(self) -> None:
        """Do nothing."""
