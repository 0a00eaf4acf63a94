"""Running mean and variance of features, and the pass that scales each row and learns it.

The statistics of the scaler are a matrix with one row each for COUNT, MEAN and SPREAD (the sum of squared deviations),
one column per feature, updated by Welford's rule.
"""

from __future__ import annotations

import math

import numpy as np

from stream_maxloss.linear.compiled import compiled, inner
from stream_maxloss.linear.kernels import learn_sparse
from stream_maxloss.linear.memory import Floats
from stream_maxloss.linear.passes import split
from stream_maxloss.linear.scoring import INFINITE, Integers, fault, score_sparse

__all__ = ["COUNT", "MEAN", "SPREAD", "observe_rows", "run_scaled", "scale_rows", "scale_stretch"]

COUNT = 0
MEAN = 1
SPREAD = 2


@inner
def observe(statistics: Floats, column: int, value: float) -> None:
    """Take one value into account."""
    statistics[COUNT, column] += 1.0
    deviation = value - statistics[MEAN, column]
    statistics[MEAN, column] += deviation / statistics[COUNT, column]
    statistics[SPREAD, column] += deviation * (value - statistics[MEAN, column])


@inner
def scale(statistics: Floats, column: int, value: float, clip: float) -> float:
    """Return (value - mean) / standard deviation, kept in [-clip, clip]; 0 where there is no deviation."""
    if statistics[COUNT, column] == 0.0:
        return 0.0
    variance = statistics[SPREAD, column] / statistics[COUNT, column]
    if variance > 0.0:
        return min(max((value - statistics[MEAN, column]) / math.sqrt(variance), -clip), clip)
    return 0.0


@compiled
def observe_rows(statistics: Floats, columns: Integers, X: Floats) -> int:
    """Take each row of a matrix into account; return -1, or the row and column (flattened) of an infinite value."""
    for i in range(X.shape[0]):
        for k in range(columns.shape[0]):
            if np.isinf(X[i, k]):
                return i * columns.shape[0] + k
    for i in range(X.shape[0]):
        for k in range(columns.shape[0]):
            if not np.isnan(X[i, k]):
                observe(statistics, columns[k], X[i, k])
    return -1


@compiled
def scale_rows(statistics: Floats, columns: Integers, X: Floats, clip: float) -> None:
    """Scale each row of a matrix in place; column -1 is one that was never observed."""
    for i in range(X.shape[0]):
        for k in range(columns.shape[0]):
            if not np.isnan(X[i, k]):
                X[i, k] = scale(statistics, columns[k], X[i, k], clip) if columns[k] >= 0 else 0.0


@compiled
def scale_stretch(
    statistics: Floats, scaled: Integers, indptr: Integers, columns: Integers, data: Floats, shown: Floats, clip: float
) -> None:
    """Per row: scale into `shown` with the statistics before it, take it into account, and scale it anew in place.

    The arguments are those of `run_scaled`. For learners that take a row twice: to predict and to learn.
    """
    every = indptr.shape[0] == 1
    width = columns.shape[0]
    rows = data.shape[0] // max(1, width) if every else indptr.shape[0] - 1
    for i in range(rows):
        first = i * width if every else indptr[i]
        last = first + width if every else indptr[i + 1]
        for k in range(first, last):
            source = scaled[columns[k - first] if every else columns[k]]
            value = data[k]
            shown[k] = value
            if source >= 0 and not np.isnan(value):
                shown[k] = scale(statistics, source, value, clip)
                observe(statistics, source, value)
                data[k] = scale(statistics, source, value, clip)


@compiled
def run_scaled(
    memory: Floats,
    statistics: Floats,
    scaled: Integers,
    indptr: Integers,
    columns: Integers,
    data: Floats,
    targets: Floats,
    weights: Floats,
    scores: Floats,
    clip: float,
) -> tuple[int, int]:
    """Per row: scale and score with the statistics before it, take it into account, scale it anew and learn it.

    That is what River's `Pipeline` does with predict_one and learn_one. `scaled` gives for each of the learner's
    columns the scaler's, or -1 for text, which is not scaled. With an `indptr` of length 1, each row has all `columns`.
    The entry that a fault names is counted without the absent ones.
    """
    h, _, v, u = split(memory)
    every = indptr.shape[0] == 1
    width = columns.shape[0]
    buffer = np.empty(width)
    places = np.empty(width, dtype=np.int64)
    for i in range(targets.shape[0]):
        first = i * width if every else indptr[i]
        last = first + width if every else indptr[i + 1]
        length = 0
        for k in range(first, last):
            if np.isinf(data[k]):
                return i, fault(INFINITE, length)
            if not np.isnan(data[k]):
                column = columns[k - first] if every else columns[k]
                places[length] = column
                source = scaled[column]
                buffer[length] = data[k] if source < 0 else scale(statistics, source, data[k], clip)
                length += 1
        scores[i] = score_sparse(h, v, u, places, 0, buffer, 0, length)
        length = 0
        for k in range(first, last):
            if not np.isnan(data[k]):
                source = scaled[places[length]]
                if source >= 0:
                    observe(statistics, source, data[k])
                    buffer[length] = scale(statistics, source, data[k], clip)
                length += 1
        status = learn_sparse(memory, h, v, u, places, 0, buffer, 0, length, targets[i], weights[i])
        if status != 0:
            return i, status
    return -1, 0
