"""scikit-learn's SGDClassifier by partial_fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.scores import sigmoid
from benchmarks.quality.streams import Stream

__all__ = ["BATCH", "SCIKIT", "prepare"]

BATCH = 100
SCIKIT = {
    "scikit-learn SGD hinge": "`StandardScaler` and `SGDClassifier()`, each by `partial_fit`",
    "scikit-learn SGD logistic": '`StandardScaler` and `SGDClassifier(loss="log_loss")`, each by `partial_fit`',
}


def matrix(stream: Stream) -> NDArray[np.float64]:
    """Return the rows with text one-hot: partial_fit needs all columns declared before the first row."""
    columns: list[Any] = []
    for name in stream.table.column_names:
        values = np.asarray(stream.table[name])
        if values.dtype == np.float64:
            columns.append(values)
        else:
            columns += [(values == value).astype(np.float64) for value in np.unique(values.astype(str))]
    return np.column_stack(columns)


def prepare(system: str, stream: Stream) -> Callable[[], NDArray[np.float64]]:
    """Return a run in small batches: a batch is predicted by the model as of the one before, then learned."""
    from sklearn.linear_model import SGDClassifier
    from sklearn.preprocessing import StandardScaler

    X, y = np.ascontiguousarray(matrix(stream)), stream.labels
    loss = "hinge" if system.endswith("hinge") else "log_loss"

    def run() -> NDArray[np.float64]:
        scaler, model = StandardScaler(), SGDClassifier(loss=loss, random_state=1)
        scores = [np.zeros(min(BATCH, len(y)))]
        for first in range(0, len(y), BATCH):
            part = X[first : first + BATCH]
            if first:
                scores.append(model.decision_function(scaler.transform(part)))
            scaler.partial_fit(part)
            model.partial_fit(scaler.transform(part), y[first : first + BATCH], classes=[False, True])
        return sigmoid(np.concatenate(scores))

    return run
