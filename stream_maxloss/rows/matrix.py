"""Columns of numbers as rows of a matrix, a cache-sized stretch at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.machine.compiled import compiled, inner
from stream_maxloss.machine.pointers import address_of, capsule_pointer, load, load_integer, store, store_integer
from stream_maxloss.machine.vectors import prefetch_far, turn_four
from stream_maxloss.rows.columns import to_floats

__all__ = ["NumberTable", "turn"]

# Rows whose values of one column fill a cache line.
LINE = 8
# Columns that are fetched ahead of those being turned.
AHEAD = 4
# Places in the C structure ArrowArray, counted in words (Arrow C data interface).
NULL_COUNT, OFFSET, BUFFERS, CHILDREN = 1, 2, 5, 6


@inner
def turn(addresses: int, width: int, first: int, last: int, goal: int, stride: int) -> None:
    """Write rows first..last of the columns whose addresses stand at `addresses` to `goal`, `stride` bytes apart.

    Four columns are turned at once, a cache line of each at a time; the lines of the next four are prefetched
    meanwhile, because no processor foresees so many short runs by itself: into the second cache, since few lines at a
    time can be on their way to the first.
    """
    whole = (last - first) // LINE * LINE
    for j in range(0, width - 3, 4):
        a, b = load_integer(addresses, j), load_integer(addresses, j + 1)
        c, d = load_integer(addresses, j + 2), load_integer(addresses, j + 3)
        k = min(j + AHEAD, width - 4)
        e, f = load_integer(addresses, k), load_integer(addresses, k + 1)
        g, h = load_integer(addresses, k + 2), load_integer(addresses, k + 3)
        place = goal + 8 * j
        for i in range(8 * first, 8 * (first + whole), 64):
            prefetch_far(e + i)
            prefetch_far(f + i)
            prefetch_far(g + i)
            prefetch_far(h + i)
            turn_four(a + i, b + i, c + i, d + i, place, stride)
            turn_four(a + i + 32, b + i + 32, c + i + 32, d + i + 32, place + 4 * stride, stride)
            place += LINE * stride
    turned = width // 4 * 4
    for j in range(width):
        # What is left: columns beyond the last four, and of all columns the rows beyond the last line.
        for i in range(0 if j >= turned else whole, last - first):
            store(goal + i * stride, j, load(load_integer(addresses, j), first + i))


@compiled
def gather(addresses: int, width: int, first: int, last: int) -> NDArray[np.float64]:
    """Return rows first..last of the columns whose addresses stand at `addresses` as a new matrix.

    Its memory begins at a multiple of 32 bytes, and is used again. That of numpy begins at one of 16, so that every
    other vector that is stored would lie across two cache lines, and large pieces of it are new pages each time.
    """
    matrix = np.empty((last - first, width))
    turn(addresses, width, first, last, matrix.ctypes.data, 8 * width)
    return matrix


@compiled
def find_addresses(structure: int, is_wide: int, places: int, count: int, found: int) -> bool:
    """Write where the float64 of some children of an ArrowArray begin, 0 for one of another kind or with nulls.

    `is_wide` is the address of one whole number for each child. Return whether all were found.
    """
    children = load_integer(structure, CHILDREN)
    complete = True
    for k in range(count):
        place, at = load_integer(places, k), 0
        child = load_integer(children, place)
        if load_integer(is_wide, place) != 0:
            buffers = load_integer(child, BUFFERS)
            values = load_integer(buffers, 1)
            if (load_integer(child, NULL_COUNT) == 0 or load_integer(buffers, 0) == 0) and values != 0:
                at = values + 8 * load_integer(child, OFFSET)
        store_integer(found, k, at)
        complete &= at != 0
    return complete


class NumberTable:
    """Some numeric columns of a record batch, to be read as rows.

    Columns of float64 without nulls are read where they lie, by the addresses that Arrow's C data interface gives for
    all columns at once; others are converted once, with NaN for null.

    Parameters
    ----------
    batch
        The record batch.
    is_wide
        For each of its columns 1 if it is float64.
    places
        Which of its columns, in the order in which they are to be read.

    """

    def __init__(self, batch: Any, is_wide: NDArray[np.int64], places: NDArray[np.int64]) -> None:
        self.addresses = np.empty(len(places), dtype=np.int64)
        # What the addresses point into has to live as long as they do.
        self._kept: list[Any] = [batch]
        _, capsule = batch.__arrow_c_array__()
        structure, found = capsule_pointer(capsule, b"arrow_array"), address_of(self.addresses)
        if not find_addresses(structure, address_of(is_wide), address_of(places), len(places), found):
            for k in np.flatnonzero(self.addresses == 0).tolist():
                values = to_floats(batch.column(int(places[k])))
                self._kept.append(values)
                self.addresses[k] = values.ctypes.data

    def rows(self, first: int, last: int) -> NDArray[np.float64]:
        """Return a new matrix of some rows: so few that it stays in the cache while it fills."""
        matrix: NDArray[np.float64] = gather(address_of(self.addresses), len(self.addresses), first, last)
        return matrix
