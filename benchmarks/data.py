"""The rows that all systems see: made from a seed, or real where the data sets are at hand."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BATCH", "as_batches", "as_dicts", "dense_rows", "find_data", "read_svmlight", "sparse_rows"]

BATCH = 16_384
SEED = 7


def dense_rows(rows: int, features: int, seed: int = SEED) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return standard normal rows, labelled by a hidden plane with noise: about a tenth of the labels is wrong."""
    generator = np.random.default_rng(seed)
    X = generator.standard_normal((rows, features))
    plane = generator.standard_normal(features)
    noise = 0.3 * np.sqrt(features) * generator.standard_normal(rows)
    return X, X @ plane + noise > 0.0


def as_dicts(X: NDArray[np.float64], y: NDArray[np.bool_]) -> list[tuple[dict[str, float], bool]]:
    """Return the rows as River takes them."""
    names = [f"feature_{j}" for j in range(X.shape[1])]
    return [(dict(zip(names, row, strict=True)), label) for row, label in zip(X.tolist(), y.tolist(), strict=True)]


def as_batches(X: NDArray[np.float64], y: NDArray[np.bool_], length: int = BATCH) -> list[tuple[Any, Any]]:
    """Return the rows as Arrow record batches, each with its labels."""
    import pyarrow as pa

    batches = []
    for first in range(0, len(X), length):
        part = X[first : first + length]
        columns = {f"feature_{j}": np.ascontiguousarray(part[:, j]) for j in range(X.shape[1])}
        batches.append((pa.record_batch(columns), pa.array(y[first : first + length])))
    return batches


def find_data() -> Path | None:
    """Return the folder of real data sets: $STREAM_MAXLOSS_DATA, or ../shared/data beside the project."""
    beside = Path(__file__).resolve().parent.parent.parent / "shared" / "data"
    folder = Path(os.environ.get("STREAM_MAXLOSS_DATA", beside))
    return folder if folder.is_dir() else None


def sparse_rows(rows: int = 1500, features: int = 47_117, entries: int = 78) -> tuple[Any, NDArray[np.bool_], str]:
    """Return CSR rows, labels and the source's name: rcv1_small, or seeded rows of its shape where it is absent."""
    folder = find_data()
    path = folder / "rcv1_small" / "rcv1_small.svm.gz" if folder else None
    if path is not None and path.is_file():
        X, y = read_svmlight(path)
        return X, y, "rcv1_small"
    from scipy import sparse

    generator = np.random.default_rng(SEED)
    # Words come by Zipf's law: the square of a uniform number makes low columns common.
    columns = (features * generator.random((rows, entries)) ** 4).astype(np.int64)
    indptr = np.arange(0, rows * entries + 1, entries)
    X = sparse.csr_matrix((generator.random(rows * entries), columns.ravel(), indptr), shape=(rows, features))
    X.sum_duplicates()
    return X, np.asarray(X @ generator.standard_normal(features) > 0.0), "seeded rows of the shape of rcv1_small"


def read_svmlight(path: Path) -> tuple[Any, NDArray[np.bool_]]:
    """Return rows and labels of an svmlight file."""
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(str(path))
    # scikit-learn's own learners refuse the 64-bit indices that its reader makes.
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y > 0.0
