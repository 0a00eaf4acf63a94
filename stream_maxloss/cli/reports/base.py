"""What shows the progress of a run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stream_maxloss.evaluate import Progress

__all__ = ["Report", "make_report"]


class Report:
    """What shows progress: this one nothing, the others what they do in its place."""

    def report(self, progress: Progress) -> None:
        """Show a report that is due."""

    def tick(self, measure: Callable[[], Progress]) -> None:
        """Be given the chance to redraw, between two reports."""

    def finish(self, progress: Progress, details: Any) -> None:
        """Show the end."""

    def close(self) -> None:
        """Leave the terminal in order."""

    def leave_at_once(self) -> None:
        """Leave the terminal in order for a process that is about to end."""


def make_report(quiet: bool, output: str, has_slices: bool) -> Report:
    """Return what shows progress without a terminal: nothing, JSON lines, or lines."""
    if quiet:
        return Report()
    if output == "jsonl":
        from stream_maxloss.cli.reports.jsonl import JsonlReport

        return JsonlReport(sys.stdout)
    from stream_maxloss.cli.reports.plain import PlainReport

    return PlainReport(sys.stdout, slices=has_slices)
