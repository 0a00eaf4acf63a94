"""Compiles the kernels that the cases use, once, before any clock runs: `python -m benchmarks.warm`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.data import as_batches, as_dicts, dense_rows

__all__ = ["main"]

ROWS = 600
LEARNERS = ("Perceptron", "HingeOGD", "Pegasos", "LLD", "MarginPursuit")


def batches() -> Iterator[tuple[Any, Any]]:
    """Yield the same labels with narrow and wide rows, with text, and with maps."""
    import pyarrow as pa

    for features in (20, 100):
        [(numbers, labels)] = as_batches(*dense_rows(ROWS, features))
        yield numbers, labels
    words = pa.array(["odd", "even"] * (ROWS // 2))
    yield pa.record_batch({"number": numbers.column(0), "word": words}), labels
    rows = [[("one", 1.0), (f"word{row % 7}", 2.0)] for row in range(ROWS)]
    yield pa.record_batch({"words": pa.array(rows, pa.map_(pa.string(), pa.float64()))}), labels


def models() -> Iterator[Any]:
    """Yield each learner alone and focused, and the games that some cases play."""
    from stream_maxloss import linear
    from stream_maxloss.focus import FocusedClassifier, Slack, SubSample

    for name in LEARNERS:
        yield getattr(linear, name)()
    games: list[dict[str, Any]] = [{}, {"slack": Slack(50.0)}, {"admission": SubSample(0.3)}, {"share": 1e-4}]
    for game in games:
        yield FocusedClassifier(linear.HingeOGD(), window=200, seed=1, **game)
    yield FocusedClassifier(linear.LLD(), window=200, seed=1)


def main() -> None:
    """Learn some rows of each form with each model, scaled and not, and score them."""
    from benchmarks.cases import sum_tree
    from benchmarks.point import OURS
    from benchmarks.quality.scores import score
    from benchmarks.streams import Stream
    from stream_maxloss.evaluate import Engine
    from stream_maxloss.linear import Scaler

    for batch, labels in batches():
        for model in models():
            Engine(Scaler() | model.clone()).learn(batch, labels)
            model.learn_many(batch, labels)
            model.predict_many(batch)
    for model in models():
        for x, y in as_dicts(*dense_rows(50, 20)):
            model.predict_one(x)
            model.learn_one(x, y)
    truth = np.asarray(labels)
    score(Stream(batch, truth, {"positive": truth}, "positive"), np.where(truth, 0.9, 0.1))
    sum_tree.prepare(OURS, {"slots": 1000})()


if __name__ == "__main__":
    main()
