"""Drives a session to its end: reports, checkpoints and signals between its steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from stream_maxloss.cli.exit_codes import DONE
from stream_maxloss.cli.progress import ProgressMeter

if TYPE_CHECKING:
    from collections.abc import Callable

    from stream_maxloss.cli.progress import Progress
    from stream_maxloss.cli.run_store import RunStore
    from stream_maxloss.cli.schedule import Schedule
    from stream_maxloss.cli.session import Session
    from stream_maxloss.cli.signals import SignalFlags

__all__ = ["QuietReport", "Report", "Runner"]


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


class QuietReport:
    """Shows nothing."""

    def report(self, progress: Progress) -> None:
        """Do nothing."""

    def tick(self, measure: Callable[[], Progress]) -> None:
        """Do nothing."""

    def finish(self, progress: Progress, details: Any) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class Runner:
    """The loop of `maxloss tail`.

    Parameters
    ----------
    session
        What is run.
    report
        Shows progress.
    flags
        What signals asked for.
    report_every, checkpoint_every
        When to report and when to write a checkpoint.
    store
        Where checkpoints go, or None.
    log
        Takes messages for the verbose.

    """

    def __init__(
        self,
        session: Session,
        report: Report,
        flags: SignalFlags,
        report_every: Schedule,
        checkpoint_every: Schedule,
        store: RunStore | None = None,
        log: Callable[[str], None] = lambda message: None,
    ) -> None:
        self.session = session
        self.report = report
        self.flags = flags
        self.report_every = report_every
        self.checkpoint_every = checkpoint_every
        self.store = store
        self.log = log
        self.meter = ProgressMeter(session)
        self._reported = session.rows
        session.should_stop = lambda: flags.stopped or flags.checkpoint_wanted

    def run(self) -> int:
        """Run to the end, the limit or a signal; return the exit code."""
        session = self.session
        while not session.finished and not self.flags.stopped:
            session.step(self._cut())
            self._between_batches()
        if session.source.exhausted:
            session.finish()
        self.save()
        return self.flags.exit_code if self.flags.stopped else DONE

    def save(self) -> None:
        """Write a checkpoint, if there is a place for it."""
        if self.store is not None:
            seq = self.store.save(self.session)
            self.checkpoint_every.done()
            self.log(f"checkpoint {seq} at row {self.session.rows:,}")

    def measure(self) -> Progress:
        """Return how it stands."""
        return self.meter.measure(None if self.store is None else self.store.seq)

    def _between_batches(self) -> None:
        rows = self.session.rows
        if rows > self._reported and self.report_every.due(rows, self._reported):
            self.report.report(self.measure())
            self.meter.restart()
            self.report_every.done()
            self._reported = rows
        self.report.tick(self.measure)
        if self.flags.take_checkpoint_wanted() or self._checkpoint_due(rows):
            self.save()

    def _checkpoint_due(self, rows: int) -> bool:
        store = self.store
        return store is not None and rows > store.saved_rows and self.checkpoint_every.due(rows, store.saved_rows)

    def _cut(self) -> int | None:
        schedules = [self.report_every] if self.store is None else [self.report_every, self.checkpoint_every]
        ends = [end for schedule in schedules if (end := schedule.next_row(self.session.rows)) is not None]
        return min(ends) if ends else None
