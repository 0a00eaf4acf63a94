"""Scores of dense and of sparse rows, and what makes a row unfit to be scored.

A dense row is row i of a matrix; a sparse row is a stretch of a vector of columns and of one of values. Neither is
ever sliced out inside a loop: a slice counts references, which costs as much as the sum. Short dense rows are summed
in the same order as sparse ones, so the two forms give the same bits. Rows that a window stores are summed in lanes,
which is faster, by column, so that short ones give the same bits in a matrix and packed: a window may pack them sooner
at one speed than at the other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.linear.compiled import compiled, inner, inner_fast
from stream_maxloss.linear.memory import (
    AVERAGED,
    BALANCED_WINNOW,
    RULE,
    SCALE,
    SCALE_SUM,
    SECOND,
    SEEN,
    STEPS,
    U_INTERCEPT,
    V_INTERCEPT,
    WINNOW,
    Floats,
)
from stream_maxloss.rows.matrix import numbers_at

__all__ = ["fault_entry", "fault_kind", "score_dense", "score_sparse"]

Integers = NDArray[np.int64]

INFINITE = 1  # a value is infinite
OUTSIDE = 2  # a value lies outside Winnow's [0, 1]
OVERFLOW = 3  # the values are finite but the score is not

# Rows up to this length are summed one by one, like sparse rows; longer ones in vector registers.
ORDERED_SUM = 48
# Rows of a window up to this length are summed in lanes; longer ones, in a matrix, in vector registers.
SUM_IN_LANES = 64


@compiled
def fault(kind: int, entry: int) -> int:
    """Encode what is wrong and with which entry of the row."""
    return 4 * (entry + 1) + kind


@compiled
def fault_kind(status: int) -> int:
    """Return what is wrong: INFINITE, OUTSIDE or OVERFLOW."""
    return status % 4


@compiled
def fault_entry(status: int) -> int:
    """Return which entry of the row is wrong, counted from 0."""
    return status // 4 - 1


@inner
def dot_ordered(v: Floats, X: Floats, i: int, length: int) -> float:
    """Return <v, X_i>, summed in order."""
    total = 0.0
    for j in range(length):
        total += v[j] * X[i, j]
    return total


@inner_fast
def dot_vectorised(v: Floats, X: Floats, i: int, length: int) -> float:
    """Return <v, X_i>, summed in vector registers."""
    total = 0.0
    for j in range(length):
        total += v[j] * X[i, j]
    return total


@inner
def dot_dense(v: Floats, X: Floats, i: int, length: int) -> float:
    """Return <v, X_i> over the first `length` columns."""
    if length <= ORDERED_SUM:
        return dot_ordered(v, X, i, length)
    return dot_vectorised(v, X, i, length)


@inner
def dot_in_lanes(v: Floats, X: Floats, i: int, length: int) -> float:
    """Return <v, X_i>, column j summed in lane j mod 4: four sums that need not wait for each other.

    What is zero changes no lane, so that rows give the same bits whether their last columns are counted or not.
    """
    a = b = c = d = 0.0
    left = np.int64(v.ctypes.data)
    right = np.int64(X.ctypes.data) + 8 * i * X.shape[1]
    end = left + 8 * (length & -4)
    while left < end:
        p, q = numbers_at(left), numbers_at(right)
        a += p[0] * q[0]
        b += p[1] * q[1]
        c += p[2] * q[2]
        d += p[3] * q[3]
        left += 32
        right += 32
    p, q, rest = numbers_at(left), numbers_at(right), length & 3
    if rest > 0:
        a += p[0] * q[0]
    if rest > 1:
        b += p[1] * q[1]
    if rest > 2:
        c += p[2] * q[2]
    return (a + b) + (c + d)


@inner
def dot_stored(v: Floats, X: Floats, i: int, length: int) -> float:
    """Return <v, X_i> of a row that a window stores in a matrix."""
    if length <= SUM_IN_LANES:
        return dot_in_lanes(v, X, i, length)
    return dot_vectorised(v, X, i, length)


@inner
def dot_packed(v: Floats, columns: Integers, place: int, x: Floats, first: int, length: int) -> float:
    """Return <v, x> of a row that a window stores packed, in the lanes of `dot_in_lanes`: the same bits."""
    a = b = c = d = 0.0
    for k in range(length):
        column = columns[place + k]
        product, lane = v[column] * x[first + k], column & 3
        a += product if lane == 0 else 0.0
        b += product if lane == 1 else 0.0
        c += product if lane == 2 else 0.0
        d += product if lane == 3 else 0.0
    return (a + b) + (c + d)


@inner_fast
def square_dense(X: Floats, i: int, length: int) -> float:
    """Return |X_i|^2."""
    total = 0.0
    for j in range(length):
        total += X[i, j] * X[i, j]
    return total


@inner
def dot_sparse(v: Floats, columns: Integers, place: int, x: Floats, first: int, length: int) -> float:
    """Return <v, x> of a sparse row: `length` columns from `place` on, their values from `first` on."""
    total = 0.0
    for k in range(length):
        total += v[columns[place + k]] * x[first + k]
    return total


@inner_fast
def square_sparse(x: Floats, first: int, length: int) -> float:
    """Return |x|^2 of a sparse row."""
    total = 0.0
    for k in range(length):
        total += x[first + k] * x[first + k]
    return total


@inner
def combine(h: Floats, dot_v: float) -> float:
    """Return the current iterate's score from <v, x>."""
    return h[SCALE] * (dot_v + h[V_INTERCEPT])


