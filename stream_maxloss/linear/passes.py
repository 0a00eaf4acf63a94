"""What Python calls: one row, or one pass over many rows, of the learner in a block of memory.

A pass returns (row, status): row -1 if all went well, else the row that was refused and why (`scoring.fault_kind`);
the rows before it have then been learned, and the caller puts the memory back.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from numba import carray, types

from stream_maxloss.linear.compiled import compiled, inner
from stream_maxloss.linear.kernels import (
    adapt,
    commit,
    count,
    finish,
    learn_dense,
    learn_sparse,
    plan,
    step_sparse,
)
from stream_maxloss.linear.memory import (
    AVERAGED,
    CAPACITY,
    HEADER,
    INTERCEPT,
    LLM,
    NEEDS_NORM,
    ROW_LENGTH,
    RULE,
    SCALE,
    SEEN,
    STEPS,
    V_INTERCEPT,
    WARMUP,
    WINNOW,
    Floats,
)
from stream_maxloss.linear.rules import is_steady, margin_of
from stream_maxloss.linear.scoring import (
    ORDERED_SUM,
    OVERFLOW,
    Integers,
    clean,
    combine,
    dot_dense,
    dot_vectorised,
    fault,
    score_dense,
    score_sparse,
    square_dense,
)
from stream_maxloss.rows.dict_values import python_object, read_values
from stream_maxloss.rows.vectors import pointer_to_floats, pointer_to_integers

__all__ = [
    "learn_row",
    "learn_row_sparse",
    "row_entry_points",
    "run_csr",
    "run_dense",
    "run_matrix",
    "score_cleaned",
    "score_row",
    "score_row_sparse",
    "score_sparse_cleaned",
    "split",
]

# What `learn_row` returns for a dict that has another name or a value that is no number.
UNREADABLE = -1


@compiled
def split(memory: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the memory (which begins with the header), its row (as a matrix of one row), v and u."""
    capacity = int(memory[CAPACITY])
    return (
        memory,
        memory[HEADER : HEADER + capacity].reshape(1, capacity),
        memory[HEADER + capacity : HEADER + 2 * capacity],
        memory[HEADER + 2 * capacity : HEADER + 3 * capacity],
    )


@inner
def memory_at(address: int) -> Floats:
    """Return the learner's memory by its address: handing over a number takes a third of the time of an array."""
    h = carray(pointer_to_floats(address), (HEADER,))
    return carray(pointer_to_floats(address), (HEADER + 3 * int(h[CAPACITY]) + int(h[WARMUP]),))


@inner
def columns_at(address: int, length: int) -> Integers:
    """Return some columns by their address."""
    return carray(pointer_to_integers(address), (length,))


@compiled
def score_row(address: int, columns: int, names: Any, x: Any) -> float:
    """Score a dict. NaN or infinity tells that a value is absent, infinite or no number.

    `names` are those of the row, in the order of their columns: the first ones, if the address `columns` is 0.
    """
    memory = memory_at(address)
    h, row, v, u = split(memory)
    length = int(h[ROW_LENGTH])
    if not read_values(names, x, length, address + 8 * HEADER):
        return math.nan
    if columns != 0:
        return score_sparse(h, v, u, columns_at(columns, length), 0, memory, HEADER, length)
    return score_dense(h, v, u, row, 0, length)


@compiled
def learn_row(address: int, columns: int, names: Any, x: Any, target: float, weight: float) -> int:
    """Learn a dict, given as to `score_row`. Return 0, a fault, or UNREADABLE."""
    memory = memory_at(address)
    h, row, v, u = split(memory)
    length = int(h[ROW_LENGTH])
    if not read_values(names, x, length, address + 8 * HEADER):
        return UNREADABLE
    if columns != 0:
        return learn_sparse(memory, h, v, u, columns_at(columns, length), 0, memory, HEADER, length, target, weight)
    if is_steady(h) and margin_of(h) < target * combine(h, dot_dense(v, row, 0, length)) < math.inf:
        # The row counts and changes nothing else: a call with five arrays would cost as much as all of this.
        h[STEPS] += 1.0
        return 0
    return learn_dense(memory, h, v, u, row, 0, length, target, weight)


@cache
def row_entry_points() -> tuple[Callable[..., float], Callable[..., int]]:
    """Return `score_row` and `learn_row` without numba's choice among argument types, which costs 100 ns a call."""
    number, real, thing = types.int64, types.float64, python_object
    score, learn = (number, number, thing, thing), (number, number, thing, thing, real, real)
    score_row.compile(score)
    learn_row.compile(learn)
    return score_row.overloads[score].entry_point, learn_row.overloads[learn].entry_point


@compiled
def score_row_sparse(memory: Floats, columns: Integers, x: Floats) -> float:
    """Score one sparse row."""
    h, _, v, u = split(memory)
    return score_sparse(h, v, u, columns, 0, x, 0, columns.shape[0])


@compiled
def learn_row_sparse(memory: Floats, columns: Integers, x: Floats, target: float, weight: float) -> int:
    """Learn one sparse row."""
    h, _, v, u = split(memory)
    return learn_sparse(memory, h, v, u, columns, 0, x, 0, columns.shape[0], target, weight)


