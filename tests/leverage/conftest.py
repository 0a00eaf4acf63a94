"""Tables to fit, from the seed alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest


def make_table(seed, rows=60, columns=5, noise=0.15, kind="dense"):
    """Gaussian (or 0/1, or sparse) rows with the labels of a random hyperplane, some of them flipped."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) * np.exp(rng.normal(size=columns))
    if kind == "binary":
        X = (rng.random((rows, columns)) < 0.3).astype(float)
    y = X @ rng.normal(size=columns) > 0
    y ^= rng.random(rows) < noise
    if kind == "sparse":
        from scipy import sparse

        return sparse.csr_array(X * (rng.random((rows, columns)) < 0.4)), y
    return X, y


@pytest.fixture(scope="session")
def table() -> Callable:
    return make_table
