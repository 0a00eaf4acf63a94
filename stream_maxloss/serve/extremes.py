"""Numbers that no running mean survives."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

__all__ = ["find_extremes"]

LARGEST = 1e140
"""The sum of the squares of a hundred million such numbers is still one."""


def find_extremes(X: pa.RecordBatch) -> dict[int, str]:
    """Return the rows with a number so large that a model which learns it could not be saved any more, and why.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.serve.extremes import find_extremes
    >>> find_extremes(pa.RecordBatch.from_pydict({"x": [1.0, -1e300, None]}))
    {1: "feature 'x' must lie within 1e+140 of 0, got -1e+300"}

    """
    found: dict[int, str] = {}
    for name, column in zip(X.schema.names, X.columns, strict=True):
        if not pa.types.is_floating(column.type):
            continue
        values = column.to_numpy(zero_copy_only=False)
        # Not of absolute values, which would be a copy of each column; fmin and fmax pass over NaN.
        if np.fmin.reduce(values, initial=0.0) >= -LARGEST and np.fmax.reduce(values, initial=0.0) <= LARGEST:
            continue
        for row in np.flatnonzero((np.abs(values) > LARGEST) & np.isfinite(values)).tolist():
            found.setdefault(row, f"feature {name!r} must lie within {LARGEST:g} of 0, got {values[row]:g}")
    return found