@inner
def score_cleaned(h: Floats, v: Floats, u: Floats, X: Floats, i: int, length: int) -> tuple[float, int]:
    """Score a copy of row i with absent values made zero; the row itself still shows what was absent."""
    row = X[i].copy()
    status = clean(row, length)
    score = score_dense(h, v, u, row.reshape(1, length), 0, length)
    if status == 0 and not math.isfinite(score):
        status = fault(OVERFLOW, 0)
    return score, status


@inner
def run_plain(
    memory: Floats, X: Floats, targets: Floats, weights: Floats, scores: Floats, learn: bool, start: int
) -> int:
    """Score, then learn, rows from `start` on while their scores are finite; return the first that is left.

    Only for additive rules without averaging, whose predicted score is the one that the step needs. It is `score_dense`
    and `step_dense` written out: a call with five arrays costs as much as a row of twenty features.
    """
    h, _, v, _ = split(memory)
    length = X.shape[1]
    for i in range(start, X.shape[0]):
        if length <= ORDERED_SUM:
            total = 0.0
            for j in range(length):
                total += v[j] * X[i, j]
        else:
            total = dot_vectorised(v, X, i, length)
        score = h[SCALE] * (total + h[V_INTERCEPT])
        if not math.isfinite(score):
            return i
        scores[i] = score
        if learn:
            norm = square_dense(X, i, length) + h[INTERCEPT] if h[NEEDS_NORM] != 0.0 else 0.0
            count(h, score, targets[i])
            shrink, coefficient = plan(h, score, targets[i], weights[i], norm)
            delta = commit(h, shrink, coefficient, score, norm)
            if coefficient != 0.0:
                for j in range(length):
                    v[j] += delta * X[i, j]
            finish(h, v)
            if h[RULE] == LLM or h[WARMUP] > 0.0:
                adapt(memory, h, score, targets[i])
    return X.shape[0]


@compiled
def run_dense(
    memory: Floats, X: Floats, targets: Floats, weights: Floats, scores: Floats, learn: bool
) -> tuple[int, int]:
    """Score, then learn, each row of a matrix whose columns are the learner's first columns."""
    h, _, v, u = split(memory)
    length = X.shape[1]
    plain = h[AVERAGED] == 0.0 and h[RULE] < WINNOW
    i = 0
    while True:
        if plain:
            i = run_plain(memory, X, targets, weights, scores, learn, i)
        if i >= X.shape[0]:
            break
        score = score_dense(h, v, u, X, i, length)
        if not math.isfinite(score):
            score, status = score_cleaned(h, v, u, X, i, length)
            if status != 0:
                return i, status
        scores[i] = score
        if learn:
            status = learn_dense(memory, h, v, u, X, i, length, targets[i], weights[i])
            if status != 0:
                return i, status
        i += 1
    if plain and learn and X.shape[0] > 0:
        h[SEEN] = max(h[SEEN], float(length))
    return -1, 0


@inner
def score_sparse_cleaned(
    h: Floats, v: Floats, u: Floats, columns: Integers, place: int, x: Floats, first: int, length: int
) -> tuple[float, int]:
    """Score a copy of a sparse row with absent values made zero; the row itself still shows what was absent."""
    row = x[first : first + length].copy()
    status = clean(row, length)
    return score_sparse(h, v, u, columns, place, row, 0, length), status


@inner
def run_sparse_row(
    memory: Floats,
    h: Floats,
    v: Floats,
    u: Floats,
    columns: Integers,
    place: int,
    x: Floats,
    first: int,
    length: int,
    target: float,
    weight: float,
    learn: bool,
) -> tuple[float, int]:
    """Score, then learn, one sparse row. Return the score and a status."""
    score = score_sparse(h, v, u, columns, place, x, first, length)
    if not math.isfinite(score):
        score, status = score_sparse_cleaned(h, v, u, columns, place, x, first, length)
        if status != 0:
            return score, status
    elif learn and h[AVERAGED] == 0.0 and h[RULE] < WINNOW:
        step_sparse(memory, h, v, u, columns, place, x, first, length, target, weight, score)
        return score, 0
    if learn:
        return score, learn_sparse(memory, h, v, u, columns, place, x, first, length, target, weight)
    return score, 0


@compiled
def run_matrix(
    memory: Floats, columns: Integers, X: Floats, targets: Floats, weights: Floats, scores: Floats, learn: bool
) -> tuple[int, int]:
    """Score, then learn, each row of a matrix whose columns lie anywhere in the learner's."""
    h, _, v, u = split(memory)
    length = X.shape[1]
    x = X.reshape(X.size)
    for i in range(X.shape[0]):
        scores[i], status = run_sparse_row(
            memory, h, v, u, columns, 0, x, i * length, length, targets[i], weights[i], learn
        )
        if status != 0:
            return i, status
    return -1, 0


@compiled
def run_csr(
    memory: Floats,
    indptr: Integers,
    indices: Integers,
    data: Floats,
    targets: Floats,
    weights: Floats,
    scores: Floats,
    learn: bool,
) -> tuple[int, int]:
    """Score, then learn, each row of a sparse matrix in CSR form."""
    h, _, v, u = split(memory)
    for i in range(indptr.shape[0] - 1):
        first = indptr[i]
        length = indptr[i + 1] - first
        scores[i], status = run_sparse_row(
            memory, h, v, u, indices, first, data, first, length, targets[i], weights[i], learn
        )
        if status != 0:
            return i, status
    return -1, 0
