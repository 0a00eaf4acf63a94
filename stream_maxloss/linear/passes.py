"""What Python calls: one row, or one pass over many rows, of the learner in a block of memory.

A pass returns (row, status): row -1 if all went well, else the row that was refused and why (`scoring.fault_kind`);
the rows before it have then been learned, and the caller puts the memory back.
"""

from __future__ import annotations

import math

from numba import njit

from stream_maxloss.linear.kernels import learn_dense, learn_sparse, step_dense, step_sparse
from stream_maxloss.linear.memory import (
    AVERAGED,
    CAPACITY,
    HEADER,
    ROW_LENGTH,
    RULE,
    SEEN,
    WINNOW,
    Floats,
)
from stream_maxloss.linear.scoring import Integers, clean, score_dense, score_sparse

__all__ = [
    "learn_row",
    "learn_row_columns",
    "learn_row_sparse",
    "run_csr",
    "run_dense",
    "run_matrix",
    "score_row",
    "score_row_columns",
    "score_row_sparse",
]


@njit(cache=True)
def split(memory: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return header, row, v and u."""
    capacity = int(memory[CAPACITY])
    return (
        memory[:HEADER],
        memory[HEADER : HEADER + capacity],
        memory[HEADER + capacity : HEADER + 2 * capacity],
        memory[HEADER + 2 * capacity : HEADER + 3 * capacity],
    )


@njit(cache=True)
def score_row(memory: Floats) -> float:
    """Score the dense row at hand. NaN or infinity tells that a value is absent or infinite."""
    h, x, v, u = split(memory)
    return score_dense(h, v, u, x, int(h[ROW_LENGTH]))


@njit(cache=True)
def learn_row(memory: Floats, target: float, weight: float) -> int:
    """Learn the dense row at hand."""
    h, x, v, u = split(memory)
    return learn_dense(memory, h, v, u, x, int(h[ROW_LENGTH]), target, weight)


@njit(cache=True)
def score_row_sparse(memory: Floats, columns: Integers, x: Floats) -> float:
    """Score one sparse row."""
    h, _, v, u = split(memory)
    return score_sparse(h, v, u, columns, x, columns.shape[0])


@njit(cache=True)
def learn_row_sparse(memory: Floats, columns: Integers, x: Floats, target: float, weight: float) -> int:
    """Learn one sparse row."""
    h, _, v, u = split(memory)
    return learn_sparse(memory, h, v, u, columns, x, columns.shape[0], target, weight)


@njit(cache=True)
def score_row_columns(memory: Floats, columns: Integers) -> float:
    """Score the row at hand, whose values lie in these columns."""
    h, x, v, u = split(memory)
    return score_sparse(h, v, u, columns, x, columns.shape[0])


@njit(cache=True)
def learn_row_columns(memory: Floats, columns: Integers, target: float, weight: float) -> int:
    """Learn the row at hand, whose values lie in these columns."""
    h, x, v, u = split(memory)
    return learn_sparse(memory, h, v, u, columns, x, columns.shape[0], target, weight)


@njit(cache=True)
def run_dense(
    memory: Floats, X: Floats, targets: Floats, weights: Floats, scores: Floats, learn: bool
) -> tuple[int, int]:
    """Score, then learn, each row of a matrix whose columns are the learner's first columns."""
    h, _, v, u = split(memory)
    length = X.shape[1]
    # The predicted score is the one that the step needs, unless predictions average or the rule multiplies.
    one_score = h[AVERAGED] == 0.0 and h[RULE] < WINNOW
    for i in range(X.shape[0]):
        x = X[i]
        score = score_dense(h, v, u, x, length)
        if math.isfinite(score) and one_score:
            scores[i] = score
            if learn:
                step_dense(memory, h, v, u, x, length, targets[i], weights[i], score)
            continue
        if learn and not one_score and math.isfinite(score):
            scores[i] = score
            status = learn_dense(memory, h, v, u, x, length, targets[i], weights[i])
            if status != 0:
                return i, status
            continue
        # A value is absent or infinite. Winnow must know which columns the row has, so it learns before cleaning.
        row = x.copy()
        status = clean(row, length)
        if status != 0:
            return i, status
        scores[i] = score_dense(h, v, u, row, length)
        if learn:
            status = learn_dense(memory, h, v, u, x, length, targets[i], weights[i])
            if status != 0:
                return i, status
    if one_score and learn and X.shape[0] > 0:
        h[SEEN] = max(h[SEEN], float(length))
    return -1, 0


@njit(cache=True)
def run_sparse_row(
    memory: Floats,
    h: Floats,
    v: Floats,
    u: Floats,
    columns: Integers,
    x: Floats,
    target: float,
    weight: float,
    learn: bool,
) -> tuple[float, int]:
    """Score, then learn, one sparse row. Return the score and a status."""
    length = columns.shape[0]
    score = score_sparse(h, v, u, columns, x, length)
    if not math.isfinite(score):
        row = x.copy()
        status = clean(row, length)
        if status != 0:
            return score, status
        score = score_sparse(h, v, u, columns, row, length)
    elif learn and h[AVERAGED] == 0.0 and h[RULE] < WINNOW:
        step_sparse(memory, h, v, u, columns, x, length, target, weight, score)
        return score, 0
    if learn:
        return score, learn_sparse(memory, h, v, u, columns, x, length, target, weight)
    return score, 0


@njit(cache=True)
def run_matrix(
    memory: Floats, columns: Integers, X: Floats, targets: Floats, weights: Floats, scores: Floats, learn: bool
) -> tuple[int, int]:
    """Score, then learn, each row of a matrix whose columns lie anywhere in the learner's."""
    h, _, v, u = split(memory)
    for i in range(X.shape[0]):
        scores[i], status = run_sparse_row(memory, h, v, u, columns, X[i], targets[i], weights[i], learn)
        if status != 0:
            return i, status
    return -1, 0


@njit(cache=True)
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
        first, last = indptr[i], indptr[i + 1]
        scores[i], status = run_sparse_row(
            memory, h, v, u, indices[first:last], data[first:last], targets[i], weights[i], learn
        )
        if status != 0:
            return i, status
    return -1, 0
