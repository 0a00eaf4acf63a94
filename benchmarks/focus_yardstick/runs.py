"""One run: a learner, a way and an order of a stream, and what its answers are worth."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.focus_yardstick.contenders import LEARNERS, model_of
from benchmarks.peers.ours import BATCH, answer
from benchmarks.peers.river_models import run_rows
from benchmarks.streams.scores import FALSE_ALARMS, score
from benchmarks.streams.stream import Stream

__all__ = ["TAIL", "figures", "rare_recall", "run", "slice_names"]

# The share of rows whose mean loss is the tail loss.
TAIL = 0.05
# A slice of fewer rows has no worst place.
SUPPORT = 20


def run(learner: str, way: str, stream: Stream) -> tuple[NDArray[np.float64], float]:
    """Return the probabilities of True, each said before its row was learned, and processor seconds."""
    if LEARNERS[learner].foreign:
        rows, labels = stream.dicts(), stream.labels.tolist()
        model = model_of(learner, way, stream)
        started = time.process_time()
        return run_rows(model, rows, labels, stream), time.process_time() - started
    batches = stream.table.to_batches(max_chunksize=BATCH)
    ends = np.cumsum([batch.num_rows for batch in batches])[:-1]
    labels_of, names_of = np.split(stream.labels, ends), np.split(slice_names(stream), ends)
    # Compiles, or loads what was compiled.
    answer_batch(model_of(learner, way, stream), batches[0].slice(0, 2), labels_of[0][:2], names_of[0][:2], stream)
    model = model_of(learner, way, stream)
    started = time.process_time()
    parts = zip(batches, labels_of, names_of, strict=True)
    answers = np.concatenate([answer_batch(model, X, y, names, stream) for X, y, names in parts])
    return answers, time.process_time() - started


def answer_batch(model: Any, X: Any, y: NDArray[Any], names: NDArray[Any], stream: Stream) -> NDArray[np.float64]:
    """Return what a model says of each row before it learns it, with the row's slice if it takes slices."""
    if not getattr(model, "takes_slices", False):
        return answer(model, X, y, stream)
    return np.asarray(model.answer_learn_many(X, y, slices=names).probabilities, dtype=np.float64)


def slice_names(stream: Stream) -> NDArray[np.object_]:
    """Return the name of the first slice that each row belongs to."""
    names = np.full(len(stream), "others", dtype=object)
    for name, mask in reversed(stream.slices.items()):
        names[mask] = name
    return names


def rare_recall(stream: Stream, answers: NDArray[np.float64], even: NDArray[np.float64]) -> float:
    """Return the share of the rare slice, or of all positives, that is found at uniform replay's own false alarms.

    These are the negative rows to which `even`, the answers of uniform replay, gives a probability above one half.
    """
    positive = stream.labels.astype(bool)
    rare = positive & stream.slices[stream.rare] if stream.rare in stream.slices else positive
    rare = rare if rare.any() else positive
    alarms, negatives = int(np.count_nonzero(even[~positive] > 0.5)), np.sort(answers[~positive])[::-1]
    return float(np.mean(answers[rare] > negatives[alarms])) if alarms < len(negatives) else 1.0


def figures(
    stream: Stream, answers: NDArray[np.float64], seconds: float, even: NDArray[np.float64] | None = None
) -> dict[str, Any]:
    """Return what the answers are worth, and beside those of uniform replay if they are given."""
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
        **({} if even is None else {"rare recall": rare_recall(stream, answers, even)}),
        "slices": slices,
        "rows": len(answers),
        "microseconds a row": 1e6 * seconds / len(answers),
    }
