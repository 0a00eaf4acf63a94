"""Thresholds between the values of a column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["edges_of"]


def edges_of(values: NDArray[np.float32], most: int) -> NDArray[np.float32]:
    """Return ascending thresholds that cut a column into about equal parts.

    A threshold lies half-way between two neighbouring values of the sample. With at most `most` different values there
    is one between any two of them. If some values are absent (minus infinity), the first lies below all values, so that
    `x > threshold` tells whether x is present.

    Parameters
    ----------
    values
        A sample of the column.
    most
        The largest number of thresholds.

    Examples
    --------
    >>> import numpy as np
    >>> from stream_maxloss.expand.edges import edges_of
    >>> edges_of(np.array([1, 1, 2, 4, 4], dtype=np.float32), most=10)
    array([1.5, 3. ], dtype=float32)
    >>> edges_of(np.array([1, -np.inf, 1], dtype=np.float32), most=10)
    array([-1.], dtype=float32)

    """
    present = values[np.isfinite(values)]
    if len(present) == 0:
        return np.empty(0, dtype=np.float32)
    different = np.unique(present)
    between = ((different[1:].astype(np.float64) + different[:-1]) / 2.0).astype(np.float32)
    # Rounding may put a threshold onto the upper value, which would then fall below it.
    between = np.minimum(between, np.nextafter(different[1:], np.float32(-np.inf)))
    is_sometimes_absent = len(present) < len(values)
    room = most - is_sometimes_absent
    if len(between) > room:
        quantiles = np.quantile(present, np.linspace(0.0, 1.0, room + 2)[1:-1], method="lower")
        after = np.unique(np.searchsorted(different, np.unique(quantiles)))
        between = between[after[after < len(between)]]
    if is_sometimes_absent:
        lowest = different[0] - np.float32(1.0) - np.abs(different[0])
        between = np.concatenate([[lowest], between])
    edges: NDArray[np.float32] = np.unique(between.astype(np.float32))[:most]
    return edges
