"""How a session stands."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stream_maxloss.evaluate import Progress

if TYPE_CHECKING:
    from stream_maxloss.run.session import Session

__all__ = ["ProgressMeter", "short_position"]


class ProgressMeter:
    """Measures a session: rates since the start and since the last report.

    Parameters
    ----------
    session
        The session.
    clock
        Return the time in seconds.

    """

    def __init__(self, session: Session, clock: Callable[[], float] = time.monotonic) -> None:
        self.session = session
        self._clock = clock
        self._started = self._last_time = clock()
        self._first_rows = self._last_rows = session.rows
        self._first_lag = session.source.lag()

    @property
    def run_rows(self) -> int:
        """Rows of this process's run."""
        return self.session.rows - self._first_rows

    def measure(self, checkpoint: int | None = None) -> Progress:
        """Return how the session stands."""
        session, now = self.session, self._clock()
        lag = session.source.lag()
        scores, slices, no_better = session.board.standing()
        return Progress(
            rows=session.rows,
            values={name: score.total for name, score in scores.items()},
            seconds=now - self._started,
            learned=session.learned,
            bad=session.bad_records.count,
            rate=(session.rows - self._first_rows) / max(now - self._started, 1e-9),
            recent_rate=(session.rows - self._last_rows) / max(now - self._last_time, 1e-9),
            scores=scores,
            worst=worst_slice(slices),
            worst_interval=worst_interval(slices),
            run_rows=self.run_rows,
            no_better=no_better,
            labels={} if session.late is None else session.late.summary(),
            lag=lag,
            lag_unit=session.source.lag_unit,
            done=self._share(lag),
            positions=short_position(session.source.position()),
            checkpoint=checkpoint,
        )

    def _share(self, lag: int | None) -> float | None:
        if lag is None or not self._first_lag or self.session.source.waits:
            return None  # what is followed has no end to be near
        return min(1.0, max(0.0, 1.0 - lag / self._first_lag))

    def restart(self) -> None:
        """Count the recent rate, and what the metrics show since the last report, from now."""
        self._last_time, self._last_rows = self._clock(), self.session.rows
        self.session.board.restart_since()


def worst_slice(report: dict[str, Any] | None) -> tuple[str, int, float] | None:
    """Return name, rows and value of the worst slice of a report."""
    if report is None or report["worst"] is None:
        return None
    found = report["slices"][report["worst"]]
    return report["worst"], int(found["rows"]), float(found[report["worst_by"]])


def worst_interval(report: dict[str, Any] | None) -> tuple[float, float] | None:
    """Return the interval of the worst slice of a report, or None."""
    found = None if report is None else report["worst_interval"]
    return None if found is None else (float(found[0]), float(found[1]))


def short_position(position: dict[str, Any]) -> dict[str, Any]:
    """Return a position without what is only there to find the place again.

    Examples
    --------
    >>> from stream_maxloss.run.progress import short_position
    >>> short_position({"0": {"offset": 7}, "_topic": {"name": "orders"}})
    {'0': {'offset': 7}}

    """
    return {
        name: {key: value for key, value in place.items() if isinstance(value, int) and not isinstance(value, bool)}
        for name, place in position.items()
        if isinstance(place, dict) and not name.startswith("_")
    }
