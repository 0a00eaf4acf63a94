"""What a run has been through: its reports, thinned out as they grow old."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stream_maxloss.evaluate import Progress

__all__ = ["History"]

MEANS = ("Accuracy", "MAE", "CrossEntropy", "LogLoss", "MSE")
"""Metrics that are a mean over rows, so that two totals tell what lies between."""


class History:
    """The reports of a run, at most so many of them.

    When there are too many, every second one of the older half is dropped: the last hour is kept in detail, and the
    last month in outline.

    Parameters
    ----------
    capacity
        Most points to keep.
    slices
        Most slices to keep of each point, the worst ones.
    clock
        Return the time in seconds since 1970.

    Examples
    --------
    >>> from stream_maxloss.evaluate import Progress
    >>> from stream_maxloss.run.history import History
    >>> history = History(capacity=4)
    >>> for rows in range(1, 8):
    ...     point = history.add(Progress(rows, {}, 0.0))
    >>> [point["rows"] for point in history.points]
    [1, 5, 6, 7]

    """

    def __init__(self, capacity: int = 600, slices: int = 24, clock: Callable[[], float] = time.time) -> None:
        if capacity < 4:
            raise ValueError(f"capacity must be at least 4, got {capacity!r}; there is no curve in fewer points")
        self.capacity = capacity
        self.slices = slices
        self.points: list[dict[str, Any]] = []
        self.added = 0
        self._clock = clock
        self._before: dict[str, list[float]] = {}

    def add(self, progress: Progress, report: dict[str, Any] | None = None) -> dict[str, Any]:
        """Take in how a run stands, with its report by slice; return the point that was made of it."""
        # Metrics without a row are 0, which looks like a verdict.
        before = self.points[-1] if self.points else {"time": None, "rows": 0, "scores": {}}
        now = round(self._clock(), 3)
        point = {
            "time": now,
            "rows": progress.rows,
            "learned": progress.learned,
            "bad": progress.bad,
            "rate": rate_between(before, progress.rows, now),
            "lag": progress.lag,
            "scores": {
                name: [
                    finite(score.total) if progress.rows else None,
                    since(name, score, before, progress.rows),
                    finite(score.baseline) if progress.rows else None,
                ]
                for name, score in progress.scores.items()
            },
            "slices": {} if report is None else self._slices(report),
            "checkpoint": progress.checkpoint,
        }
        self.points.append(point)
        self.added += 1
        if len(self.points) > self.capacity:
            half = self.capacity // 2
            self.points = self.points[:half:2] + self.points[half:]
        return point

    def _slices(self, report: dict[str, Any]) -> dict[str, list[float | None]]:
        """Return rows, value and value since the last point of each slice; the worst, and others that are large."""
        metric = report["worst_by"]
        found: dict[str, list[float | None]] = {}
        for name, scores in report["slices"].items():
            rows, value = scores["rows"], scores[metric]
            rows_before, value_before = self._before.get(name, [0, 0.0])
            since = None
            if metric in MEANS and rows > rows_before and value_before is not None:
                since = (value * rows - value_before * rows_before) / (rows - rows_before)
            found[name] = [rows, finite(value), finite(since)]
        self._before = {name: [rows or 0, value] for name, (rows, value, _) in found.items() if value is not None}
        chosen = sorted(found, key=lambda name: (name != report["worst"], -(found[name][0] or 0)))[: self.slices]
        return {name: found[name] for name in chosen}

    def state_dict(self) -> dict[str, Any]:
        """Return the points as plain values."""
        return {"points": self.points, "added": self.added, "before": self._before}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        points, before = state["points"], state["before"]
        if not isinstance(points, list) or len(points) > self.capacity or not isinstance(before, dict):
            raise ValueError(f"the history must be at most {self.capacity} points; use another checkpoint")
        if not all(isinstance(point, dict) and is_point(point) for point in points):
            raise ValueError("a point of the history must have numbers for time and rows; use another checkpoint")
        self.points, self.added, self._before = list(points), int(state["added"]), dict(before)


def rate_between(before: dict[str, Any], rows: int, now: float) -> float | None:
    """Return the rows a second since a point."""
    if before["time"] is None or now <= before["time"]:
        return None
    return max(0.0, (rows - before["rows"]) / (now - before["time"]))


def since(name: str, score: Any, before: dict[str, Any], rows: int) -> float | None:
    """Return the value of a metric since a point; None without rows.

    What two totals do not tell is taken from the run, whose reports may lie further back.
    """
    fresh = rows - before["rows"]
    if fresh <= 0:
        return None
    total = before["scores"].get(name, [None])[0] if before["rows"] else 0.0
    if name not in MEANS or total is None:
        return finite(score.since_last)
    return finite((score.total * rows - total * before["rows"]) / fresh)


def is_point(point: dict[str, Any]) -> bool:
    """Return whether a point has what the page draws."""
    numbers = all(isinstance(point.get(name), int | float) for name in ("time", "rows"))
    return numbers and all(isinstance(point.get(name), dict) for name in ("scores", "slices"))


def finite(value: float | None) -> float | None:
    """Return a number as JSON has it: None for what is none.

    Examples
    --------
    >>> from stream_maxloss.run.history import finite
    >>> finite(0.5), finite(float("nan")), finite(None)
    (0.5, None, None)

    """
    return value if value is not None and math.isfinite(value) else None
