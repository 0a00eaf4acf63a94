"""What the stream chose when: the weights of the experts over time, in bounded memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.described import ArrayOf, check_state

__all__ = ["History", "interval_of", "next_entry"]

# Rows between two entries at first; whenever there are so many entries, every second one goes and the interval doubles.
FIRST_INTERVAL = 64
MOST_ENTRIES = 64


def interval_of(rows: int) -> int:
    """Return the rows between two entries once so many rows were learned.

    Examples
    --------
    >>> from stream_maxloss.mixture.history import interval_of
    >>> interval_of(100), interval_of(4095), interval_of(4096), interval_of(1_000_000)
    (64, 64, 128, 16384)

    """
    return FIRST_INTERVAL << (rows // (FIRST_INTERVAL * MOST_ENTRIES)).bit_length()


def next_entry(rows: int) -> int:
    """Return the number of rows after which the next entry is made."""
    interval = interval_of(rows)
    return rows - rows % interval + interval


class History:
    """The weights after every so many rows, at most 64 times: which rows depends on their number alone.

    Examples
    --------
    >>> import numpy as np
    >>> from stream_maxloss.mixture.history import History
    >>> history = History(experts=2)
    >>> for rows in range(64, 4097, 64):
    ...     history.add(rows, np.array([0.5, 0.5]))
    >>> len(history.rows), history.rows[:3]
    (32, [128, 256, 384])

    """

    def __init__(self, experts: int) -> None:
        self.experts = experts
        self.rows: list[int] = []
        self.weights: list[NDArray[np.float64]] = []

    def add(self, rows: int, weights: NDArray[np.float64]) -> None:
        """Make an entry after `rows` rows if one is due, and leave out what has become too fine."""
        interval = interval_of(rows)
        if rows % interval == 0 and rows > 0:
            kept = [k for k, row in enumerate(self.rows) if row % interval == 0]
            self.rows = [*(self.rows[k] for k in kept), rows]
            self.weights = [*(self.weights[k] for k in kept), weights.copy()]

    def state_dict(self) -> dict[str, NDArray[Any]]:
        """Return all entries."""
        weights = np.array(self.weights, dtype=np.float64).reshape(len(self.rows), self.experts)
        return {"rows": np.array(self.rows, dtype=np.int64), "weights": weights}

    def load_state_dict(self, state: Mapping[str, Any], rows: int) -> None:
        """Take over the entries of a model that has learned `rows` rows.

        Raises
        ------
        ValueError
            If they are not those that such a model has.

        """
        expected = {
            "rows": ArrayOf("int64", ("entries",), low=0),
            "weights": ArrayOf("float64", ("entries", self.experts), low=0.0, high=1.0),
        }
        check_state(state, expected)
        interval = interval_of(rows)
        due = list(range(interval, rows + 1, interval))
        given = state["rows"].tolist()
        if given != due:
            raise ValueError(f"history.rows must be every {interval} of {rows} rows, got {given!r:.80}")
        self.rows, self.weights = due, list(np.array(state["weights"], dtype=np.float64))
