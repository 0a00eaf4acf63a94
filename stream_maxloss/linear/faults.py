"""One clear line for a row that a kernel refused."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.errors import RowError
from stream_maxloss.features import FeatureMap, HashedFeatureMap
from stream_maxloss.labels import place_of
from stream_maxloss.linear.sums import INFINITE, OVERFLOW, fault_entry, fault_kind
from stream_maxloss.rows import Rows

__all__ = ["find_fault", "refuse_row", "refuse_value"]


def find_fault(columns: NDArray[np.int64], values: NDArray[np.float64], status: int) -> tuple[int, float]:
    """Return the column and the value that a status speaks of."""
    if fault_kind(status) != OVERFLOW:
        entry = fault_entry(status)
    elif len(values) and not np.isnan(values).all():
        entry = int(np.nanargmax(np.abs(values)))
    else:
        return -1, 0.0  # the constant feature alone
    return int(columns[entry]), float(values[entry])


def feature_name(features: FeatureMap | HashedFeatureMap, column: int) -> Hashable:
    """Return the name of the column of a fault."""
    return features.name_of(column) if column >= 0 else "intercept"


def refuse_value(status: int, name: Hashable, value: float, row: int | None = None) -> ValueError:
    """Return the error for one value, of a row alone or of a row of a batch."""
    what = f"feature {name!r}{place_of(row)}"
    if fault_kind(status) == OVERFLOW:
        reason = f"{what} makes the score overflow, got {value!r}; use Scaler() | model"
    elif np.isinf(value):
        reason = f"{what} must be finite, got {value!r}; clip it or leave it out"
    else:
        reason = f"{what} must lie in [0, 1] for Winnow, got {value!r}; rescale it or use BalancedWinnow"
    return ValueError(reason) if row is None else RowError(row, reason)


def refuse_row(
    rows: Rows, features: FeatureMap | HashedFeatureMap, row: int, status: int, first: int = 0
) -> ValueError:
    """Return the error for a row of a stretch of a frame that begins at row `first`."""
    column, value = find_fault(*row_entries(rows, row), status)
    return refuse_value(status, feature_name(features, column), value, first + row)


def row_entries(rows: Rows, row: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the columns and the values of one row."""
    if rows.indptr is None:
        return rows.columns, rows.values[row]
    part = slice(rows.indptr[row], rows.indptr[row + 1])
    return rows.columns[part], rows.values[part]


def check_rows(stretches: list[Rows], features: FeatureMap | HashedFeatureMap, unit: bool) -> None:
    """Raise the error for the first value that is infinite or, with `unit`, outside Winnow's [0, 1].

    Hashed features may add up to more than 1.
    """
    first = 0
    high = 1.0 if features.grows else np.inf
    for rows in stretches:
        wrong = np.isinf(rows.values)
        if unit:
            wrong |= (rows.values < 0.0) | (rows.values > high)
        if wrong.any():
            if rows.indptr is None:
                row, entry = (int(place[0]) for place in np.nonzero(wrong))
            else:
                place = int(np.argmax(wrong))
                row = int(np.searchsorted(rows.indptr, place, side="right")) - 1
                entry = place - int(rows.indptr[row])
            raise refuse_row(rows, features, row, 4 * (entry + 1) + INFINITE, first)
        first += len(rows)
