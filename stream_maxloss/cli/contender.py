"""One of several models that are compared, with its scores and what it cost."""

from __future__ import annotations

import math
import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stream_maxloss.cli.metrics_option import make_metrics
from stream_maxloss.cli.row_feed import RowBatch
from stream_maxloss.cli.scoreboard import Scoreboard
from stream_maxloss.errors import DecodeError
from stream_maxloss.evaluate import Engine

if TYPE_CHECKING:
    from stream_maxloss_connectors.bad_records import BadRecords

__all__ = ["Contender", "Point"]

_REFUSED = re.compile(r" of row (\d+)")


@dataclass(frozen=True)
class Point:
    """How a model stood after some rows: the first metric over all rows, and by slice."""

    rows: int
    value: float
    slices: dict[str, float]


class Contender:
    """A model that predicts, is scored and learns.

    Parameters
    ----------
    name
        What the user called it.
    model
        A fresh model.
    metrics
        Texts of `--metric`.
    slice_by
        Column of slices, or None.

    """

    def __init__(self, name: str, model: Any, metrics: tuple[str, ...], slice_by: str | None) -> None:
        self.name = name
        self.model = model
        scores = make_metrics(metrics, model)
        self.engine = Engine(model, labels=asks_labels(scores))
        self.board = Scoreboard(scores, self.engine.is_classifier, slice_by)
        self.seconds = 0.0
        self.points: list[Point] = []

    def learn(self, batch: RowBatch, bad_records: BadRecords) -> RowBatch:
        """Predict, score and learn some rows; return them without those that the model refuses."""
        started = time.perf_counter()
        while True:
            try:
                scored = self.engine.learn(batch.X, batch.y, batch.w)
                break
            except ValueError as error:
                found = _REFUSED.search(str(error)) if self.engine.is_native else None
                if found is None:
                    raise
                row = int(found[1])
                reason = str(error).replace(found[0], "", 1)
                bad_records.handle(DecodeError(batch.address(row), reason))
                batch = batch.without([row])
        self.seconds += time.perf_counter() - started
        self.board.add(scored, batch.slices)
        return batch

    def mark(self) -> None:
        """Note how it stands, for the plot."""
        first = self.board.names[0]
        report = self.board.slices()
        slices = {} if report is None else {name: scores[first] for name, scores in report["slices"].items()}
        self.points.append(Point(self.board.rows, self.board.scores()[first].total, slices))

    def summary(self) -> dict[str, Any]:
        """Return everything that is reported of it, as plain values."""
        found: dict[str, Any] = {
            "model": self.name,
            "rows": self.board.rows,
            "metrics": {name: plain(score.total) for name, score in self.board.scores().items()},
        }
        report = self.board.slices()
        if report is not None:
            worst = report["worst"]
            found["worst_slice"] = worst
            found["worst_metrics"] = {} if worst is None else report["slices"][worst]
        found["seconds"] = self.seconds
        found["memory_bytes"] = int(self.model._raw_memory_usage)
        return found


def plain(value: float) -> float | None:
    """Return a number that JSON can express."""
    return value if math.isfinite(value) else None


def asks_labels(metrics: Any) -> bool:
    """Tell whether all metrics want labels rather than probabilities; those of regressors do not say."""
    return all(getattr(part, "requires_labels", True) for part in metrics)
