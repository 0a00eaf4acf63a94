"""What every fit of a linear classifier to a table shares: reading rows, scores and labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.leverage.signed_rows import SignedRows, read_matrix, read_signed_rows

__all__ = ["LinearFit"]


class LinearFit:
    """A linear classifier sign(<coefficients, x> + bias), positive at 0, that is fitted to a table at once."""

    def __init__(self, intercept: bool) -> None:
        self.intercept = intercept
        self._names: list[str] = []
        self._classes: NDArray[Any] = np.array([False, True])
        self._solution: NDArray[np.float64] | None = None

    @property
    def coefficients(self) -> NDArray[np.float64]:
        """The weight of each column."""
        solution = self._fitted()
        return solution[:-1] if self.intercept else solution

    @property
    def bias(self) -> float:
        """The weight of the constant feature; 0 without `intercept`."""
        return float(self._fitted()[-1]) if self.intercept else 0.0

    @property
    def names(self) -> list[str]:
        """What the columns are called: their names in an Arrow table, their positions otherwise."""
        return self._names[:-1] if self.intercept else self._names

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the score of each row; an Arrow table is read by the column names of the fit."""
        solution = self._fitted()
        matrix, _ = read_matrix(X, self.names)
        if matrix.shape[1] != len(self.names):
            raise ValueError(f"X must have the {len(self.names)} columns of the fit, got {matrix.shape[1]}")
        return np.asarray(matrix @ solution[: len(self.names)]) + self.bias

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of each row, written as the labels of the fit were."""
        return self._classes[(self.decision_function(X) >= 0.0).astype(np.intp)]

    def _read(self, X: Any, y: Any) -> SignedRows:
        rows = read_signed_rows(X, y, self.intercept)
        self._names, self._classes = rows.names, rows.classes
        return rows

    def _fitted(self) -> NDArray[np.float64]:
        if self._solution is None:
            raise ValueError(f"{type(self).__name__} must have a solution first, got none; call fit")
        return self._solution
