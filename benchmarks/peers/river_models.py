"""River's models, as its documentation sets them up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.streams.stream import BINARY, CLASSES, NUMBER, Stream

__all__ = ["RIVER", "prepare", "run_rows"]

RIVER = {
    "River linear": "`StandardScaler`, text by `OneHotEncoder`, then `LogisticRegression()`, for more classes "
    "`SoftmaxRegression()`, for numbers `LinearRegression(intercept_lr=.1)`",
    "River HoeffdingTree": "`HoeffdingTreeClassifier()` or `HoeffdingTreeRegressor()`; classifiers take the "
    "rows as they are, regressors stand behind `StandardScaler` and `OneHotEncoder`, as in the documentation",
    "River HoeffdingAdaptiveTree": "`HoeffdingAdaptiveTreeClassifier(seed=1)` or `...Regressor(seed=1)`",
    "River ARF10": "`ARFClassifier(seed=1)` or `ARFRegressor(seed=1)`, 10 trees",
}


def linear(stream: Stream) -> Any:
    """Return a linear model; columns are scaled, text encoded, and counts of words taken as they are."""
    from river import linear_model, preprocessing

    learner = {
        BINARY: linear_model.LogisticRegression,
        CLASSES: linear_model.SoftmaxRegression,
        NUMBER: lambda: linear_model.LinearRegression(intercept_lr=0.1),
    }[stream.kind]()
    return learner if stream.is_sparse else encoded(stream, preprocessing.StandardScaler()) | learner


def encoded(stream: Stream, numbers: Any) -> Any:
    """Return a transformer of numbers beside one that makes a flag of each text."""
    from river import compose, preprocessing

    texts = stream.texts()
    if not texts:
        return numbers
    flags = compose.Select(*texts) | preprocessing.OneHotEncoder()
    names = [name for name in stream.table.column_names if name not in texts]
    return (compose.Select(*names) | numbers) + flags if names else flags


def regressor(stream: Stream, tree: Any) -> Any:
    """Return a tree for numbers, behind a scaler as in its documentation: its leaves hold linear models."""
    from river import preprocessing

    return encoded(stream, preprocessing.StandardScaler()) | tree


def build(system: str, stream: Stream) -> Any:
    """Return a new model for the stream's kind of label."""
    from river import forest, tree

    if system == "River linear":
        return linear(stream)
    if stream.kind == NUMBER:
        trees = {
            "River HoeffdingTree": tree.HoeffdingTreeRegressor,
            "River HoeffdingAdaptiveTree": lambda: tree.HoeffdingAdaptiveTreeRegressor(seed=1),
            "River ARF10": lambda: forest.ARFRegressor(seed=1),
        }
        return regressor(stream, trees[system]())
    return {
        "River HoeffdingTree": tree.HoeffdingTreeClassifier,
        "River HoeffdingAdaptiveTree": lambda: tree.HoeffdingAdaptiveTreeClassifier(seed=1),
        "River ARF10": lambda: forest.ARFClassifier(seed=1),
    }[system]()


def prepare(system: str, stream: Stream) -> Callable[[], NDArray[np.float64]]:
    """Return a run over dicts."""
    rows, labels = stream.dicts(), stream.labels.tolist()
    run_rows(build(system, stream), rows[:10], labels[:10], stream)  # imports what it needs
    return lambda: run_rows(build(system, stream), rows, labels, stream)


def run_rows(model: Any, rows: list[dict[str, Any]], labels: list[Any], stream: Stream) -> NDArray[np.float64]:
    """Return what a River model says of each row before it learns it."""
    if stream.kind == NUMBER:
        numbers = np.empty(len(rows))
        for row, (x, y) in enumerate(zip(rows, labels, strict=True)):
            numbers[row] = model.predict_one(x) or 0.0
            model.learn_one(x, y)
        return numbers
    # A model knows no class before it has seen it: its probability is 0; of nothing known, all are equal.
    places = {name: place for place, name in enumerate(stream.classes)}
    shares = np.zeros((len(rows), len(places)))
    for row, (x, y) in enumerate(zip(rows, labels, strict=True)):
        for name, share in model.predict_proba_one(x).items():
            if name in places:
                shares[row, places[name]] = share
        model.learn_one(x, y)
    return shares[:, 1] + 0.5 * (shares.sum(axis=1) <= 0.0) if stream.kind == BINARY else shares
