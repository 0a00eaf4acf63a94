"""The labels and sample weights that come with a batch, and what must hold of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.errors import RowError
from stream_maxloss.labels import as_array
from stream_maxloss.linear.memory import Floats
from stream_maxloss.machine.pointers import address_of
from stream_maxloss.rows import Rows

__all__ = ["Labelled", "check_length", "is_tame", "row_weights"]

# A score is a sum of products of a weight and a value, a weight one of rate, sample weight and value over scale.
TAME = 1e30


def is_tame(values: NDArray[np.float64]) -> bool:
    """Return whether no product of a handful of such values can overflow; NaN marks an absent value."""
    largest = max(np.fmax.reduce(values, axis=None, initial=0.0), -np.fmin.reduce(values, axis=None, initial=0.0))
    return bool(largest < TAME)


def check_length(rows: int, targets: NDArray[np.float64]) -> None:
    """Raise ValueError unless there is one label per row."""
    if rows != len(targets):
        raise ValueError(f"y must have one label per row of X, got {len(targets)} for {rows} rows or more")


def row_weights(w: Any, rows: int) -> NDArray[np.float64]:
    """Return one sample weight per row from a number or a column, to be read only.

    Raises
    ------
    ValueError
        If a weight is not positive and finite, or their number is wrong.

    """
    if isinstance(w, int | float) and 0.0 < w < np.inf:
        # One look at the number instead of one at each of its copies.
        return equal_weights(float(w), rows)
    weights = np.full(rows, w, dtype=np.float64) if np.isscalar(w) else as_array(w).astype(np.float64)
    if len(weights) != rows:
        raise ValueError(f"w must be one number or one per row, got {len(weights)} for {rows} rows")
    wrong = ~((weights > 0.0) & (weights < np.inf))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise RowError(
            row,
            f"w of row {row} must be positive and finite, got {weights[row].item()!r}; "
            "leave out rows that should not count",
        )
    return weights


@lru_cache(maxsize=1)
def equal_weights(w: float, rows: int) -> NDArray[np.float64]:
    """Return a weight for each of some rows: the last ones again, for a stream of batches of one length."""
    return np.full(rows, w)


class Labelled(NamedTuple):
    """The labels and sample weights of some rows, and room for their scores."""

    targets: Floats
    weights: Floats
    scores: Floats

    def part(self, first: int, last: int) -> Labelled:
        """Return what belongs to some of the rows."""
        return Labelled(self.targets[first:last], self.weights[first:last], self.scores[first:last])

    def addresses(self) -> tuple[int, int, int]:
        """Return where the labels, the weights and the scores begin."""
        return address_of(self.targets), address_of(self.weights), address_of(self.scores)

    def split(self, stretches: Iterable[Rows], first: int = 0) -> Iterator[tuple[int, Rows, Labelled]]:
        """Yield each stretch of rows from row `first` on with its first row and what belongs to it.

        Raises
        ------
        ValueError
            If there is not one label per row.

        """
        for rows in stretches:
            last = first + len(rows)
            if last > len(self.targets):
                check_length(last, self.targets)
            yield first, rows, self.part(first, last)
            first = last
        check_length(first, self.targets)
