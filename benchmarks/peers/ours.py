"""Our learners with their defaults, `auto`, and whatever a factory of yours returns."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.river_models import run_rows
from benchmarks.streams.stream import BINARY, CLASSES, NUMBER, Stream

__all__ = ["BATCH", "OURS", "prepare"]

BATCH = 1000
OURS: dict[str, tuple[str, tuple[str, ...]]] = {
    "auto": ("`AutoClassifier(seed=1)` or `AutoRegressor(seed=1)`, nothing else chosen", (BINARY, CLASSES, NUMBER)),
    "LLD": ("`Scaler() | LLD()`", (BINARY,)),
    "HingeOGD": ("`Scaler() | HingeOGD()`", (BINARY,)),
    "HingeOGD focused": ("`Scaler() | FocusedClassifier(HingeOGD())`", (BINARY,)),
    "HingeOGD uniform": ("`Scaler() | FocusedClassifier(HingeOGD(), gamma=1)`: uniform replay", (BINARY,)),
    "AbsoluteOGD": ("`Scaler() | AbsoluteOGD()`", (NUMBER,)),
    "AbsoluteOGD focused": ("`Scaler() | FocusedRegressor(AbsoluteOGD())`", (NUMBER,)),
}


def build(system: str, stream: Stream) -> Any:
    """Return a new model. A name with a colon is a factory: `module:callable`, called without arguments.

    Raises
    ------
    ImportError
        If this version of the library has no `auto`, or the factory's module is not there.

    """
    if ":" in system:
        module, _, name = system.partition(":")
        return getattr(importlib.import_module(module), name)()
    if system == "auto":
        name = "AutoRegressor" if stream.kind == NUMBER else "AutoClassifier"
        model = getattr(importlib.import_module("stream_maxloss.mixture"), name, None)
        if model is None:
            raise ImportError(f"stream_maxloss.mixture has no {name}")
        return model(seed=1)
    from stream_maxloss import linear
    from stream_maxloss.focus import FocusedClassifier, FocusedRegressor

    name, _, focus = system.partition(" ")
    learner = getattr(linear, name)()
    if focus:
        focused = FocusedRegressor if stream.kind == NUMBER else FocusedClassifier
        learner = focused(learner, gamma=1.0 if focus == "uniform" else 0.5, seed=1)
    # Counts of words are taken as they are by every system.
    return learner if stream.is_sparse else linear.Scaler() | learner


def prepare(system: str, stream: Stream) -> Callable[[], NDArray[np.float64]]:
    """Return a run over Arrow record batches, or row by row for a model that has no other way."""
    if not runs_batches(build(system, stream)):
        rows, labels = stream.dicts(), stream.labels.tolist()
        return lambda: run_rows(build(system, stream), rows, labels, stream)
    batches = stream.table.to_batches(max_chunksize=BATCH)
    ends = np.cumsum([batch.num_rows for batch in batches])
    labels_of = np.split(stream.labels, ends[:-1])
    # Compiles, or loads what was compiled: that belongs to no run.
    answer(build(system, stream), batches[0], labels_of[0], stream)

    def run() -> NDArray[np.float64]:
        model = build(system, stream)
        return np.concatenate([answer(model, X, y, stream) for X, y in zip(batches, labels_of, strict=True)])

    return run


def runs_batches(model: Any) -> bool:
    """Return whether a model predicts and learns whole batches."""
    if hasattr(model, "answer_learn_many"):
        return True
    from stream_maxloss.evaluate import Engine

    return bool(Engine(model).is_native)


def answer(model: Any, X: Any, y: NDArray[Any], stream: Stream) -> NDArray[np.float64]:
    """Return what a model says of each row of a batch before it learns it."""
    if not hasattr(model, "answer_learn_many"):
        from stream_maxloss.evaluate import Engine

        scored = Engine(model).learn(X, y)
        return np.asarray(scored.y_pred if scored.probabilities is None else scored.probabilities, dtype=np.float64)
    said = model.answer_learn_many(X, y)
    if stream.kind == NUMBER:
        return np.asarray(said.labels, dtype=np.float64)
    if stream.kind == BINARY:
        return np.asarray(said.probabilities, dtype=np.float64)
    shares = np.zeros((len(y), len(stream.classes)))
    columns = [stream.classes.index(str(name)) for name in said.classes]
    shares[:, columns] = said.probabilities
    return shares
