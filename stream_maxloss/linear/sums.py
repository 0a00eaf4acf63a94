"""Sums over rows and steps along them, and what makes a row unfit to be scored.

Inside kernels a row is four numbers, (columns, values, length, stored): the address of its columns, or 0 if it has the
learner's first columns, the address of its values, how many there are, and 1 for a row that a window stores, whose
columns have 32 bits. Short dense rows are summed in the same order as sparse ones, so the two forms give the same
bits. Rows that a window stores are summed in lanes, which is faster, by column, so that short ones give the same bits
in a matrix and packed: a window may pack them sooner at one speed than at the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.linear.memory import CAPACITY, HEADER
from stream_maxloss.machine.compiled import inlined, inner, inner_fast
from stream_maxloss.machine.pointers import load, load_integer, load_short, store

__all__ = ["add", "clean", "dot", "fault", "fault_entry", "fault_kind", "square", "square_of", "vector_at"]

Integers = NDArray[np.int64]
Row = tuple[int, int, int, int]

# What a row's last number is, of the type that a kernel gives any whole number: as literals, both would have what they
# are given to compiled anew.
ARRIVING: Any = np.int64(0)
WINDOWED: Any = np.int64(1)

INFINITE = 1  # a value is infinite
OUTSIDE = 2  # a value lies outside Winnow's [0, 1]
OVERFLOW = 3  # the values are finite but the score is not

# Rows up to this length are summed one by one, like sparse rows; longer ones in vector registers.
ORDERED_SUM = 48
# Rows of a window up to this length are summed in lanes; longer ones, in a matrix, in vector registers.
SUM_IN_LANES = 64


def fault_kind(status: int) -> int:
    """Return what is wrong: INFINITE, OUTSIDE or OVERFLOW."""
    return status % 4


def fault_entry(status: int) -> int:
    """Return which entry of the row is wrong, counted from 0."""
    return status // 4 - 1


@inner
def fault(kind: int, entry: int) -> int:
    """Encode what is wrong and with which entry of the row."""
    return 4 * (entry + 1) + kind


@inlined
def vector_at(m: int, number: int) -> int:
    """Return the address of a vector of the learner's memory, counted from 0."""
    return m + 8 * (HEADER + (1 + number) * int(load(m, CAPACITY)))


@inlined
def dot_ordered(v: int, x: int, length: int) -> float:
    """Return <v, x>, summed in order."""
    total = 0.0
    for j in range(length):
        total += load(v, j) * load(x, j)
    return total


@inner_fast
def dot_vectorised(v: int, x: int, length: int) -> float:
    """Return <v, x>, summed in vector registers."""
    total = 0.0
    for j in range(length):
        total += load(v, j) * load(x, j)
    return total


@inlined
def dot_in_lanes(v: int, x: int, length: int) -> float:
    """Return <v, x>, column j summed in lane j mod 4: four sums that need not wait for each other.

    What is zero changes no lane, so that rows give the same bits whether their last columns are counted or not.
    """
    a = b = c = d = 0.0
    whole = length & -4
    for j in range(0, whole, 4):
        a += load(v, j) * load(x, j)
        b += load(v, j + 1) * load(x, j + 1)
        c += load(v, j + 2) * load(x, j + 2)
        d += load(v, j + 3) * load(x, j + 3)
    rest = length & 3
    if rest > 0:
        a += load(v, whole) * load(x, whole)
    if rest > 1:
        b += load(v, whole + 1) * load(x, whole + 1)
    if rest > 2:
        c += load(v, whole + 2) * load(x, whole + 2)
    return (a + b) + (c + d)


@inner
def dot_packed(v: int, columns: int, x: int, length: int) -> float:
    """Return <v, x> of a row that a window stores packed, in the lanes of `dot_in_lanes`: the same bits."""
    a = b = c = d = 0.0
    for k in range(length):
        column = load_short(columns, k)
        product, lane = load(v, column) * load(x, k), column & 3
        a += product if lane == 0 else 0.0
        b += product if lane == 1 else 0.0
        c += product if lane == 2 else 0.0
        d += product if lane == 3 else 0.0
    return (a + b) + (c + d)


@inner
def dot_sparse(v: int, columns: int, x: int, length: int) -> float:
    """Return <v, x> of a sparse row that arrives."""
    total = 0.0
    for k in range(length):
        total += load(v, load_integer(columns, k)) * load(x, k)
    return total


@inlined
def dot_arrived(v: int, row: Row) -> float:
    """Return <v, x>, summed as that of a row that arrives, also for one that a window stores."""
    columns, x, length, stored = row
    if columns != 0 and stored != 0:
        total = 0.0
        for k in range(length):
            total += load(v, load_short(columns, k)) * load(x, k)
        return total
    if columns != 0:
        return dot_sparse(v, columns, x, length)
    if length <= ORDERED_SUM:
        return dot_ordered(v, x, length)
    return dot_vectorised(v, x, length)


@inlined
def dot_stored(v: int, row: Row) -> float:
    """Return <v, x> of a row that a window stores."""
    columns, x, length, _ = row
    if columns != 0:
        return dot_packed(v, columns, x, length)
    if length <= SUM_IN_LANES:
        return dot_in_lanes(v, x, length)
    return dot_vectorised(v, x, length)


@inlined
def dot(v: int, row: Row) -> float:
    """Return <v, x> of a row, v being the address of a vector."""
    return dot_stored(v, row) if row[3] != 0 else dot_arrived(v, row)


@inlined
def add(v: int, row: Row, coefficient: float) -> None:
    """Move a vector along a row: v <- v + coefficient x."""
    columns, x, length, stored = row
    if columns == 0:
        for j in range(length):
            store(v, j, load(v, j) + coefficient * load(x, j))
        return
    for k in range(length):
        column = load_short(columns, k) if stored != 0 else load_integer(columns, k)
        store(v, column, load(v, column) + coefficient * load(x, k))


@inner
def column_of(row: Row, k: int) -> int:
    """Return the column of entry k of a row."""
    columns, _, _, stored = row
    if columns == 0:
        return k
    return load_short(columns, k) if stored != 0 else load_integer(columns, k)


@inner_fast
def square(x: int, length: int) -> float:
    """Return |x|^2."""
    total = 0.0
    for k in range(length):
        total += load(x, k) * load(x, k)
    return total


@inner
def square_of(row: Row) -> float:
    """Return |x|^2 of a row, summed in order unless it is long: zeros of a dense row then change no bit of it."""
    columns, x, length, _ = row
    if columns == 0 and length > SUM_IN_LANES:
        return square(x, length)
    total = 0.0
    for k in range(length):
        total += load(x, k) * load(x, k)
    return total


@inner
def present_columns(x: int, length: int) -> int:
    """Return how many leading columns a dense row needs: all up to its last present value."""
    for j in range(length - 1, -1, -1):
        if not np.isnan(load(x, j)):
            return j + 1
    return 0


@inner
def clean(x: int, length: int) -> int:
    """Make absent values (NaN) zero in place; return a fault if one is infinite."""
    for k in range(length):
        if np.isinf(load(x, k)):
            return fault(INFINITE, k)
    for k in range(length):
        if np.isnan(load(x, k)):
            store(x, k, 0.0)
    return 0
