"""Many rows at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.data import BATCH, as_batches, as_dicts, dense_rows
from benchmarks.point import OURS, Point

TITLE = "Batches of 16,384 dense rows"
INCLUDED = (
    "`learn_many` of our Perceptron takes Arrow record batches of float64 columns with Arrow labels: turning columns "
    "into rows and checking every value and label is included. scikit-learn's "
    '`SGDClassifier(loss="perceptron", learning_rate="constant", eta0=1, penalty=None, shuffle=False).partial_fit` '
    "takes the same rows as a C-ordered numpy matrix, ready made, with integer labels. River's Perceptron learns the "
    "same rows as ready-made dicts, one `learn_one` each. The targets against scikit-learn stand at the hinge loss, "
    "where both do the same updates."
)
AXIS = "features"
FEATURES = (5, 20, 100, 500)


def points(quick: bool) -> list[Point]:
    """Return one point per number of features."""
    found = []
    for features in FEATURES:
        if quick and features != 20:
            continue
        settings = {"features": features, "batches": 1 if quick or features > 100 else 4}
        label = f"{features} features"
        found.append(Point(str(features), label, (OURS, "scikit-learn", "river"), settings, targets={"river": 100.0}))
    return found


def prepare(system: str, settings: dict[str, Any]) -> Callable[[], int]:
    """Return a pass over the batches; River passes over fewer rows, at the same cost a row."""
    features, rows = settings["features"], settings["batches"] * BATCH
    X, y = dense_rows(rows, features)
    if system == "scikit-learn":
        return prepare_scikit_learn(X, y)
    if system == "river":
        return prepare_river(X, y, max(100, 4000 // features))
    from stream_maxloss.linear import Perceptron

    model = Perceptron()
    batches = as_batches(X, y)

    def work() -> int:
        for batch, labels in batches:
            model.learn_many(batch, labels)
        return rows

    return work


def prepare_scikit_learn(X: Any, y: Any) -> Callable[[], int]:
    """Return a pass of scikit-learn, batch by batch."""
    import numpy as np
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(loss="perceptron", learning_rate="constant", eta0=1.0, penalty=None, shuffle=False)
    labels = y.astype(np.int64)
    parts = [
        (np.ascontiguousarray(X[first : first + BATCH]), labels[first : first + BATCH])
        for first in range(0, len(y), BATCH)
    ]

    def work() -> int:
        for rows, signs in parts:
            model.partial_fit(rows, signs, classes=[0, 1])
        return len(y)

    return work


def prepare_river(X: Any, y: Any, rows: int) -> Callable[[], int]:
    """Return a pass of River's Perceptron over the first rows."""
    from river import linear_model

    model = linear_model.Perceptron()
    stream = as_dicts(X[:rows], y[:rows])

    def work() -> int:
        for x, label in stream:
            model.learn_one(x, label)
        return rows

    return work
