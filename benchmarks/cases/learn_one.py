"""One row at a time: predict it, then learn it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.data import as_dicts, dense_rows
from benchmarks.point import OURS, Point

TITLE = "One dict at a time"
INCLUDED = (
    "`predict_one` and then `learn_one` of `stream_maxloss.linear.Perceptron` and of `river.linear_model.Perceptron`, "
    "on the same dicts of floats, which exist beforehand. The loop over the rows is included for both."
)
AXIS = "features"
TARGETS = {5: 4.0, 20: 5.0, 100: 3.0, 500: 3.0}


def points(quick: bool) -> list[Point]:
    """Return one point per number of features."""
    return [
        Point(str(features), f"{features} features", (OURS, "river"), {"features": features}, targets={"river": target})
        for features, target in TARGETS.items()
        if not quick or features == 20
    ]


def prepare(system: str, settings: dict[str, Any]) -> Callable[[], int]:
    """Return a pass over some rows."""
    features = settings["features"]
    stream = as_dicts(*dense_rows(max(100, 4000 // features), features))
    model: Any
    if system == OURS:
        from stream_maxloss.linear import Perceptron

        model = Perceptron()
    else:
        from river import linear_model

        model = linear_model.Perceptron()

    def work() -> int:
        predict, learn = model.predict_one, model.learn_one
        for x, y in stream:
            predict(x)
            learn(x, y)
        return len(stream)

    return work