@inner
def combine_average(h: Floats, dot_v: float, dot_u: float) -> float:
    """Return the averaged iterate's score: (SCALE_SUM <v, x> - <u, x>) / t."""
    return (h[SCALE_SUM] * (dot_v + h[V_INTERCEPT]) - (dot_u + h[U_INTERCEPT])) / h[STEPS]


@inner
def winnow_threshold(h: Floats) -> float:
    """Return theta: as set, or the number of features seen."""
    return h[SECOND] if h[SECOND] > 0.0 else h[SEEN]


@inner
def score_dense(h: Floats, v: Floats, u: Floats, X: Floats, i: int, length: int) -> float:
    """Return the score that the learner predicts with, on row i of a matrix of its first `length` columns."""
    rule = h[RULE]
    if rule == WINNOW:
        # A feature that was never learned from has no weight yet.
        known = min(length, int(h[SEEN]))
        return dot_dense(v, X, i, known) + h[V_INTERCEPT] - winnow_threshold(h)
    if rule == BALANCED_WINNOW:
        return dot_dense(v, X, i, length) - dot_dense(u, X, i, length) + h[V_INTERCEPT] - h[U_INTERCEPT]
    dot_v = dot_dense(v, X, i, length)
    if h[AVERAGED] != 0.0 and h[STEPS] > 0.0:
        return combine_average(h, dot_v, dot_dense(u, X, i, length))
    return combine(h, dot_v)


@inner
def score_sparse(
    h: Floats, v: Floats, u: Floats, columns: Integers, place: int, x: Floats, first: int, length: int
) -> float:
    """Return the score that the learner predicts with, on a sparse row."""
    rule = h[RULE]
    if rule == WINNOW:
        total = h[V_INTERCEPT]
        for k in range(length):
            if columns[place + k] < h[SEEN]:
                total += v[columns[place + k]] * x[first + k]
        return total - winnow_threshold(h)
    dot_v = dot_sparse(v, columns, place, x, first, length)
    if rule == BALANCED_WINNOW:
        return dot_v - dot_sparse(u, columns, place, x, first, length) + h[V_INTERCEPT] - h[U_INTERCEPT]
    if h[AVERAGED] != 0.0 and h[STEPS] > 0.0:
        return combine_average(h, dot_v, dot_sparse(u, columns, place, x, first, length))
    return combine(h, dot_v)


@inner
def clean(x: Floats, length: int) -> int:
    """Make absent values (NaN) zero in place; return a fault if one is infinite."""
    for k in range(length):
        if np.isinf(x[k]):
            return fault(INFINITE, k)
    for k in range(length):
        if np.isnan(x[k]):
            x[k] = 0.0
    return 0


@inner
def check_unit(x: Floats, length: int, high: float) -> int:
    """Return a fault if a value lies outside [0, high], the domain of Winnow."""
    for k in range(length):
        if not (0.0 <= x[k] <= high and x[k] < np.inf) and not np.isnan(x[k]):
            return fault(INFINITE if np.isinf(x[k]) else OUTSIDE, k)
    return 0
