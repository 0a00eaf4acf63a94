"""The arrays of a game, as kernels take them: bundled once, and handed over as one address."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.machine.compiled import inner
from stream_maxloss.machine.pointers import address_of, load_integer
from stream_maxloss.machine.vectors import array_at, pointer_to_floats, pointer_to_integers

__all__ = ["Arena", "arena_at", "handle_of"]


class Arena(NamedTuple):
    """What the rounds of a game read and write besides the learner and the rows.

    Parameters
    ----------
    nodes, starts
        The sum-tree of the weights.
    game, generator, settings
        The player's numbers, its random numbers, and the numbers of its policy.
    book, slack, heap, where
        The slack spent, in all and for each slot.
    plan, plan_generator
        Which rounds are kept as snapshots.
    replayed
        How often each slot was replayed.
    firsts, slice_of, place, order, slice_weights
        The rows by slice, and a weight for each slice; empty where the policy knows no slices.

    """

    nodes: NDArray[np.float64]
    starts: NDArray[np.int64]
    game: NDArray[np.float64]
    generator: NDArray[np.uint64]
    settings: NDArray[np.float64]
    book: NDArray[np.float64]
    slack: NDArray[np.float64]
    heap: NDArray[np.int32]
    where: NDArray[np.int32]
    plan: NDArray[np.float64]
    plan_generator: NDArray[np.uint64]
    replayed: NDArray[np.int32]
    firsts: NDArray[np.int64]
    slice_of: NDArray[np.int64]
    place: NDArray[np.int64]
    order: NDArray[np.int64]
    slice_weights: NDArray[np.float64]


# Bytes of an address and a length. Kernels are told where an entry lies and not its number: a constant is a type of its
# own to numba, which would compile a function for each.
ENTRY = 16


def handle_of(arena: Arena) -> NDArray[np.int64]:
    """Return the table whose address kernels take: address and length of each array. It holds while these live."""
    places = [number for array in arena for number in (address_of(array), len(array))]
    return np.array(places, dtype=np.int64)


@inner
def floats_at(entry: int) -> Any:
    """Return the array of floats whose address and length lie there."""
    return array_at(pointer_to_floats(load_integer(entry, 0)), (load_integer(entry, 1),))


@inner
def integers_at(entry: int) -> Any:
    """Return the array of whole numbers whose address and length lie there."""
    return array_at(pointer_to_integers(load_integer(entry, 0)), (load_integer(entry, 1),))


@inner
def shorts_at(entry: int) -> Any:
    """Return an array of 32 bits an entry: two of them lie in a word."""
    words = (load_integer(entry, 1) + 1) // 2
    return array_at(pointer_to_integers(load_integer(entry, 0)), (words,)).view(np.int32)


@inner
def arena_at(handle: int) -> Arena:
    """Return the arrays of the table at an address."""
    return Arena(
        floats_at(handle),
        integers_at(handle + ENTRY),
        floats_at(handle + 2 * ENTRY),
        integers_at(handle + 3 * ENTRY).view(np.uint64),
        floats_at(handle + 4 * ENTRY),
        floats_at(handle + 5 * ENTRY),
        floats_at(handle + 6 * ENTRY),
        shorts_at(handle + 7 * ENTRY),
        shorts_at(handle + 8 * ENTRY),
        floats_at(handle + 9 * ENTRY),
        integers_at(handle + 10 * ENTRY).view(np.uint64),
        shorts_at(handle + 11 * ENTRY),
        integers_at(handle + 12 * ENTRY),
        integers_at(handle + 13 * ENTRY),
        integers_at(handle + 14 * ENTRY),
        integers_at(handle + 15 * ENTRY),
        floats_at(handle + 16 * ENTRY),
    )
