"""The arrays of a game, as kernels take them: bundled once, and handed over as one address."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import carray
from numpy.typing import NDArray

from stream_maxloss.machine.compiled import inner
from stream_maxloss.machine.pointers import address_of, load_integer
from stream_maxloss.machine.vectors import pointer_to_floats, pointer_to_integers

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


def handle_of(arena: Arena) -> NDArray[np.int64]:
    """Return the table whose address kernels take: address and length of each array. It holds while these live."""
    places = [number for array in arena for number in (address_of(array), len(array))]
    return np.array(places, dtype=np.int64)


@inner
def floats_at(handle: int, place: int) -> Any:
    """Return an array of floats of the table."""
    return carray(pointer_to_floats(load_integer(handle, 2 * place)), (load_integer(handle, 2 * place + 1),))


@inner
def integers_at(handle: int, place: int) -> Any:
    """Return an array of whole numbers of the table."""
    return carray(pointer_to_integers(load_integer(handle, 2 * place)), (load_integer(handle, 2 * place + 1),))


@inner
def shorts_at(handle: int, place: int) -> Any:
    """Return an array of 32 bits an entry: two of them lie in a word."""
    words = (load_integer(handle, 2 * place + 1) + 1) // 2
    return carray(pointer_to_integers(load_integer(handle, 2 * place)), (words,)).view(np.int32)


@inner
def arena_at(handle: int) -> Arena:
    """Return the arrays of the table at an address."""
    return Arena(
        floats_at(handle, 0),
        integers_at(handle, 1),
        floats_at(handle, 2),
        integers_at(handle, 3).view(np.uint64),
        floats_at(handle, 4),
        floats_at(handle, 5),
        floats_at(handle, 6),
        shorts_at(handle, 7),
        shorts_at(handle, 8),
        floats_at(handle, 9),
        integers_at(handle, 10).view(np.uint64),
        shorts_at(handle, 11),
    )
