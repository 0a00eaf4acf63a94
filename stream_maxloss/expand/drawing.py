"""Which columns tests are drawn from: those whose values spread evenly more often than rare flags."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.random import next_uniform

__all__ = ["draw_place", "evenness"]


def evenness(values: NDArray[np.float32]) -> float:
    """Return the root of the share of rows that do not have the most frequent value.

    Examples
    --------
    >>> import numpy as np
    >>> from stream_maxloss.expand.drawing import evenness
    >>> evenness(np.array([1, 2, 3, 4], dtype=np.float32)) > evenness(np.array([0, 0, 0, 1], dtype=np.float32))
    True

    """
    _, counts = np.unique(values, return_counts=True)
    return float(np.sqrt(1.0 - counts.max() / len(values)))


def draw_place(chances: list[float], generator: Any) -> int:
    """Draw a place in proportion to its chance."""
    heap = np.cumsum(chances)
    return int(np.searchsorted(heap, next_uniform(generator) * heap[-1], side="right").clip(max=len(chances) - 1))
