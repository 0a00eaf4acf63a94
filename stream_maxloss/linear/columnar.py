"""One pass over columns as they lie, a tile of rows at a time.

The Perceptron and the hinge learner without a radius change their weights only on rows within the margin, and their
scale stays 1. Of narrow rows eight are scored at once with the same weights, column by column; the scores up to the
first row that calls for a step hold, and scoring goes on behind it. Wide rows are turned first and scored one by
one, in vector registers along the row. Both sums are those of `scoring.dot_dense`: the same bits.
"""

from __future__ import annotations

import math

import numpy as np

from stream_maxloss.linear.compiled import compiled, inner
from stream_maxloss.linear.memory import (
    AVERAGED,
    HINGE,
    INTERCEPT,
    MISTAKES,
    PERCEPTRON,
    RADIUS,
    RULE,
    SCALE,
    STEPS,
    UPDATES,
    V_INTERCEPT,
    Floats,
)
from stream_maxloss.linear.passes import split
from stream_maxloss.linear.rules import margin_of, steady_step
from stream_maxloss.linear.scoring import ORDERED_SUM, Integers, dot_vectorised
from stream_maxloss.rows.matrix import numbers_at, turn
from stream_maxloss.rows.vectors import copy_bytes, count_beyond, prefetch

__all__ = ["is_columnar", "run_columns"]

# Rows scored at once, and that a narrow tile may be read beyond its end.
BLOCK = 8
# Rows of a narrow tile; of a wide one as many as fit into half of a core's second cache, at least a few lines of each
# column.
NARROW_TILE = 256
WIDE_TILE = 32768
FEWEST_ROWS = 32


def is_columnar(memory: Floats) -> bool:
    """Tell whether a learner's weights stay as they are on rows beyond its margin."""
    plain = memory[AVERAGED] == 0.0 and memory[RADIUS] == 0.0 and memory[SCALE] == 1.0
    return bool(memory[RULE] in (PERCEPTRON, HINGE) and plain)


@inner
def run_narrow(h: Floats, own: Floats, base: int, stride: int, length: int, weights: int) -> int:
    """Score, then learn, the rows of a tile; return the first whose score is not finite, or their number.

    The tile is the columns, the targets and room for the scores, `stride` bytes apart each.
    """
    width = own.shape[0]
    own_at, targets = own.ctypes.data, base + stride * width
    scores = targets + stride
    limit = margin_of(h)
    # A sum, so that the compiler cannot know it is infinity: it would test bits where one comparison is enough.
    ceiling = limit + math.inf
    constant, learns_constant = h[V_INTERCEPT], h[INTERCEPT] != 0.0
    begun, mistakes, updates = h[STEPS], 0, 0
    row = 0
    while row < length:
        at = base + 8 * row
        good = count_beyond(own_at, width, at, stride, constant, targets + 8 * row, limit, ceiling, scores + 8 * row)
        row += good
        if good == BLOCK:
            continue
        if row >= length:
            break
        score, target = numbers_at(scores + 8 * row)[0], numbers_at(targets + 8 * row)[0]
        if not math.isfinite(score):
            break
        mistakes += (score >= 0.0) != (target > 0.0)
        updates += 1
        delta = steady_step(h, begun + row + 1.0, target, numbers_at(weights + 8 * row)[0])
        if learns_constant:
            constant += delta
        at = base + 8 * row
        for j in range(width):
            numbers_at(own_at + 8 * j)[0] += delta * numbers_at(at)[0]
            at += stride
        row += 1
    row = min(row, length)
    h[V_INTERCEPT] = constant
    h[MISTAKES] += mistakes
    h[UPDATES] += updates
    h[STEPS] = begun + row
    return row


@inner
def run_wide(
    h: Floats, own: Floats, X: Floats, length: int, first: int, targets: Floats, weights: Floats, scores: Floats
) -> int:
    """Score, then learn, the rows of a turned tile; return the first whose score is not finite, or their number."""
    width = own.shape[0]
    limit = margin_of(h)
    for i in range(length):
        score = dot_vectorised(own, X, i, width) + h[V_INTERCEPT]
        target = targets[first + i]
        scores[first + i] = score
        # Outside: within the margin, or not finite.
        if not (limit < target * score < math.inf):
            if not math.isfinite(score):
                return i
            if (score >= 0.0) != (target > 0.0):
                h[MISTAKES] += 1.0
            h[UPDATES] += 1.0
            delta = steady_step(h, h[STEPS] + 1.0, target, weights[first + i])
            if h[INTERCEPT] != 0.0:
                h[V_INTERCEPT] += delta
            for j in range(width):
                own[j] += delta * X[i, j]
        h[STEPS] += 1.0
    return length


@inner
def run_narrow_tiles(
    h: Floats, own: Floats, addresses: Integers, targets: Floats, weights: Floats, scores: Floats
) -> int:
    """Score, then learn, each row; return the first that has an absent or infinite value, or the number of rows."""
    rows, width = targets.shape[0], own.shape[0]
    # Scoring may read seven rows past the last; and strides of a power of two would share few lines of the cache.
    stride = 8 * (NARROW_TILE + BLOCK)
    tile = np.zeros((width + 2) * (NARROW_TILE + BLOCK))
    base = tile.ctypes.data
    for first in range(0, rows, NARROW_TILE):
        length = min(NARROW_TILE, rows - first)
        for j in range(width):
            at = addresses[j] + 8 * first
            copy_bytes(base + stride * j, at, 8 * length)
            # Ask for the column's rows of the next tile: they come while this one is learned.
            for line in range(at + 8 * NARROW_TILE, at + 16 * NARROW_TILE, 64):
                prefetch(line)
        copy_bytes(base + stride * width, targets.ctypes.data + 8 * first, 8 * length)
        done = run_narrow(h, own, base, stride, length, weights.ctypes.data + 8 * first)
        copy_bytes(scores.ctypes.data + 8 * first, base + stride * (width + 1), 8 * done)
        if done < length:
            return first + done
    return rows


@inner
def run_wide_tiles(
    h: Floats, own: Floats, addresses: Integers, targets: Floats, weights: Floats, scores: Floats
) -> int:
    """Score, then learn, each row; return the first that has an absent or infinite value, or the number of rows."""
    rows, width = targets.shape[0], own.shape[0]
    tile = max(FEWEST_ROWS, WIDE_TILE // width // BLOCK * BLOCK)
    # An odd number of cache lines a row: rows a power of two apart would share few lines of the cache.
    X = np.zeros((tile, BLOCK * ((width + BLOCK - 1) // BLOCK | 1)))
    for first in range(0, rows, tile):
        length = min(tile, rows - first)
        turn(addresses, first, first + length, X.ctypes.data, 8 * X.shape[1])
        done = run_wide(h, own, X, length, first, targets, weights, scores)
        if done < length:
            return first + done
    return rows


@compiled
def run_columns(
    memory: Floats, columns: Integers, addresses: Integers, targets: Floats, weights: Floats, scores: Floats
) -> int:
    """Score, then learn, each row; return the first that has an absent or infinite value, or the number of rows."""
    h, _, v, _ = split(memory)
    own = v[columns]
    if columns.shape[0] <= ORDERED_SUM:
        done = run_narrow_tiles(h, own, addresses, targets, weights, scores)
    else:
        done = run_wide_tiles(h, own, addresses, targets, weights, scores)
    v[columns] = own
    return done
