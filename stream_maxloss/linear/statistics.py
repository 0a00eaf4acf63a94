"""Running mean and variance of features, and the pass that scales each row and learns it.

The statistics of the scaler are a matrix with one row each for COUNT, MEAN and SPREAD (the sum of squared deviations),
one column per feature, updated by Welford's rule. Kernels take its address and the number of its columns, `room`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from stream_maxloss.linear.passes import inner_kernels, make_write, row_of
from stream_maxloss.linear.program import Program
from stream_maxloss.linear.sums import ARRIVING, INFINITE, fault
from stream_maxloss.machine.compiled import compiled, inner, made_once
from stream_maxloss.machine.pointers import load, load_integer, store, store_integer

__all__ = ["COUNT", "MEAN", "SPREAD", "observe_rows", "run_scaled", "scale_rows", "scale_stretch"]

COUNT = 0
MEAN = 1
SPREAD = 2


@inner
def observe(statistics: int, room: int, column: int, value: float) -> None:
    """Take one value into account."""
    counts, means, spreads = statistics, statistics + 8 * room, statistics + 16 * room
    seen = load(counts, column) + 1.0
    store(counts, column, seen)
    deviation = value - load(means, column)
    mean = load(means, column) + deviation / seen
    store(means, column, mean)
    store(spreads, column, load(spreads, column) + deviation * (value - mean))


@inner
def scale(statistics: int, room: int, column: int, value: float, clip: float) -> float:
    """Return (value - mean) / standard deviation, kept in [-clip, clip]; 0 where there is no deviation."""
    seen = load(statistics, column)
    if seen == 0.0:
        return 0.0
    variance = load(statistics + 16 * room, column) / seen
    if variance > 0.0:
        return min(max((value - load(statistics + 8 * room, column)) / math.sqrt(variance), -clip), clip)
    return 0.0


@compiled
def observe_rows(statistics: int, room: int, columns: int, width: int, X: int, rows: int) -> None:
    """Take each row of a matrix without infinite values into account."""
    for i in range(rows):
        for k in range(width):
            value = load(X, i * width + k)
            if not math.isnan(value):
                observe(statistics, room, load_integer(columns, k), value)


@compiled
def scale_rows(statistics: int, room: int, columns: int, width: int, X: int, rows: int, clip: float) -> None:
    """Scale each row of a matrix in place; column -1 is one that was never observed."""
    for i in range(rows * width):
        column, value = load_integer(columns, i % width), load(X, i)
        if not math.isnan(value):
            store(X, i, scale(statistics, room, column, value, clip) if column >= 0 else 0.0)


@compiled
def scale_stretch(
    statistics: int,
    room: int,
    scaled: int,
    rows: int,
    indptr: int,
    columns: int,
    width: int,
    data: int,
    shown: int,
    clip: float,
) -> None:
    """Per row: scale into `shown` with the statistics before it, take it into account, and scale it anew in place.

    The arguments are those of `run_scaled`. For learners that take a row twice: to predict and to learn.
    """
    for i in range(rows):
        own, x, entries, _ = row_of(indptr, columns, width, data, i)
        seen = shown + (x - data)
        for k in range(entries):
            source, value = load_integer(scaled, load_integer(own, k)), load(x, k)
            store(seen, k, value)
            if source >= 0 and not math.isnan(value):
                store(seen, k, scale(statistics, room, source, value, clip))
                observe(statistics, room, source, value)
                store(x, k, scale(statistics, room, source, value, clip))


@made_once
def run_scaled(program: Program) -> Callable[..., tuple[int, int]]:
    """Return the pass that scales, scores and learns each row.

    run(m, statistics, room, scaled, rows, indptr, columns, width, data, targets, weights, scores, places, shown, clip):
    per row, scale and score with the statistics before it, take it into account, scale it anew and learn it. That is
    what River's `Pipeline` does with predict_one and learn_one. `scaled` gives for each of the learner's columns the
    scaler's, or -1 for text, which is not scaled. The rows are as `passes.row_of` takes them; `places` and `shown` are
    room for one row. The entry that a fault names is counted without the absent ones.
    """
    parts = inner_kernels(program)
    score, current, arrive, write = parts.score, parts.current, parts.arrive, make_write(program.scores)

    def run(
        m: int,
        statistics: int,
        room: int,
        scaled: int,
        rows: int,
        indptr: int,
        columns: int,
        width: int,
        data: int,
        targets: int,
        weights: int,
        scores: int,
        places: int,
        shown: int,
        clip: float,
    ) -> tuple[int, int]:
        for i in range(rows):
            own, x, entries, _ = row_of(indptr, columns, width, data, i)
            # The constant 0 is a type of its own to numba, which would compile all that follows for it as well.
            length = entries - entries
            for k in range(entries):
                value = load(x, k)
                if math.isinf(value):
                    return i, fault(INFINITE, length)
                if not math.isnan(value):
                    column = load_integer(own, k)
                    store_integer(places, length, column)
                    source = load_integer(scaled, column)
                    store(shown, length, value if source < 0 else scale(statistics, room, source, value, clip))
                    length += 1
            row = (places, shown, length, ARRIVING)
            write(scores, i, score(m, row))
            length = 0
            for k in range(entries):
                value = load(x, k)
                if not math.isnan(value):
                    source = load_integer(scaled, load_integer(places, length))
                    if source >= 0:
                        observe(statistics, room, source, value)
                        store(shown, length, scale(statistics, room, source, value, clip))
                    length += 1
            status = arrive(m, row, current(m, row), load(targets, i), load(weights, i))
            if status != 0:
                return i, status
        return -1, 0

    return compiled(run)
