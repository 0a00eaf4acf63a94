"""The leaves of ferns, in one pass over the tested values of many rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.expand.entries import Entry
from stream_maxloss.machine.compiled import compiled

__all__ = ["find_leaves", "tested_values"]


def tested_values(entries: Iterable[Entry], places: dict[Any, int], rows: int) -> NDArray[np.float64]:
    """Return (rows, tested features) values, minus infinity where a row does not have one."""
    values = np.full((rows, len(places)), -np.inf)
    for name, present, found in entries:
        place = places.get(name)
        if place is not None:
            values[present, place] = found
    return values


@compiled
def find_leaves(values: Any, places: Any, thresholds: Any, leaves: Any) -> None:
    """Write the leaf of each row in each fern: one bit for each test x > threshold, the first the highest.

    Parameters
    ----------
    values
        (rows, tested features) as `tested_values` returns them.
    places, thresholds
        (ferns, depth) which feature each test looks at, and what it must exceed.
    leaves
        (rows, ferns) room for the leaves, two bytes each.

    """
    for i in range(values.shape[0]):
        for fern in range(places.shape[0]):
            leaf = 0
            for d in range(places.shape[1]):
                leaf = 2 * leaf + (values[i, places[fern, d]] > thresholds[fern, d])
            leaves[i, fern] = leaf
