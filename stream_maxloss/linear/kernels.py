"""The per-row step of every linear learner, over dense and over sparse rows.

Each step returns a status: 0 if the row was learned, else `scoring.fault(kind, entry)`, and then nothing has changed.
`h` is the whole memory, so that a step that is passed the header reaches all of it.
"""

from __future__ import annotations

import math

import numpy as np

from stream_maxloss.linear.compiled import inner
from stream_maxloss.linear.memory import (
    ADAPTED,
    AVERAGED,
    BALANCED_WINNOW,
    CAPACITY,
    FIRST,
    FOURTH,
    HEADER,
    INTERCEPT,
    LLM,
    MARGIN_PURSUIT,
    MISTAKES,
    NEEDS_NORM,
    NORM,
    RADIUS,
    RULE,
    SCALE,
    SCALE_SUM,
    SECOND,
    SEEN,
    STEPS,
    THIRD,
    U_INTERCEPT,
    UPDATES,
    V_INTERCEPT,
    WARMUP,
    WINNOW,
    Floats,
)
from stream_maxloss.linear.rules import adapt_epsilon, plan_step
from stream_maxloss.linear.scoring import (
    OVERFLOW,
    Integers,
    check_unit,
    clean,
    combine,
    dot_dense,
    dot_sparse,
    fault,
    score_dense,
    score_sparse,
    square_dense,
    square_sparse,
)

__all__ = ["learn_dense", "learn_sparse", "present_in_row", "step_dense", "step_sparse"]

# w = SCALE * v: fold the scale into v before v grows so large that the average, a difference, loses its digits.
SMALLEST_SCALE = 1e-5
# |w|^2 is kept by increments; recompute it now and then so that rounding cannot pile up.
NORM_REFRESH = 65536
# Winnow's weights stay finite whatever comes.
LARGEST_WEIGHT = 1e100


@inner
def fold_scale(h: Floats, shrink: float) -> None:
    """Shrink w, to nothing if need be, by moving the scale into v: v <- SCALE shrink v, SCALE <- 1.

    The sum of iterates SCALE_SUM v - u moves into u at the same time. Were SCALE_SUM divided by the scale instead, both
    terms would grow with every fold until their difference held no true digit.
    """
    capacity = int(h[CAPACITY])
    v = h[HEADER + capacity : HEADER + 2 * capacity]
    factor = h[SCALE] * shrink
    if h[AVERAGED] != 0.0:
        u = h[HEADER + 2 * capacity : HEADER + 3 * capacity]
        for j in range(capacity):
            u[j] -= h[SCALE_SUM] * v[j]
        h[U_INTERCEPT] -= h[SCALE_SUM] * h[V_INTERCEPT]
        h[SCALE_SUM] = 0.0
    for j in range(capacity):
        v[j] *= factor
    h[V_INTERCEPT] *= factor
    h[SCALE] = 1.0


@inner
def commit(h: Floats, shrink: float, coefficient: float, score: float, norm: float) -> float:
    """Apply w <- shrink w + coefficient x to the scalars; return the step that v has to make along x.

    With w = SCALE v, v moves by delta = coefficient / SCALE. The sum of iterates is sum_t SCALE_t v_t =
    SCALE_SUM v - u when u grows by SCALE_SUM delta x at every move, so averaging costs nothing on rows that
    change nothing.
    """
    if shrink != 1.0:
        if h[SCALE] * shrink < SMALLEST_SCALE:
            fold_scale(h, shrink)
        else:
            h[SCALE] *= shrink
    if h[RADIUS] > 0.0:
        h[NORM] = shrink * shrink * h[NORM] + 2.0 * shrink * coefficient * score + coefficient * coefficient * norm
    delta = coefficient / h[SCALE]
    if coefficient != 0.0:
        h[UPDATES] += 1.0
        if h[INTERCEPT] != 0.0:
            h[V_INTERCEPT] += delta
            if h[AVERAGED] != 0.0:
                h[U_INTERCEPT] += h[SCALE_SUM] * delta
    return delta


@inner
def length_of(v: Floats, intercept: float) -> float:
    """Return the length of v and the intercept together, without overflow."""
    largest = max(np.max(np.abs(v)), abs(intercept))
    total = (intercept / largest) ** 2
    for j in range(v.shape[0]):
        total += (v[j] / largest) ** 2
    return largest * math.sqrt(total)


