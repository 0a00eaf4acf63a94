"""The Perceptron run over a table until it is right on every row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.leverage.linear_fit import LinearFit
from stream_maxloss.leverage.separator import shortest_separator
from stream_maxloss.leverage.signed_rows import is_sparse, read_signed_rows
from stream_maxloss.machine.compiled import kept

__all__ = ["BatchPerceptron", "perceptron_bound"]


class BatchPerceptron(LinearFit):
    """The batch Perceptron: while some row has y_i <w, x_i> <= 0, add y_i x_i to w.

    On separable rows it ends after at most (R B)^2 updates, R the length of the longest row and B that of the
    shortest w with y_i <w, x_i> >= 1 for all i (Kesselheim, *Efficient Empirical Risk Minimization*,
    Theorem 25.1). Which wrong row comes first is free; ours go round the table in order.

    The `Perceptron` of `stream_maxloss.linear` sees each row once, and also after row m.

    Parameters
    ----------
    max_updates
        Give up after so many updates, as must be on rows that are not separable. `converged` tells.
    intercept
        Add a constant feature, which counts in R and B.

    Notes
    -----
    After `fit`: `coefficients`, `bias`, `updates`, `converged`. `perceptron_bound` computes (R B)^2.

    Examples
    --------
    >>> import numpy as np
    >>> from stream_maxloss.leverage import BatchPerceptron, perceptron_bound
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 3))
    >>> y = X @ [1, 2, -1] > 0
    >>> fit = BatchPerceptron().fit(X, y)
    >>> fit.converged, bool((fit.predict(X) == y).all()), fit.updates, int(perceptron_bound(X, y))
    (True, True, 4, 687)

    """

    def __init__(self, max_updates: int = 1_000_000, intercept: bool = False) -> None:
        super().__init__(intercept)
        if max_updates < 0:
            raise ValueError(f"max_updates must not be negative, got {max_updates!r}")
        self.max_updates = max_updates
        self.updates = 0
        self.converged = False

    def fit(self, X: Any, y: Any = None) -> BatchPerceptron:
        """Fit to a table and its labels, or to a model's retained window."""
        matrix = self._read(X, y).matrix
        solution = np.zeros(matrix.shape[1])
        if is_sparse(matrix):
            compressed = matrix.tocsr()
            parts = compressed.data, compressed.indices, compressed.indptr
            self.updates, self.converged = go_round_sparse(*parts, solution, self.max_updates)
        else:
            self.updates, self.converged = go_round(np.ascontiguousarray(matrix), solution, self.max_updates)
        self._solution = solution
        return self


def perceptron_bound(X: Any, y: Any = None, intercept: bool = False) -> float:
    """Return (R B)^2, the most updates a batch Perceptron can need on these rows.

    Raises
    ------
    ValueError
        When the rows are not separable: there is no bound.

    """
    matrix = read_signed_rows(X, y, intercept).matrix
    longest = np.asarray((matrix * matrix).sum(axis=1)).max()
    return float(longest * np.sum(shortest_separator(X, y, intercept) ** 2))


@kept()
def go_round(matrix: NDArray[np.float64], w: NDArray[np.float64], max_updates: int) -> tuple[int, bool]:
    """Go round the rows, adding each that has no positive product with w, until a round is clean."""
    updates = 0
    clean = False
    while not clean:
        clean = True
        for i in range(matrix.shape[0]):
            product = 0.0
            for j in range(matrix.shape[1]):
                product += matrix[i, j] * w[j]
            if product <= 0.0:
                if updates == max_updates:
                    return updates, False
                for j in range(matrix.shape[1]):
                    w[j] += matrix[i, j]
                updates += 1
                clean = False
    return updates, True


@kept()
def go_round_sparse(
    data: NDArray[np.float64],
    indices: NDArray[np.int32],
    indptr: NDArray[np.int32],
    w: NDArray[np.float64],
    max_updates: int,
) -> tuple[int, bool]:
    """Do the same over the rows of a CSR matrix."""
    updates = 0
    clean = False
    while not clean:
        clean = True
        for i in range(len(indptr) - 1):
            product = 0.0
            for k in range(indptr[i], indptr[i + 1]):
                product += data[k] * w[indices[k]]
            if product <= 0.0:
                if updates == max_updates:
                    return updates, False
                for k in range(indptr[i], indptr[i + 1]):
                    w[indices[k]] += data[k]
                updates += 1
                clean = False
    return updates, True
