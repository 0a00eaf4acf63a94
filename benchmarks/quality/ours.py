"""Our learners, with their defaults: what is varied is only which learner, and whether it is focused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.streams import Stream

__all__ = ["FOCUSED", "OURS", "prepare"]

BATCH = 1000
OURS = {
    "Perceptron": "`Scaler() | Perceptron()`",
    "HingeOGD": "`Scaler() | HingeOGD()`",
    "Pegasos": "`Scaler() | Pegasos()`",
    "LLD": "`Scaler() | LLD()`",
    "MarginPursuit": "`Scaler() | MarginPursuit()`",
    "HingeOGD focused": "`Scaler() | FocusedClassifier(HingeOGD())`: window 10,000, 13 replays a row",
    "LLD focused": "`Scaler() | FocusedClassifier(LLD())`: window 10,000, 13 replays a row",
}
FOCUSED = " focused"


def build(system: str, seed: int, scaled: bool) -> Any:
    """Return a new model, behind a scaler if the rows are to be scaled."""
    from stream_maxloss import linear
    from stream_maxloss.focus import FocusedClassifier

    learner = getattr(linear, system.removesuffix(FOCUSED))()
    if system.endswith(FOCUSED):
        learner = FocusedClassifier(learner, seed=seed)
    return linear.Scaler() | learner if scaled else learner


def prepare(system: str, stream: Stream, seed: int = 1) -> Callable[[], NDArray[np.float64]]:
    """Return a run over Arrow record batches: each row is predicted, then learned."""
    from stream_maxloss.evaluate import Engine

    batches = stream.table.to_batches(max_chunksize=BATCH)
    firsts = np.cumsum([0] + [batch.num_rows for batch in batches])
    labels = [stream.labels[first : first + batch.num_rows] for first, batch in zip(firsts, batches, strict=False)]
    scaled = not stream.is_sparse
    Engine(build(system, seed, scaled)).learn(batches[0], labels[0])  # compiles, or loads what was compiled

    def run() -> NDArray[np.float64]:
        engine = Engine(build(system, seed, scaled))
        answers = [engine.learn(batch, y).probabilities for batch, y in zip(batches, labels, strict=True)]
        return np.concatenate([answer for answer in answers if answer is not None])

    return run
