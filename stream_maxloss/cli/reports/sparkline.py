"""A curve in one line of text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

__all__ = ["Curve", "sparkline"]

BLOCKS = "▁▂▃▄▅▆▇█"
PLAIN = "_.-=+*%#"
MEANS = ("Accuracy", "CrossEntropy", "LogLoss", "MAE", "MAPE", "MSE")
"""Metrics that are means over rows, so that what the latest rows have follows from two moments."""

MOST_POINTS = 512


class Curve:
    """How a metric went: of a mean what the rows between two moments have, of any other what all rows have by then.

    Parameters
    ----------
    name
        The metric.

    Examples
    --------
    >>> from stream_maxloss.cli.reports.sparkline import Curve
    >>> curve = Curve("Accuracy")
    >>> for rows, value in ((100, 0.5), (200, 0.7), (300, 0.8)):
    ...     curve.add(rows, value)
    >>> [round(point, 6) for point in curve.points]
    [0.5, 0.9, 1.0]

    """

    def __init__(self, name: str) -> None:
        self.is_mean = name in MEANS
        self.points: list[float] = []
        self._rows = 0
        self._total = 0.0

    def add(self, rows: int, value: float) -> None:
        """Note a value over so many rows; nothing if there are no new ones, or the metric has no value."""
        if rows <= self._rows or value != value:
            return
        total = value * rows
        self.points.append((total - self._total) / (rows - self._rows) if self.is_mean else value)
        self._rows, self._total = rows, total
        if len(self.points) > MOST_POINTS:
            self.points = averages(self.points, MOST_POINTS // 2)


def sparkline(points: Sequence[float], width: int, blocks: str = BLOCKS) -> str:
    """Return points as a line of blocks, the lowest and the highest point as the lowest and the highest block.

    Examples
    --------
    >>> from stream_maxloss.cli.reports.sparkline import sparkline
    >>> sparkline([0.1, 0.5, 0.9, 0.9], 4)
    '▁▅██'

    """
    shown = averages(points, width) if len(points) > width else list(points)
    if not shown or width < 1:
        return ""
    low, high = min(shown), max(shown)
    scale = (len(blocks) - 1) / (high - low) if high > low else 0.0
    return "".join(blocks[round((point - low) * scale)] for point in shown)


def averages(points: Sequence[float], count: int) -> list[float]:
    """Return so many means over neighbouring points."""
    borders = [len(points) * i // count for i in range(count + 1)]
    groups = [points[first:last] for first, last in pairwise(borders)]
    return [sum(group) / len(group) for group in groups if group]
