"""One run: a learner, a way and an order of a stream, and what its answers are worth."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.focus_yardstick.contenders import LEARNERS, WAYS
from benchmarks.peers.ours import BATCH, answer
from benchmarks.peers.river_models import run_rows
from benchmarks.streams.scores import FALSE_ALARMS, score
from benchmarks.streams.stream import Stream

__all__ = ["TAIL", "figures", "run"]

# The share of rows whose mean loss is the tail loss.
TAIL = 0.05
# A slice of fewer rows has no worst place.
SUPPORT = 20


def run(learner: str, way: str, stream: Stream) -> tuple[NDArray[np.float64], float]:
    """Return the probabilities of True, each said before its row was learned, and processor seconds."""
    choice, options = LEARNERS[learner], WAYS[way]

    def wrap(model: Any) -> Any:
        from stream_maxloss import FocusedClassifier

        if options is None:
            return model
        return FocusedClassifier(model, seed=1, **options)

    if choice.foreign:
        rows, labels = stream.dicts(), stream.labels.tolist()
        model = choice.make(stream, wrap)
        started = time.process_time()
        return run_rows(model, rows, labels, stream), time.process_time() - started
    batches = stream.table.to_batches(max_chunksize=BATCH)
    labels_of = np.split(stream.labels, np.cumsum([batch.num_rows for batch in batches])[:-1])
    # Compiles, or loads what was compiled.
    answer(choice.make(stream, wrap), batches[0].slice(0, 2), labels_of[0][:2], stream)
    model = choice.make(stream, wrap)
    started = time.process_time()
    answers = np.concatenate([answer(model, X, y, stream) for X, y in zip(batches, labels_of, strict=True)])
    return answers, time.process_time() - started


def figures(stream: Stream, answers: NDArray[np.float64], seconds: float) -> dict[str, Any]:
    """Return what the answers are worth."""
    found = score(stream, answers)
    losses = np.sort(np.where(stream.labels.astype(bool), 1.0 - answers, answers))[::-1]
    slices = {
        name: {what: value for what, value in entry.items() if what == "ap" or what in FALSE_ALARMS}
        for name, entry in found["slices"].items()
        if "ap" in entry
    }
    large = [entry["recall at 1 %"] for name, entry in slices.items() if found["slices"][name]["rows"] >= SUPPORT]
    return {
        **{what: found[what] for what in ("error", "log loss", "ap", *FALSE_ALARMS)},
        "tail loss": float(losses[: max(1, int(TAIL * len(losses)))].mean()),
        "worst slice at 1 %": min(large) if large else found["recall at 1 %"],
        "slices": slices,
        "rows": len(answers),
        "microseconds a row": 1e6 * seconds / len(answers),
    }
