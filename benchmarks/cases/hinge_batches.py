"""Many rows at a time, like for like with scikit-learn: the same loss, step, order and batches, with real updates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.data import BATCH, as_batches, dense_rows
from benchmarks.point import OURS, Point

TITLE = "Hinge loss in batches, like for like"
LR = 0.01
INCLUDED = (
    f'`HingeOGD(lr={LR}, schedule="constant").learn_many` takes Arrow record batches of float64 columns with Arrow '
    "labels: turning columns into rows and checking every value and label is included. scikit-learn's "
    f'`SGDClassifier(loss="hinge", learning_rate="constant", eta0={LR}, penalty=None, shuffle=False).partial_fit` '
    "takes the same rows in the same batches as C-ordered numpy matrices, ready made, with integer labels. A tenth of "
    "the labels is wrong, so that about one row in four is within the margin and changes the weights. `one pass` is "
    "`numpy.sum` over the same matrices, one pass over the numbers with next to no work: how far the memory lets "
    "anyone go."
)
AXIS = "features"
TARGETS = {5: 5.0, 20: 5.0, 100: None, 500: 1.8}
LENGTHS = {"1k": 1024, "16k": BATCH, "all": None}
SCIKIT_LEARN, ONE_PASS = "scikit-learn", "one pass"


def points(quick: bool) -> list[Point]:
    """Return one point for each number of features and length of a batch; targets are for the usual length."""
    found = []
    for features, target in TARGETS.items():
        for name, length in LENGTHS.items():
            if quick and (features, name) != (20, "16k"):
                continue
            settings = {"features": features, "rows": BATCH * (1 if quick or features > 100 else 4), "length": length}
            targets = {SCIKIT_LEARN: target} if name == "16k" and target is not None else {}
            label = f"{features} features, batches of {name}" if length else f"{features} features, all rows at once"
            found.append(Point(f"{features}-{name}", label, (OURS, SCIKIT_LEARN, ONE_PASS), settings, targets=targets))
    return found


def prepare(system: str, settings: dict[str, Any]) -> Callable[[], int]:
    """Return a pass over the batches."""
    rows = settings["rows"]
    X, y = dense_rows(rows, settings["features"])
    length = settings["length"] or rows
    if system == OURS:
        return prepare_ours(as_batches(X, y, length), rows)
    return prepare_matrices(system, X, y, length)


def prepare_ours(batches: list[tuple[Any, Any]], rows: int) -> Callable[[], int]:
    """Return a pass of ours."""
    from stream_maxloss.linear import HingeOGD

    model = HingeOGD(lr=LR, schedule="constant")

    def work() -> int:
        for batch, labels in batches:
            model.learn_many(batch, labels)
        return rows

    return work


def prepare_matrices(system: str, X: Any, y: Any, length: int) -> Callable[[], int]:
    """Return a pass over numpy matrices, of scikit-learn or of `numpy.sum`."""
    import numpy as np
    from sklearn.linear_model import SGDClassifier

    labels = y.astype(np.int64)
    parts = [
        (np.ascontiguousarray(X[first : first + length]), labels[first : first + length])
        for first in range(0, len(y), length)
    ]
    model = SGDClassifier(loss="hinge", learning_rate="constant", eta0=LR, penalty=None, shuffle=False)

    def learn() -> int:
        for rows, signs in parts:
            model.partial_fit(rows, signs, classes=[0, 1])
        return len(y)

    def read() -> int:
        for rows, _ in parts:
            rows.sum()
        return len(y)

    return learn if system == SCIKIT_LEARN else read
