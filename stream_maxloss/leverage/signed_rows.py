"""A table of labelled rows as the matrix M with M_ij = y_i x_ij."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.machine.compiled import kept

__all__ = ["SignedRows", "read_matrix", "read_signed_rows"]


@dataclass(frozen=True)
class SignedRows:
    """Labelled rows, each multiplied by its sign.

    `matrix` is M, one row an example: a float64 array, or a scipy CSC array where the input was sparse. `names` are
    what to call its columns in messages, `classes` the negative and the positive label as the caller wrote them.
    """

    matrix: Any
    names: list[str]
    classes: NDArray[Any]

    def split_sums(self, weight: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return, for each column j, the sums of weight_i |M_ij| over its positive and over its negative entries."""
        if is_sparse(self.matrix):
            return split_sums_sparse(self.matrix.data, self.matrix.indices, self.matrix.indptr, weight)
        return split_sums(self.matrix, weight)

    def product(self, delta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return M delta, at the price of one column where delta has one entry (a sequential step)."""
        entries = np.flatnonzero(delta)
        if len(entries) != 1:
            return self.matrix @ delta
        column = entries[0]
        if not is_sparse(self.matrix):
            return self.matrix[:, column] * delta[column]
        stored = slice(self.matrix.indptr[column], self.matrix.indptr[column + 1])
        product = np.zeros(self.matrix.shape[0])
        product[self.matrix.indices[stored]] = self.matrix.data[stored] * delta[column]
        return product


def is_sparse(matrix: Any) -> bool:
    """Return whether a value is one of scipy's sparse matrices, without importing scipy."""
    return hasattr(matrix, "tocsc")


def read_signed_rows(X: Any, y: Any, intercept: bool) -> SignedRows:
    """Read a table and its labels, or an object whose `window_rows()` gives both.

    With `intercept`, a last column of ones (times the sign) stands for the constant feature.
    """
    if hasattr(X, "window_rows"):
        if y is not None:
            raise TypeError(f"y must be None for a retained window, got {type(y).__name__}; the window has its labels")
        X, y = X.window_rows()
    if isinstance(y, str):
        X, y = _split_label_column(X, y)
    matrix, names = read_matrix(X)
    signs, classes = read_signs(y, matrix.shape[0])
    matrix = scale_rows(matrix, signs)
    if intercept:
        matrix, names = with_column(matrix, signs), [*names, "intercept"]
    return SignedRows(matrix, names, classes)


def read_matrix(X: Any, names: Sequence[str] | None = None) -> tuple[Any, list[str]]:
    """Read rows as float64, null and NaN as absent (0), and name the columns.

    Parameters
    ----------
    X
        A two-dimensional array, a scipy sparse matrix, an Arrow table or record batch, or a data frame.
    names
        The columns to take, in this order, from a table that names its own.

    """
    matrix, own_names = _as_numbers(X, names)
    if matrix.ndim != 2 or matrix.shape[0] == 0:
        raise ValueError(f"X must be a table of at least one row, got shape {matrix.shape}")
    labels = own_names if own_names is not None else [str(column) for column in range(matrix.shape[1])]
    values = matrix.data if is_sparse(matrix) else matrix
    values[np.isnan(values)] = 0.0
    if not np.isfinite(values).all():
        where = matrix.tocoo() if is_sparse(matrix) else None
        row, column = (
            np.argwhere(np.isinf(matrix))[0]
            if where is None
            else np.column_stack((where.row, where.col))[np.isinf(where.data)][0]
        )
        raise ValueError(f"row {row}: column {labels[column]!r} must be finite, got an infinity; drop or clip the row")
    return matrix, labels


def _as_numbers(X: Any, names: Sequence[str] | None) -> tuple[Any, list[str] | None]:
    if is_sparse(X):
        from scipy import sparse

        # The copy keeps the caller's matrix from being written to when its NaNs become zeros.
        matrix = sparse.csc_array(X, dtype=np.float64, copy=True)
        matrix.sum_duplicates()
        return matrix, None
    if type(X).__module__.startswith("pyarrow"):
        return _arrow_columns(X, names)
    own_names = [str(name) for name in X.columns] if hasattr(X, "columns") else None
    try:
        return np.array(X, dtype=np.float64), own_names
    except (TypeError, ValueError) as error:
        raise TypeError(f"X must be numeric, got {type(X).__name__}: {error}; one-hot encode its categories") from error


def _arrow_columns(table: Any, names: Sequence[str] | None) -> tuple[NDArray[np.float64], list[str]]:
    import pyarrow as pa

    wanted = list(table.schema.names if names is None else names)
    matrix = np.empty((table.num_rows, len(wanted)))
    for position, name in enumerate(wanted):
        if name not in table.schema.names:
            raise ValueError(f"X must have the column {name!r} of the fit, got {table.schema.names}")
        kind = table.schema.field(name).type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            raise TypeError(f"column {name!r} must be numeric or boolean, got {kind}; drop or one-hot encode it")
        matrix[:, position] = table.column(name).cast(pa.float64()).to_numpy(zero_copy_only=False)
    return matrix, wanted


def _split_label_column(table: Any, name: str) -> tuple[Any, Any]:
    if not hasattr(table, "schema") or name not in table.schema.names:
        raise ValueError(f"y must name a column of an Arrow table, got {name!r}; pass the labels themselves")
    return table.select([other for other in table.schema.names if other != name]), table.column(name)


def read_signs(y: Any, rows: int) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Read labels True/False, 1/0 or +1/-1 as signs, with the pair as the caller wrote it."""
    labels = np.asarray(y)
    if labels.shape != (rows,):
        raise ValueError(f"y must hold one label for each of the {rows} rows, got shape {labels.shape}")
    classes = np.array([False, True])
    if labels.dtype != np.bool_:
        classes = np.array([-1, 1]) if np.any(labels == -1) else np.array([0, 1])
    strangers = np.flatnonzero(~((labels == classes[0]) | (labels == classes[1])))
    if len(strangers):
        raise ValueError(
            f"row {strangers[0]}: label must be one of {classes.tolist()} like the others, "
            f"got {labels[strangers[0]]!r}; a fit separates two classes"
        )
    return np.where(labels == classes[1], 1.0, -1.0), classes


def largest_entries(matrix: Any, axis: int) -> NDArray[np.float64]:
    """Return max |M_ij| of each column (axis 0) or row (axis 1)."""
    largest = abs(matrix).max(axis=axis)
    return np.asarray(largest.toarray().ravel() if is_sparse(largest) else largest)


def scale_rows(matrix: Any, factors: NDArray[np.float64]) -> Any:
    """Return the matrix with each row multiplied by its factor."""
    return matrix.multiply(factors[:, None]).tocsc() if is_sparse(matrix) else matrix * factors[:, None]


def with_column(matrix: Any, column: NDArray[np.float64]) -> Any:
    """Return the matrix with one more column, the last."""
    if is_sparse(matrix):
        from scipy import sparse

        return sparse.hstack([matrix, sparse.csc_array(column[:, None])], format="csc")
    return np.column_stack((matrix, column))


@kept()
def split_sums(
    matrix: NDArray[np.float64], weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Do `SignedRows.split_sums` in one pass over a dense matrix; two products with its parts would take two."""
    up, down = np.zeros(matrix.shape[1]), np.zeros(matrix.shape[1])
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            share = weight[i] * matrix[i, j]
            up[j] += max(share, 0.0)
            down[j] += max(-share, 0.0)
    return up, down


@kept()
def split_sums_sparse(
    data: NDArray[np.float64], indices: NDArray[np.int32], indptr: NDArray[np.int32], weight: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Do the same over the columns of a CSC matrix."""
    columns = len(indptr) - 1
    up, down = np.zeros(columns), np.zeros(columns)
    for j in range(columns):
        positive, negative = 0.0, 0.0
        for k in range(indptr[j], indptr[j + 1]):
            share = weight[indices[k]] * data[k]
            positive += max(share, 0.0)
            negative += max(-share, 0.0)
        up[j], down[j] = positive, negative
    return up, down
