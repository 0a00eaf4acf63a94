"""Progressive validation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.data import BATCH, as_batches, as_dicts, dense_rows
from benchmarks.point import OURS, Point

TITLE = "Progressive validation"
INCLUDED = (
    "Predict, score with River's `Accuracy`, learn: `stream_maxloss.evaluate.progressive` over Arrow record batches "
    "with our Perceptron, against `river.evaluate.progressive_val_score` over ready-made dicts with River's."
)
AXIS = "features"


def points(quick: bool) -> list[Point]:
    """Return one point per number of features."""
    sizes = (20,) if quick else (5, 20, 100)
    return [Point(str(n), f"{n} features", (OURS, "river"), {"features": n}) for n in sizes]


def prepare(system: str, settings: dict[str, Any]) -> Callable[[], int]:
    """Return one evaluation of a new model."""
    from river import metrics

    features = settings["features"]
    if system == OURS:
        from stream_maxloss import evaluate
        from stream_maxloss.linear import Perceptron

        batches = as_batches(*dense_rows(BATCH, features))

        def ours() -> int:
            *_, last = evaluate.progressive(batches, Perceptron(), metrics.Accuracy())
            return int(last.rows)

        return ours
    from river import evaluate as river_evaluate
    from river import linear_model

    rows = max(200, 10_000 // features)
    stream = as_dicts(*dense_rows(rows, features))

    def work() -> int:
        river_evaluate.progressive_val_score(stream, linear_model.Perceptron(), metrics.Accuracy())
        return rows

    return work
