"""One pass over columns as they lie, a tile of rows at a time: `score_columns` of any learner, `run_columns` of some.

Learners whose program has a limit change their weights only on rows within that margin, and their scale stays 1. Of
narrow rows eight are scored at once with the same weights, column by column; the scores up to the first row that calls
for a step hold, and scoring goes on behind it. Wide rows are turned first and scored one by one, in vector registers
along the row. Both sums are those of `sums.dot`: the same bits. The step is the program's own, over a memory in which
the columns of the batch come first.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from stream_maxloss.linear.memory import CAPACITY, HEADER, SCALE, STEPS, V_INTERCEPT, Floats
from stream_maxloss.linear.passes import as_inner, inner_kernels, make_write
from stream_maxloss.linear.program import Program
from stream_maxloss.linear.sums import ARRIVING, ORDERED_SUM, dot_vectorised
from stream_maxloss.machine.compiled import compiled, inner, made_once
from stream_maxloss.machine.pointers import load, load_integer, store
from stream_maxloss.machine.vectors import copy_bytes, count_beyond, prefetch
from stream_maxloss.rows.matrix import turn

__all__ = ["is_columnar", "run_columns", "score_columns"]

# Bytes of a cache line.
LINE = 64
# Rows scored at once, and that a narrow tile may be read beyond its end.
BLOCK = 8
# Bytes of a narrow tile, most of a core's first cache, and its rows at most.
NARROW_TILE = 24576
NARROW_ROWS = 256
# Bytes of a wide tile, which fit into a core's second cache beside what is being read: half of them, or all where the
# columns would else be read in shorter runs than so many rows, which cost more than their bytes; a few rows at least.
WIDE_TILE = 1 << 19
FEWEST_ROWS = 32
LONG_RUN = 128


def is_columnar(program: Program, memory: Floats) -> bool:
    """Return whether a learner's weights stay as they are on rows beyond its margin."""
    return program.advance is not None and bool(memory[SCALE] == 1.0)


@made_once
def run_columns(program: Program, wide: bool) -> Callable[..., int]:
    """Return run(m, own, columns, width, addresses, rows, targets, weights, scores, tile) for narrow or wide rows.

    It scores, then learns, each row, and returns the first that has an absent or infinite value, or the number of rows.
    `own` is a memory like the learner's with room for `width` columns: those of the batch, at `columns` of the learner.
    `tile` is room for a tile, which kernels are spared to allocate.
    """
    run_tiles = make_wide(program) if wide else make_narrow(program)

    def run(
        m: int,
        own: int,
        columns: int,
        width: int,
        addresses: int,
        rows: int,
        targets: int,
        weights: int,
        scores: int,
        tile: int,
    ) -> int:
        v, ours = m + 8 * (HEADER + int(load(m, CAPACITY))), own + 8 * (HEADER + width)
        for k in range(HEADER):
            store(own, k, load(m, k))
        store(own, CAPACITY, float(width))
        for k in range(width):
            store(ours, k, load(v, load_integer(columns, k)))
        done = run_tiles(own, width, addresses, rows, targets, weights, scores, tile)
        store(own, CAPACITY, load(m, CAPACITY))
        for k in range(HEADER):
            store(m, k, load(own, k))
        for k in range(width):
            store(v, load_integer(columns, k), load(ours, k))
        return done

    return compiled(run)


def tile_numbers(width: int) -> int:
    """Return how many numbers a tile of rows of this width takes, wherever it begins at a line."""
    if width <= ORDERED_SUM:
        # Columns, targets and scores.
        return (width + 2) * (narrow_rows(width) + BLOCK) + LINE // 8
    return turned_numbers(width)


