"""scikit-learn's SGDClassifier by partial_fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.scores import sigmoid
from benchmarks.streams import Stream

__all__ = ["BATCH", "SCIKIT", "prepare"]

BATCH = 100
SCIKIT = {
    "scikit-learn SGD hinge": "`StandardScaler` and `SGDClassifier()`, each by `partial_fit`",
    "scikit-learn SGD logistic": '`StandardScaler` and `SGDClassifier(loss="log_loss")`, each by `partial_fit`',
}


def matrix(stream: Stream) -> Any:
    """Return the rows with text one-hot: partial_fit needs all columns declared before the first row."""
    from sklearn.feature_extraction import DictVectorizer

    return DictVectorizer(sparse=stream.is_sparse).fit_transform(stream.dicts())


def prepare(system: str, stream: Stream) -> Callable[[], NDArray[np.float64]]:
    """Return a run in small batches: a batch is predicted by the model as of the one before, then learned."""
    from sklearn.linear_model import SGDClassifier
    from sklearn.preprocessing import StandardScaler

    X, y = matrix(stream), stream.labels
    scaled = not stream.is_sparse
    loss = "hinge" if system.endswith("hinge") else "log_loss"

    def run() -> NDArray[np.float64]:
        scaler, model = StandardScaler(with_mean=scaled, with_std=scaled), SGDClassifier(loss=loss, random_state=1)
        scores = [np.zeros(min(BATCH, len(y)))]
        for first in range(0, len(y), BATCH):
            part = X[first : first + BATCH]
            if first:
                scores.append(model.decision_function(scaler.transform(part)))
            scaler.partial_fit(part)
            model.partial_fit(scaler.transform(part), y[first : first + BATCH], classes=[False, True])
        return sigmoid(np.concatenate(scores))

    return run
