"""Sparse rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.data import sparse_rows
from benchmarks.point import OURS, Point

TITLE = "Sparse rows"
INCLUDED = (
    "rcv1_small (1,500 rows, 78 of 47,117 features each; seeded rows of that shape where the data set is absent) as "
    "one Arrow record batch with a column of type `map<int32, double>`, learned by `learn_many`: decoding the map, "
    "looking up every feature and checking every value is included. scikit-learn's `partial_fit` (the same Perceptron "
    "as above) takes a ready-made CSR matrix."
)
AXIS = None


def points(quick: bool) -> list[Point]:
    """Return the only point."""
    return [Point("rcv1", "rcv1_small", (OURS, "scikit-learn"), {}, targets={"scikit-learn": 1.0})]


def as_map_batch(X: Any) -> Any:
    """Return CSR rows as a record batch with one column of maps."""
    import pyarrow as pa

    kind = pa.map_(pa.int32(), pa.float64())
    offsets = pa.array(X.indptr.astype(np.int32))
    keys, items = pa.array(X.indices.astype(np.int32)), pa.array(X.data.astype(np.float64))
    column = pa.MapArray.from_arrays(offsets, keys, items).cast(kind)
    return pa.RecordBatch.from_arrays([column], names=["words"])


def prepare(system: str, settings: dict[str, Any]) -> Callable[[], int]:
    """Return a pass over all rows."""
    X, y, _ = sparse_rows()
    model: Any
    if system == OURS:
        from stream_maxloss.linear import Perceptron

        batch, model = as_map_batch(X), Perceptron()

        def learn() -> int:
            model.learn_many(batch, y)
            return len(y)

        return learn
    from sklearn.linear_model import SGDClassifier

    model, labels = SGDClassifier(loss="perceptron", learning_rate="constant", eta0=1.0, penalty=None), y.astype(int)

    def work() -> int:
        model.partial_fit(X, labels, classes=[0, 1])
        return len(labels)

    return work