def turned_numbers(width: int) -> int:
    """Return how many numbers a tile of turned rows takes, wherever it begins at a line."""
    stride = BLOCK * ((width + BLOCK - 1) // BLOCK | 1)
    return stride * tile_rows(8 * stride) + LINE // 8


def tile_rows(stride: int) -> int:
    """Return how many turned rows `stride` bytes apart make a tile: half of its bytes, or all for a long run."""
    fitting = WIDE_TILE // stride
    return max(FEWEST_ROWS, fitting // 2 // BLOCK * BLOCK, min(LONG_RUN, fitting // BLOCK * BLOCK))


def narrow_rows(width: int) -> int:
    """Return how many rows of so many columns make a tile as it lies."""
    return min(NARROW_ROWS, NARROW_TILE // (8 * (width + 2)) // BLOCK * BLOCK - BLOCK)


turned_height, narrow_height = inner(tile_rows), inner(narrow_rows)


@made_once
def score_columns(program: Program) -> Callable[..., tuple[int, int]]:
    """Return score(m, columns, width, addresses, rows, scores, tile): score rows and learn nothing, for any program.

    It returns -1 and 0, or the row that was refused and why; `columns` are as `sums.Row` has them.
    """
    parts = inner_kernels(program)
    score, is_finite, score_cleaned = parts.score, parts.is_finite, parts.score_cleaned
    write = make_write(program.scores)

    def run(m: int, columns: int, width: int, addresses: int, rows: int, scores: int, tile: int) -> tuple[int, int]:
        stride = 8 * BLOCK * ((width + BLOCK - 1) // BLOCK | 1)
        height = turned_height(stride)
        for first in range(0, rows, height):
            last = min(first + height, rows)
            turn(addresses, width, first, last, tile, stride)
            for i in range(first, last):
                row = (columns, tile + stride * (i - first), width, ARRIVING)
                shown = score(m, row)
                if not is_finite(shown):
                    shown, status = score_cleaned(m, row)
                    if status != 0:
                        return i, status
                write(scores, i, shown)
        return -1, 0

    return compiled(run)


def make_narrow(program: Program) -> Callable[..., int]:
    """Return the pass over narrow rows."""
    advance, limit_of = as_inner(program.advance), as_inner(program.limit)

    def run_tile(m: int, width: int, base: int, stride: int, length: int, weights: int) -> int:
        # The tile is the columns, the targets and room for the scores, `stride` bytes apart each.
        own, targets = m + 8 * (HEADER + width), base + stride * width
        scores, limit = targets + stride, limit_of(m)
        # A sum, so that the compiler cannot know it is infinity: it would test bits where one comparison is enough.
        ceiling, constant, begun = load(m, SCALE) * math.inf, load(m, V_INTERCEPT), load(m, STEPS)
        row = 0
        while row < length:
            at = base + 8 * row
            good = count_beyond(own, width, at, stride, constant, targets + 8 * row, limit, ceiling, scores + 8 * row)
            row += good
            if good == BLOCK:
                continue
            if row >= length:
                break
            score, target = load(scores, row), load(targets, row)
            # What the block has found already: told again, the compiler need not wait for the score to know the step.
            if not (target * score <= limit and math.isfinite(score)):
                break
            store(m, STEPS, begun + row)
            delta = advance(m, score, target, load(weights, row), 0.0)
            # Before the weights are written, which for all the compiler knows may lie in its place.
            constant, x = load(m, V_INTERCEPT), base + 8 * row
            for j in range(width):
                store(own, j, load(own, j) + delta * load(x, 0))
                x += stride
            row += 1
        row = min(row, length)
        store(m, STEPS, begun + row)
        return row

    run_tile = inner(run_tile)

    def run(m: int, width: int, addresses: int, rows: int, targets: int, weights: int, scores: int, tile: int) -> int:
        height = narrow_height(width)
        # Scoring may read seven rows past the last; and strides of a power of two would share few lines of the cache.
        stride = 8 * (height + BLOCK)
        for first in range(0, rows, height):
            length = min(height, rows - first)
            for j in range(width):
                at = load_integer(addresses, j) + 8 * first
                copy_bytes(tile + stride * j, at, 8 * length)
                # Ask for the column's rows of the next tile: they come while this one is learned.
                for ahead in range(at + 8 * height, at + 16 * height, 64):
                    prefetch(ahead)
            copy_bytes(tile + stride * width, targets + 8 * first, 8 * length)
            done = run_tile(m, width, tile, stride, length, weights + 8 * first)
            copy_bytes(scores + 8 * first, tile + stride * (width + 1), 8 * done)
            if done < length:
                return first + done
        return rows

    return inner(run)


def make_wide(program: Program) -> Callable[..., int]:
    """Return the pass over wide rows."""
    advance, limit_of = as_inner(program.advance), as_inner(program.limit)

    def run(m: int, width: int, addresses: int, rows: int, targets: int, weights: int, scores: int, tile: int) -> int:
        own, limit = m + 8 * (HEADER + width), limit_of(m)
        # An odd number of lines from row to row, or rows would share few of them.
        stride = 8 * BLOCK * ((width + BLOCK - 1) // BLOCK | 1)
        height = turned_height(stride)
        for first in range(0, rows, height):
            length = min(height, rows - first)
            turn(addresses, width, first, first + length, tile, stride)
            for i in range(length):
                x, target = tile + stride * i, load(targets, first + i)
                score = dot_vectorised(own, x, width) + load(m, V_INTERCEPT)
                store(scores, first + i, score)
                if limit < target * score < math.inf:
                    store(m, STEPS, load(m, STEPS) + 1.0)
                elif math.isfinite(score):
                    delta = advance(m, score, target, load(weights, first + i), 0.0)
                    for j in range(width):
                        store(own, j, load(own, j) + delta * load(x, j))
                else:
                    return first + i
        return rows

    return inner(run)
