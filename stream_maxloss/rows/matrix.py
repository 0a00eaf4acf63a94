"""Columns of numbers as rows of a matrix, a cache-sized stretch at a time."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numba import carray
from numpy.typing import NDArray

from stream_maxloss.kernel_cache import kept
from stream_maxloss.rows.columns import to_floats
from stream_maxloss.rows.vectors import pointer_to_floats, pointer_to_integers, prefetch, turn_four

__all__ = ["NumberTable", "numbers_at", "turn"]

# Rows whose values of one column fill a cache line.
LINE = 8
# Columns that are asked for ahead of those being turned.
AHEAD = 4
# Places in the C structure ArrowArray, counted in words (Arrow C data interface).
NULL_COUNT, OFFSET, BUFFERS, CHILDREN = 1, 2, 5, 6


@kept()
def numbers_at(address: int) -> NDArray[np.float64]:
    """Return the eight numbers at an address. Places 0 to 7 in them need no check for negative ones."""
    return carray(pointer_to_floats(address), (LINE,))


@kept()
def turn(addresses: NDArray[np.int64], first: int, last: int, goal: int, stride: int) -> None:
    """Write rows first..last of the columns at these addresses to `goal`, `stride` bytes apart.

    Four columns are turned at once, a cache line of each at a time; the lines of the next four are asked for
    meanwhile, because no processor foresees so many short runs by itself.
    """
    width = addresses.shape[0]
    whole = (last - first) // LINE * LINE
    for j in range(0, width - 3, 4):
        a, b, c, d = addresses[j], addresses[j + 1], addresses[j + 2], addresses[j + 3]
        k = min(j + AHEAD, width - 4)
        e, f, g, h = addresses[k], addresses[k + 1], addresses[k + 2], addresses[k + 3]
        place = goal + 8 * j
        for i in range(8 * first, 8 * (first + whole), 64):
            prefetch(e + i)
            prefetch(f + i)
            prefetch(g + i)
            prefetch(h + i)
            turn_four(a + i, b + i, c + i, d + i, place, stride)
            turn_four(a + i + 32, b + i + 32, c + i + 32, d + i + 32, place + 4 * stride, stride)
            place += LINE * stride
    turned = width // 4 * 4
    for j in range(width):
        # What is left: columns beyond the last four, and of all columns the rows beyond the last line.
        for i in range(0 if j >= turned else whole, last - first):
            numbers_at(goal + i * stride + 8 * j)[0] = numbers_at(addresses[j] + 8 * (first + i))[0]


@kept()
def gather(addresses: NDArray[np.int64], first: int, last: int) -> NDArray[np.float64]:
    """Return rows first..last of the columns at these addresses as a new matrix.

    Its memory begins at a multiple of 32 bytes. That of numpy begins at one of 16, so that every other vector that is
    stored would lie across two cache lines: half as slow again.
    """
    matrix = np.empty((last - first, addresses.shape[0]))
    turn(addresses, first, last, matrix.ctypes.data, 8 * matrix.shape[1])
    return matrix


@kept()
def word(address: int, place: int) -> int:
    """Return a word of a C structure."""
    return carray(pointer_to_integers(address), (CHILDREN + 1,))[place]


@kept()
def find_addresses(
    structure: int, is_wide: NDArray[np.bool_], places: NDArray[np.int64], found: NDArray[np.int64]
) -> bool:
    """Write where the float64 of some children of an ArrowArray begin, 0 for one of another kind or with nulls.

    Return whether all were found.
    """
    children = word(structure, CHILDREN)
    complete = True
    for k in range(places.shape[0]):
        found[k] = 0
        child = word(children + 8 * places[k], 0)
        if is_wide[places[k]] and (word(child, NULL_COUNT) == 0 or word(word(child, BUFFERS), 0) == 0):
            values = word(word(child, BUFFERS), 1)
            if values != 0:
                found[k] = values + 8 * word(child, OFFSET)
        complete &= found[k] != 0
    return complete


capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


class NumberTable:
    """Some numeric columns of a record batch, to be read as rows.

    Columns of float64 without nulls are read where they lie, by the addresses that Arrow's C data interface gives for
    all columns at once; others are converted once, with NaN for null.

    Parameters
    ----------
    batch
        The record batch.
    is_wide
        For each of its columns whether it is float64.
    places
        Which of its columns, in the order in which they are to be read.

    """

    def __init__(self, batch: Any, is_wide: NDArray[np.bool_], places: NDArray[np.int64]) -> None:
        self.addresses = np.empty(len(places), dtype=np.int64)
        # What the addresses point into has to live as long as they do.
        self._kept: list[Any] = [batch]
        _, capsule = batch.__arrow_c_array__()
        if not find_addresses(capsule_pointer(capsule, b"arrow_array"), is_wide, places, self.addresses):
            for k in np.flatnonzero(self.addresses == 0).tolist():
                values = to_floats(batch.column(int(places[k])))
                self._kept.append(values)
                self.addresses[k] = values.ctypes.data

    def rows(self, first: int, last: int) -> NDArray[np.float64]:
        """Return a new matrix of some rows: so few that it stays in the cache while it fills."""
        matrix: NDArray[np.float64] = gather(self.addresses, first, last)
        return matrix
