"""Rows by slice: which slots hold rows of which slice, and a weight for each slice.

The kernels take plain arrays, so that the native replay loop can call them; `Roster` holds those arrays. Slots lie in
`order` slice by slice, so that a row of a slice is drawn by one index. A row that enters or leaves moves one row
of each slice behind its own: O(slices), whatever the window.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.described import ArrayOf, check_name, check_state
from stream_maxloss.machine.compiled import compiled, inner, made_once

__all__ = ["MOST_SLICES", "Roster", "make_slice_update", "slice_enter", "slice_find"]

# Names beyond share the last slice.
MOST_SLICES = 256
# The place in `firsts` behind the last boundary: how many slices there are.
SLICES = MOST_SLICES + 1
LARGEST, SMALLEST = 2.0**256, 2.0**-512

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@compiled
def slice_enter(
    firsts: Integers, slice_of: Integers, place: Integers, order: Integers, weights: Floats, slot: int, code: int
) -> None:
    """Let a slot hold a row of slice `code` from now on; a slice that is new has the mean weight of the others."""
    if slice_of[slot] >= 0:
        _leave(firsts, slice_of, place, order, slot)
    while firsts[SLICES] <= code:
        known = firsts[SLICES]
        weights[known] = weights[:known].sum() / known if known > 0 else 1.0
        firsts[known + 1] = firsts[known]
        firsts[SLICES] = known + 1
    for other in range(firsts[SLICES] - 1, code, -1):
        start, end = firsts[other], firsts[other + 1]
        if end > start:
            order[end] = order[start]
            place[order[end]] = end
        firsts[other + 1] = end + 1
    end = firsts[code + 1]
    order[end], place[slot], slice_of[slot] = slot, end, code
    firsts[code + 1] = end + 1


@compiled
def _leave(firsts: Integers, slice_of: Integers, place: Integers, order: Integers, slot: int) -> None:
    free, start = place[slot], firsts[slice_of[slot]]
    for other in range(slice_of[slot], firsts[SLICES]):
        end = firsts[other + 1]
        if end > start:
            order[free] = order[end - 1]
            place[order[free]] = free
            free = end - 1
        firsts[other + 1] = end - 1
        start = end
    slice_of[slot] = -1


@compiled
def slice_find(firsts: Integers, order: Integers, weights: Floats, point: float) -> int:
    """Return the slot at a point in [0, 1) of the weight of all slices that have rows, each row an equal part of its
    slice's.
    """
    left, chosen = point * _held(firsts, weights), 0
    for code in range(firsts[SLICES]):
        if firsts[code + 1] > firsts[code]:
            chosen = code
            if left < weights[code]:
                break
            left -= weights[code]
    rows = firsts[chosen + 1] - firsts[chosen]
    return order[firsts[chosen] + min(np.int64(left / weights[chosen] * rows), rows - 1)]


@compiled
def _held(firsts: Integers, weights: Floats) -> float:
    total = 0.0
    for code in range(firsts[SLICES]):
        if firsts[code + 1] > firsts[code]:
            total += weights[code]
    return total


@made_once
def make_slice_update(raised: Callable[..., float]) -> Any:
    """Return update(firsts, slice_of, weights, settings, slot, gamma, gain): a round on a row of a slice.

    `gain` is eta loss; the policy raises the slice's weight by eta loss / P(g), with P(g) the probability that a row
    of the slice is drawn.
    """
    raise_one = inner(raised)

    def update(
        firsts: Integers, slice_of: Integers, weights: Floats, settings: Floats, slot: int, gamma: float, gain: float
    ) -> None:
        code, total = slice_of[slot], _held(firsts, weights)
        part = (firsts[code + 1] - firsts[code]) / firsts[firsts[SLICES]]
        chance = gamma * part + (1.0 - gamma) * weights[code] / total
        others, slices = total - weights[code], np.float64(firsts[SLICES])
        weights[code] = max(raise_one(weights[code], others, slices, gain / chance, settings), SMALLEST)
        if weights[code] > LARGEST:
            for other in range(firsts[SLICES]):
                weights[other] = max(weights[other] / LARGEST, SMALLEST)

    return inner(update)


class Roster:
    """The slices of a window: their names, their weights and their rows.

    Parameters
    ----------
    capacity
        Number of slots; 0 for a game that knows no slices.

    Examples
    --------
    >>> from stream_maxloss.focus.slices import Roster
    >>> roster = Roster(capacity=4)
    >>> for slot, name in enumerate(["web", "mail", "web", "web"]):
    ...     roster.enter(slot, roster.code_of(name))
    >>> roster.row_weights(4).round(3).tolist()
    [0.333, 1.0, 0.333, 0.333]

    """

    def __init__(self, capacity: int) -> None:
        self.names: dict[Hashable, int] = {}
        most = MOST_SLICES if capacity else 0
        self.firsts = np.zeros(most + 2 if capacity else 0, dtype=np.int64)
        self.slice_of = np.full(capacity, -1, dtype=np.int64)
        self.place = np.zeros(capacity, dtype=np.int64)
        self.order = np.zeros(capacity, dtype=np.int64)
        self.weights = np.zeros(most)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        arrays = (self.firsts, self.slice_of, self.place, self.order, self.weights)
        return sum(array.nbytes for array in arrays)

    def code_of(self, name: Hashable) -> int:
        """Return the number of a slice, in order of first sight; None is a name, too."""
        if isinstance(name, np.generic):
            name = name.item()
        if name not in self.names and len(self.names) == MOST_SLICES:
            return MOST_SLICES - 1
        return self.names.setdefault(name, len(self.names))

    def enter(self, slot: int, code: int) -> None:
        """Let a slot hold a row of a slice."""
        slice_enter(self.firsts, self.slice_of, self.place, self.order, self.weights, slot, code)

    def row_weights(self, rows: int) -> Floats:
        """Return the weight of each row held: an equal part of its slice's."""
        sizes = np.diff(self.firsts[: MOST_SLICES + 1])
        codes = self.slice_of[:rows]
        found: Floats = self.weights[codes] / sizes[codes]
        return found

    def shares(self) -> dict[Hashable, float]:
        """Return the share of the weight that each slice with rows in the window has."""
        sizes = np.diff(self.firsts[: MOST_SLICES + 1])
        held = {name: float(self.weights[code]) for name, code in self.names.items() if sizes[code] > 0}
        total = sum(held.values())
        return {name: weight / total for name, weight in held.items()}

    def state_dict(self) -> dict[str, Any]:
        """Return names, weights and rows by slice; the names must be numbers, text, booleans or None."""
        return {
            "names": list(self.names),
            "firsts": self.firsts.copy(),
            "order": self.order.copy(),
            "weights": self.weights.copy(),
        }

    def load_state_dict(self, state: dict[str, Any], size: int) -> None:
        """Take up the slices of a window that holds `size` rows.

        Raises
        ------
        ValueError
            If they are not those of such a window. The roster is then unchanged.

        """
        capacity = len(self.order)
        expected = {
            "firsts": ArrayOf("int64", (len(self.firsts),), low=0, high=max(size, MOST_SLICES)),
            "order": ArrayOf("int64", (capacity,), low=0, below=max(capacity, 1)),
            "weights": ArrayOf("float64", (len(self.weights),), low=0.0),
        }
        check_state(state, expected)
        names = {check_name(name): code for code, name in enumerate(state["names"])}
        firsts, order, weights = state["firsts"], state["order"], state["weights"]
        if capacity:
            slices = int(firsts[SLICES])
            ends = firsts[: slices + 1]
            is_whole = ends[0] == 0 and ends[-1] == size and (np.diff(ends) >= 0).all()
            if not (is_whole and slices <= len(names) <= MOST_SLICES and (weights[:slices] > 0.0).all()):
                raise ValueError(f"slices.firsts must part {size} rows into {len(names)} slices, got {ends.tolist()}")
            if not np.array_equal(np.sort(order[:size]), np.arange(size)):
                raise ValueError(f"slices.order must have each of the {size} slots once, got others")
            self.slice_of[:] = -1
            self.slice_of[order[:size]] = np.repeat(np.arange(slices), np.diff(ends))
            self.place[order[:size]] = np.arange(size)
        self.names = names
        self.firsts[:], self.order[:], self.weights[:] = firsts, order, weights
