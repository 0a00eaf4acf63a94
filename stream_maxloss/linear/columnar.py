"""One pass over columns as they lie, without turning them into rows first.

The Perceptron and the hinge learner without a radius change their weights only on rows within the margin. So eight rows
are scored at once with the same weights, column by column; the scores up to the first row that calls for a step hold,
and scoring goes on behind it. The sums run over the columns in order, as over a sparse row: the same bits.
"""

from __future__ import annotations

import math

import numpy as np
from numba import carray

from stream_maxloss.linear.compiled import compiled
from stream_maxloss.linear.memory import (
    AVERAGED,
    FIRST,
    FOURTH,
    HINGE,
    INTERCEPT,
    MISTAKES,
    PERCEPTRON,
    RADIUS,
    RULE,
    SCALE,
    SECOND,
    STEPS,
    UPDATES,
    V_INTERCEPT,
    Floats,
)
from stream_maxloss.linear.passes import split
from stream_maxloss.linear.rules import step_size
from stream_maxloss.linear.scoring import Integers
from stream_maxloss.rows.pointer import pointer_to_floats

__all__ = ["is_columnar", "run_columns"]

# Rows scored at once.
BLOCK = 8


def is_columnar(memory: Floats) -> bool:
    """Tell whether a learner's weights stay as they are on rows beyond its margin."""
    return bool(memory[RULE] in (PERCEPTRON, HINGE) and memory[AVERAGED] == 0.0 and memory[RADIUS] == 0.0)


@compiled
def eight(address: int) -> Floats:
    """Return the eight numbers at an address. Places 0 to 7 in them need no check for negative ones."""
    return carray(pointer_to_floats(address), (BLOCK,))


@compiled
def copy_tile(addresses: Integers, first: int, length: int, tile: Floats, stride: int) -> None:
    """Copy some rows of the columns, each column to its stretch of the tile."""
    base = tile.ctypes.data
    for j in range(addresses.shape[0]):
        source, goal = addresses[j] + 8 * first, base + 8 * stride * j
        for k in range(0, length - BLOCK + 1, BLOCK):
            x, y = eight(source + 8 * k), eight(goal + 8 * k)
            # All are read before any is written: the compiler may then move them as vectors.
            x0, x1, x2, x3, x4, x5, x6, x7 = x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7]
            y[0], y[1], y[2], y[3], y[4], y[5], y[6], y[7] = x0, x1, x2, x3, x4, x5, x6, x7
        for k in range(length - length % BLOCK, length):
            eight(goal + 8 * k)[0] = eight(source + 8 * k)[0]


@compiled
def score_eight(v: Floats, columns: Integers, address: int, stride: int, h: Floats, scores: Floats) -> None:
    """Score eight rows, the first of which has its first value at the address."""
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    for j in range(columns.shape[0]):
        weight = v[columns[j]]
        x = eight(address)
        s0 += weight * x[0]
        s1 += weight * x[1]
        s2 += weight * x[2]
        s3 += weight * x[3]
        s4 += weight * x[4]
        s5 += weight * x[5]
        s6 += weight * x[6]
        s7 += weight * x[7]
        address += 8 * stride
    scale, constant = h[SCALE], h[V_INTERCEPT]
    scores[0] = scale * (s0 + constant)
    scores[1] = scale * (s1 + constant)
    scores[2] = scale * (s2 + constant)
    scores[3] = scale * (s3 + constant)
    scores[4] = scale * (s4 + constant)
    scores[5] = scale * (s5 + constant)
    scores[6] = scale * (s6 + constant)
    scores[7] = scale * (s7 + constant)


@compiled
def step_column(
    h: Floats,
    v: Floats,
    columns: Integers,
    address: int,
    stride: int,
    score: float,
    target: float,
    coefficient: float,
) -> None:
    """Take the step on the row that has its first value at the address."""
    if (score >= 0.0) != (target > 0.0):
        h[MISTAKES] += 1.0
    h[UPDATES] += 1.0
    delta = coefficient / h[SCALE]
    if h[INTERCEPT] != 0.0:
        h[V_INTERCEPT] += delta
    for j in range(columns.shape[0]):
        v[columns[j]] += delta * eight(address)[0]
        address += 8 * stride


@compiled
def run_columns(
    memory: Floats,
    columns: Integers,
    addresses: Integers,
    targets: Floats,
    weights: Floats,
    scores: Floats,
) -> int:
    """Score, then learn, each row; return the first that has an absent or infinite value, or the number of rows."""
    h, _, v, _ = split(memory)
    rows, width = targets.shape[0], columns.shape[0]
    rule, rate, margin, decays = h[RULE], h[FIRST], h[SECOND], h[FOURTH]
    limit = margin if rule == HINGE else 0.0
    begun = h[STEPS]
    # Rows enough that each column is read in long runs, few enough that the tile stays in the cache.
    length = max(128, min(256, 8 * (320 // max(1, width))))
    # Scoring may read seven rows past the last; and strides of a power of two would share few lines of the cache.
    stride = length + BLOCK
    tile = np.zeros(stride * width + BLOCK)
    base = tile.ctypes.data
    found = np.empty(BLOCK)
    for first in range(0, rows, length):
        last = min(rows, first + length)
        copy_tile(addresses, first, last - first, tile, stride)
        row = first
        while row < last:
            score_eight(v, columns, base + 8 * (row - first), stride, h, found)
            score = target = 0.0
            end = min(row + BLOCK, last)
            begin = row
            while row < end:
                score, target = found[row - begin], targets[row]
                scores[row] = score
                # Outside: within the margin, or not finite.
                if not (limit < target * score < math.inf):
                    break
                row += 1
            if row == end:
                continue
            if not math.isfinite(score):
                h[STEPS] = begun + row
                return row
            coefficient = weights[row] * target
            if rule == HINGE:
                coefficient = step_size(rate, decays, begun + row + 1.0) * weights[row] * target / margin
            step_column(h, v, columns, base + 8 * (row - first), stride, score, target, coefficient)
            row += 1
    h[STEPS] = begun + rows
    return rows