@inner
def finish(h: Floats, v: Floats) -> None:
    """Project to the ball, keep the scale in range, and count the iterate."""
    radius = h[RADIUS]
    if radius > 0.0:
        if not math.isfinite(h[NORM]):
            # The squares overflow although the weights do not.
            norm = h[SCALE] * length_of(v, h[V_INTERCEPT])
            h[SCALE] *= min(1.0, radius / norm)
            h[NORM] = min(norm, radius) ** 2
        if h[UPDATES] % NORM_REFRESH == NORM_REFRESH - 1.0:
            h[NORM] = h[SCALE] * h[SCALE] * (square_sparse(v, 0, v.shape[0]) + h[V_INTERCEPT] * h[V_INTERCEPT])
        if h[NORM] > radius * radius:
            h[SCALE] *= radius / math.sqrt(h[NORM])
            h[NORM] = radius * radius
    if h[SCALE] < SMALLEST_SCALE:
        fold_scale(h, 1.0)
    if h[AVERAGED] != 0.0:
        h[SCALE_SUM] += h[SCALE]


@inner
def adapt_scale(h: Floats, warmup: Floats, score: float) -> None:
    """Collect |z| through the warm-up, then set MarginPursuit's scale once (Holland 2019, section 4).

    s = sqrt(n v / (2 l2 ln(1/delta))), v the 75th percentile of |y <w, x_i>| over the n rows of the warm-up.
    """
    rows = int(h[WARMUP])
    place = int(h[STEPS]) - 1
    if place < rows:
        warmup[place] = abs(score)
    if place == rows - 1:
        spread = np.sort(warmup)[min(rows - 1, (3 * rows) // 4)]
        h[ADAPTED] = max(1.0, math.sqrt(rows * spread / (2.0 * h[SECOND] * math.log(1.0 / h[FOURTH]))))


@inner
def winnow_factor(h: Floats, exponent: float) -> float:
    """Return beta^exponent."""
    return math.exp(min(max(exponent * math.log(h[FIRST]), -200.0), 200.0))


@inner
def bounded(weight: float) -> float:
    """Keep a multiplicative weight inside what a float can come back from."""
    return min(max(weight, 1.0 / LARGEST_WEIGHT), LARGEST_WEIGHT)


@inner
def winnow_move(h: Floats, v: Floats, u: Floats, column: int, exponent: float) -> None:
    """Promote or demote one weight; balanced Winnow moves its twin the other way."""
    if exponent == 0.0:
        return
    factor = winnow_factor(h, exponent)
    v[column] = bounded(v[column] * factor)
    if h[RULE] == BALANCED_WINNOW:
        u[column] = bounded(u[column] / factor)


@inner
def winnow_intercept(h: Floats, exponent: float) -> None:
    """Promote or demote the constant feature's weight."""
    if h[INTERCEPT] != 0.0:
        factor = winnow_factor(h, exponent)
        h[V_INTERCEPT] = bounded(h[V_INTERCEPT] * factor)
        if h[RULE] == BALANCED_WINNOW:
            h[U_INTERCEPT] = bounded(h[U_INTERCEPT] / factor)


@inner
def count(h: Floats, score: float, target: float) -> bool:
    """Count the row, and the mistake if its score has the wrong sign; return whether it had."""
    h[STEPS] += 1.0
    mistaken = (score >= 0.0) != (target > 0.0)
    if mistaken:
        h[MISTAKES] += 1.0
    return mistaken


@inner
def present_columns(x: Floats, length: int) -> int:
    """Return how many leading columns a dense row needs: all up to its last present value."""
    for j in range(length - 1, -1, -1):
        if not np.isnan(x[j]):
            return j + 1
    return 0


@inner
def present_in_row(X: Floats, i: int, length: int) -> int:
    """Return `present_columns` of row i of a matrix, which is not sliced out."""
    for j in range(length - 1, -1, -1):
        if not np.isnan(X[i, j]):
            return j + 1
    return 0


@inner
def plan(h: Floats, score: float, target: float, weight: float, norm: float) -> tuple[float, float]:
    """Return (shrink, coefficient) of the rule in the header."""
    return plan_step(
        h[RULE], h[FIRST], h[SECOND], h[THIRD], h[FOURTH], h[ADAPTED], h[STEPS], score, target, weight, norm
    )


@inner
def adapt(memory: Floats, h: Floats, score: float, target: float) -> None:
    """Let the rules that adapt something look at the row."""
    if h[RULE] == LLM and h[SECOND] != 0.0:
        h[ADAPTED] = adapt_epsilon(h[ADAPTED], score * target, h[STEPS])
    if h[RULE] == MARGIN_PURSUIT and h[WARMUP] > 0.0:
        adapt_scale(h, memory[HEADER + 3 * int(h[CAPACITY]) :], score)


@inner
def step_dense(
    memory: Floats,
    h: Floats,
    v: Floats,
    u: Floats,
    X: Floats,
    i: int,
    length: int,
    target: float,
    weight: float,
    score: float,
) -> None:
    """Take the additive step on a clean dense row whose current-iterate score is known."""
    norm = square_dense(X, i, length) + h[INTERCEPT] if h[NEEDS_NORM] != 0.0 else 0.0
    count(h, score, target)
    shrink, coefficient = plan(h, score, target, weight, norm)
    delta = commit(h, shrink, coefficient, score, norm)
    if coefficient != 0.0:
        for j in range(length):
            v[j] += delta * X[i, j]
        if h[AVERAGED] != 0.0:
            correction = h[SCALE_SUM] * delta
            for j in range(length):
                u[j] += correction * X[i, j]
    finish(h, v)
    if h[RULE] == LLM or h[WARMUP] > 0.0:
        adapt(memory, h, score, target)


@inner
def step_sparse(
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
    score: float,
) -> None:
    """Take the additive step on a clean sparse row whose current-iterate score is known."""
    norm = square_sparse(x, first, length) + h[INTERCEPT] if h[NEEDS_NORM] != 0.0 else 0.0
    count(h, score, target)
    shrink, coefficient = plan(h, score, target, weight, norm)
    delta = commit(h, shrink, coefficient, score, norm)
    if coefficient != 0.0:
        for k in range(length):
            v[columns[place + k]] += delta * x[first + k]
        if h[AVERAGED] != 0.0:
            correction = h[SCALE_SUM] * delta
            for k in range(length):
                u[columns[place + k]] += correction * x[first + k]
    finish(h, v)
    if h[RULE] == LLM or h[WARMUP] > 0.0:
        adapt(memory, h, score, target)


@inner
def learn_dense(
    memory: Floats, h: Floats, v: Floats, u: Floats, X: Floats, i: int, length: int, target: float, weight: float
) -> int:
    """Learn row i of a matrix; absent values (NaN) in it become zero. Return 0 or a fault."""
    if h[RULE] == WINNOW:
        status = check_unit(X[i], length, h[THIRD])
        if status != 0:
            return status
    present = length
    score = combine(h, dot_dense(v, X, i, length))
    if not math.isfinite(score):
        present = present_columns(X[i], length)
        status = clean(X[i], length)
        if status != 0:
            return status
        score = combine(h, dot_dense(v, X, i, length))
        if not math.isfinite(score):
            return fault(OVERFLOW, 0)
    h[SEEN] = max(h[SEEN], float(present))
    if h[RULE] < WINNOW:
        step_dense(memory, h, v, u, X, i, length, target, weight, score)
        return 0
    score = score_dense(h, v, u, X, i, length)
    if count(h, score, target):
        for j in range(length):
            winnow_move(h, v, u, j, target * weight * X[i, j])
        winnow_intercept(h, target * weight)
    return 0


@inner
def learn_sparse(
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
) -> int:
    """Learn one sparse row; absent values (NaN) in `x` become zero. Return 0 or a fault."""
    if h[RULE] == WINNOW:
        status = check_unit(x[first:], length, h[THIRD])
        if status != 0:
            return status
        for k in range(length):
            if not np.isnan(x[first + k]):
                h[SEEN] = max(h[SEEN], columns[place + k] + 1.0)
    score = combine(h, dot_sparse(v, columns, place, x, first, length))
    if not math.isfinite(score):
        status = clean(x[first:], length)
        if status != 0:
            return status
        score = combine(h, dot_sparse(v, columns, place, x, first, length))
        if not math.isfinite(score):
            return fault(OVERFLOW, 0)
    if h[RULE] < WINNOW:
        step_sparse(memory, h, v, u, columns, place, x, first, length, target, weight, score)
        return 0
    score = score_sparse(h, v, u, columns, place, x, first, length)
    if count(h, score, target):
        for k in range(length):
            winnow_move(h, v, u, columns[place + k], target * weight * x[first + k])
        winnow_intercept(h, target * weight)
    return 0
