"""One clear line for a row that a kernel refused."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.features import FeatureMap, HashedFeatureMap
from stream_maxloss.linear.scoring import OVERFLOW, fault_entry, fault_kind
from stream_maxloss.rows import Rows

__all__ = ["find_fault", "refuse_row", "refuse_value"]


def find_fault(columns: NDArray[np.int64], values: NDArray[np.float64], status: int) -> tuple[int, float]:
    """Return the column and the value that a status speaks of."""
    entry = fault_entry(status) if fault_kind(status) != OVERFLOW else int(np.argmax(np.abs(values)))
    return int(columns[entry]), float(values[entry])


def refuse_value(status: int, name: Hashable, value: float, place: str = "") -> ValueError:
    """Return the error for one value."""
    if fault_kind(status) == OVERFLOW:
        return ValueError(f"feature {name!r}{place} makes the score overflow, got {value!r}; use Scaler() | model")
    if np.isinf(value):
        return ValueError(f"feature {name!r}{place} must be finite, got {value!r}; clip it or leave it out")
    return ValueError(
        f"feature {name!r}{place} must lie in [0, 1] for Winnow, got {value!r}; rescale it or use BalancedWinnow"
    )


def refuse_row(rows: Rows, features: FeatureMap | HashedFeatureMap, row: int, status: int) -> ValueError:
    """Return the error for a row of a frame; with status 0 the first value that is infinite or outside [0, 1]."""
    if rows.indptr is None:
        columns, values = rows.columns, rows.values[row]
    else:
        part = slice(rows.indptr[row], rows.indptr[row + 1])
        columns, values = rows.columns[part], rows.values[part]
    if status:
        column, value = find_fault(columns, values, status)
    else:
        entry = int(np.argmax(~((values >= 0.0) & (values <= 1.0)) & ~np.isnan(values)))
        infinite = np.isinf(values)
        entry = int(np.argmax(infinite)) if infinite.any() else entry
        column, value = int(columns[entry]), float(values[entry])
    return refuse_value(status or 1, features.name_of(column), value, f" of row {row}")
