"""A uniform sample of a stream in bounded memory, with a state that is a few arrays."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Reservoir"]

WORD = 2**64 - 1


class Reservoir:
    """A uniform sample of `capacity` values, without replacement, of all so far (Vitter's algorithm R).

    Row number t draws from a generator that is a hash of the key and t (SplitMix64), so the state is the key and the
    number of rows, and a batch draws what its rows would have drawn one at a time. `seed` fixes the key, and so the
    sample; `None` draws a fresh one.

    Examples
    --------
    >>> from stream_maxloss.metrics.reservoir import Reservoir
    >>> reservoir = Reservoir(capacity=3, seed=1)
    >>> for value in range(100):
    ...     reservoir.push(float(value))
    >>> len(reservoir.values()), reservoir.n_rows
    (3, 100)

    """

    def __init__(self, capacity: int, seed: int | None = None) -> None:
        if isinstance(capacity, bool) or not isinstance(capacity, (int, np.integer)) or capacity < 1:
            raise ValueError(f"capacity must be a whole number of at least 1, got {capacity!r}; it counts rows kept")
        self._key = np.uint64(secrets.randbits(64) if seed is None else seed % 2**64)
        self._values = np.zeros(capacity)
        self.n_rows = 0

    def push(self, value: float) -> None:
        """Take in one value."""
        slot = self.n_rows
        if slot >= self._values.size:
            slot = int(_uniform(int(self._key), self.n_rows) * (self.n_rows + 1.0))
        if slot < self._values.size:
            self._values[slot] = value
        self.n_rows += 1

    def push_many(self, values: NDArray[np.float64]) -> None:
        """Take in values in order."""
        numbers = np.arange(self.n_rows, self.n_rows + values.size, dtype=np.uint64)
        # Row t (from 0) goes to a uniform slot of 0..t; while the sample fills up, simply to slot t.
        slots = np.floor(_uniform(self._key, numbers) * (numbers.astype(np.float64) + 1.0)).astype(np.int64)
        slots = np.where(numbers < self._values.size, numbers.astype(np.int64), slots)
        kept = slots < self._values.size
        # Of two rows of a batch in one slot the later stays: numpy assigns in order.
        self._values[slots[kept]] = values[kept]
        self.n_rows += values.size

    def values(self) -> NDArray[np.float64]:
        """Return a copy of the sample."""
        return self._values[: min(self.n_rows, self._values.size)].copy()

    def state_dict(self) -> dict[str, Any]:
        """Return the sample, the key and the number of rows."""
        return {"values": self.values(), "key": np.array([self._key]), "n_rows": self.n_rows}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Replace the sample, the key and the number of rows."""
        values = np.asarray(state["values"], dtype=np.float64)
        n_rows = int(state["n_rows"])
        if values.size != min(n_rows, self._values.size):
            raise ValueError(
                f"state must hold {min(n_rows, self._values.size)} values, got {values.size}; use the same capacity"
            )
        self._values[: values.size] = values
        self._key = np.uint64(state["key"][0])
        self.n_rows = n_rows


def _uniform(key: Any, numbers: Any) -> Any:
    """Return a number in [0, 1) for a row number, or for each of an array (Steele, Lea and Flood 2014, SplitMix64).

    A single row comes as plain integers: numpy takes twenty times as long for one.
    """
    mixed = (key + (numbers + 1) * 0x9E3779B97F4A7C15) & WORD
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9 & WORD
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB & WORD
    return ((mixed ^ (mixed >> 31)) >> 11) * 2.0**-53
