"""How a session stands, for the reports."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stream_maxloss.cli.scoreboard import Scores
    from stream_maxloss.cli.session import Session

__all__ = ["Progress", "ProgressMeter", "short_position"]


@dataclass(frozen=True)
class Progress:
    """One moment of a session.

    Parameters
    ----------
    rows, learned, bad
        Rows read in all, rows learned, records that were bad.
    seconds
        Time since this process began.
    rate, recent_rate
        Rows a second since then, and since the last report.
    scores
        The metrics by name.
    worst
        Name, rows and value of the worst slice, or None.
    lag, lag_unit
        What is known to be left.
    done
        Share of the source that was read, or None.
    positions
        Partition -> where reading stands, in short.
    checkpoint
        Number of the last checkpoint, or None.

    """

    rows: int
    learned: int
    bad: int
    seconds: float
    rate: float
    recent_rate: float
    scores: dict[str, Scores]
    worst: tuple[str, int, float] | None = None
    lag: int | None = None
    lag_unit: str = "bytes"
    done: float | None = None
    positions: dict[str, Any] = field(default_factory=dict)
    checkpoint: int | None = None


class ProgressMeter:
    """Measures a session: rates since the start and since the last report.

    Parameters
    ----------
    session
        The session.
    clock
        Gives the time in seconds.

    """

    def __init__(self, session: Session, clock: Callable[[], float] = time.monotonic) -> None:
        self.session = session
        self._clock = clock
        self._started = self._last_time = clock()
        self._first_rows = self._last_rows = session.rows
        self._first_lag = session.source.lag()

    def measure(self, checkpoint: int | None) -> Progress:
        """Return how the session stands."""
        session, now = self.session, self._clock()
        lag = session.source.lag()
        scores, slices = session.board.summary()
        return Progress(
            rows=session.rows,
            learned=session.learned,
            bad=session.bad_records.count,
            seconds=now - self._started,
            rate=(session.rows - self._first_rows) / max(now - self._started, 1e-9),
            recent_rate=(session.rows - self._last_rows) / max(now - self._last_time, 1e-9),
            scores=scores,
            worst=worst_slice(slices),
            lag=lag,
            lag_unit=session.source.lag_unit,
            done=self._share(lag),
            positions=short_position(session.source.position()),
            checkpoint=checkpoint,
        )

    def _share(self, lag: int | None) -> float | None:
        if lag is None or not self._first_lag:
            return None
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


def short_position(position: dict[str, Any]) -> dict[str, Any]:
    """Return a position without what is only there to find the place again.

    Examples
    --------
    >>> from stream_maxloss.cli.progress import short_position
    >>> short_position({"0": {"offset": 7}, "_topic": {"name": "orders"}})
    {'0': {'offset': 7}}

    """
    return {
        name: {key: value for key, value in place.items() if isinstance(value, int) and not isinstance(value, bool)}
        for name, place in position.items()
        if isinstance(place, dict) and not name.startswith("_")
    }
