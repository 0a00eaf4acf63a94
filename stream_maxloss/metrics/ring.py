"""The last rows of a stream as two arrays: a value and a weight each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Ring"]


class Ring:
    """The last `capacity` values with their weights, oldest first on reading; 16 bytes each, taken at once.

    Examples
    --------
    >>> from stream_maxloss.metrics.ring import Ring
    >>> ring = Ring(2)
    >>> for value in (1.0, 2.0, 3.0):
    ...     ring.push(value)
    >>> ring.values()
    array([2., 3.])

    """

    def __init__(self, capacity: int) -> None:
        if isinstance(capacity, bool) or not isinstance(capacity, (int, np.integer)) or capacity < 1:
            raise ValueError(f"window_size must be a whole number of at least 1, got {capacity!r}; it counts rows")
        self._values = np.zeros(capacity)
        self._weights = np.zeros(capacity)
        self._next = 0
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def push(self, value: float, weight: float = 1.0) -> None:
        """Add one row; the oldest leaves when the ring is full."""
        self._values[self._next] = value
        self._weights[self._next] = weight
        self._next = (self._next + 1) % self._values.size
        self._count = min(self._count + 1, self._values.size)

    def push_many(self, values: NDArray[np.float64], weights: NDArray[np.float64] | None = None) -> None:
        """Add rows in order; without weights all are 1."""
        capacity = self._values.size
        kept = min(values.size, capacity)
        if kept == 0:
            return
        slots = (self._next + values.size - kept + np.arange(kept)) % capacity
        self._values[slots] = values[-kept:]
        self._weights[slots] = 1.0 if weights is None else weights[-kept:]
        self._next = (self._next + values.size) % capacity
        self._count = min(self._count + values.size, capacity)

    def values(self) -> NDArray[np.float64]:
        """Return the values, oldest first."""
        return self._values[self._slots()]

    def weights(self) -> NDArray[np.float64]:
        """Return the weights, oldest first."""
        return self._weights[self._slots()]

    def state_dict(self) -> dict[str, Any]:
        """Return the rows, oldest first."""
        return {"values": self.values(), "weights": self.weights()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Replace the rows."""
        values = np.asarray(state["values"], dtype=np.float64)
        weights = np.asarray(state["weights"], dtype=np.float64)
        if values.size > self._values.size:
            raise ValueError(
                f"state must hold at most {self._values.size} rows, got {values.size}; use the same window_size"
            )
        self._next = self._count = 0
        self.push_many(values, weights)

    def _slots(self) -> NDArray[np.int64]:
        return (self._next - self._count + np.arange(self._count)) % self._values.size
