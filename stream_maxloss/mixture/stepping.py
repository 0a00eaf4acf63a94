"""The experts: their scores of a row, and their steps.

An expert is a linear model over some of the groups of features. Its score is

    s = sum over its groups g of n_g^(-1/2) sum_{i in g} w_i x_i,      n_g active features in group g,

so that neither long rows nor many ferns need another step. It learns by gradient steps on its loss,

    g_i = -dl/ds n_g^(-1/2) x_i,    w_i <- w_i + a g_i / sqrt(sum of g_i^2 so far) + c g_i,

with a > 0 (AdaGrad; Duchi, Hazan and Singer, 2011) or c > 0 (a constant step, for concepts that drift).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.machine.compiled import inner, unfolded
from stream_maxloss.machine.lanes import (
    CELL_BYTES,
    LANE_BYTES,
    LANES,
    score_cells,
    score_leaves,
    sigmoids,
    step_cells,
    step_leaves,
)
from stream_maxloss.mixture import fields as f
from stream_maxloss.mixture.reading import TAUGHT, UNTAUGHT

__all__ = [
    "CLASSES",
    "HIGHEST",
    "QUANTILE",
    "SQUARED",
    "bend_of",
    "known_slopes",
    "plane_answers",
    "probabilities",
    "score_plane",
    "slopes",
    "step_plane",
]

# What is predicted: classes, or a number by squared or by pinball loss (absolute loss is that of the median).
CLASSES, SQUARED, QUANTILE = range(3)
# Places in what is known of a number's targets: how many, their mean and sum of squared deviations, the mean loss of
# the mixture in deviations, and the quantile that is predicted. Then, for classes as well, the part of the rows that
# counts for the objective, and how hard a row must be to belong to it.
COUNT, MEAN, SPREAD, LOSS, LEVEL, PART, HARD = range(7)
# Scores beyond are cut off: a probability never falls below 10^-6.
HIGHEST = 14.0
# A residual counts as at most this many deviations of the target.
STEEPEST = 3.0


@unfolded
def field_of(group: int) -> int:
    """Return the field that holds the cells of a group."""
    if group == 0:
        return f.RAW
    return f.BINS if group == 1 else f.LEAVES


@unfolded
def cells_of(table: f.Table, group: int, plane: int) -> int:
    """Return the address of the first cell of a group, for the first output of eight experts."""
    field = field_of(group)
    return table[field, 0] + plane * table[field, 2] * table[field, 3] * CELL_BYTES


@inner
def score_plane(table: f.Table, plane: int) -> None:
    """Score the row at hand by the eight experts of a plane."""
    active = f.integers_1(table, f.ACTIVE)
    score = f.floats_3(table, f.SCORE)
    outputs = score.shape[1]
    out = table[f.SCORE, 0] + plane * outputs * LANE_BYTES
    stride = outputs * CELL_BYTES
    shift = f.integers_1(table, f.HEADER)[f.SHIFT]
    bits = table[f.TEST_NUMBER, 2] - shift
    for c in range(outputs):
        for k in range(LANES):
            score[plane, c, k] = 0.0
    for group in range(4):
        count = active[group]
        if count == 0:
            continue
        norm = np.float32(1.0 / math.sqrt(count))
        cells = cells_of(table, group, plane)
        mask = table[f.MASK, 0] + (plane * 4 + group) * LANE_BYTES
        indices = table[f.INDEX, 0] + group * table[f.INDEX, 2] * 8
        values = table[f.VALUE, 0] + group * table[f.INDEX, 2] * 4
        first = table[f.MASKS, 2] if group == TAUGHT else 0
        for c in range(outputs):
            here, there = cells + c * CELL_BYTES, out + c * LANE_BYTES
            if group < UNTAUGHT:
                score_cells(here, stride, indices, values, count, mask, norm, there)
            else:
                score_leaves(here, stride, table[f.LEAF, 0], first, count, bits, shift, mask, norm, there)


@inner
def probabilities(scores: NDArray[np.float32], lane: int, out: NDArray[np.float64]) -> None:
    """Write what the scores of one lane say: the probability of the second of two classes, or of each of several."""
    outputs = scores.shape[0]
    if outputs == 1:
        out[0] = 1.0 / (1.0 + math.exp(-min(max(np.float64(scores[0, lane]), -HIGHEST), HIGHEST)))
        return
    top = scores[0, lane]
    for c in range(1, outputs):
        top = max(top, scores[c, lane])
    total = 0.0
    for c in range(outputs):
        out[c] = math.exp(max(np.float64(scores[c, lane] - top), -HIGHEST))
        total += out[c]
    for c in range(outputs):
        out[c] /= total


@unfolded
def plane_answers(table: f.Table, plane: int, out: int) -> None:
    """Write what eight experts say of two classes to an address, as float64."""
    sigmoids(table[f.SCORE, 0] + plane * LANE_BYTES, HIGHEST, out)


@inner
def slopes(table: f.Table, plane: int, target: float) -> float:
    """Write -dl/ds of each output and expert of a plane; return the mean loss of the experts, in [0, 1]."""
    score = f.floats_3(table, f.SCORE)[plane]
    gradient = f.floats_2(table, f.GRADIENT)
    chance = f.reals_2(table, f.CHANCE)
    kind = f.integers_1(table, f.HEADER)[f.KIND]
    if kind == CLASSES and chance.shape[1] == 1:
        plane_answers(table, plane, table[f.CHANCE, 0])
    loss = 0.0
    for k in range(LANES):
        if kind == CLASSES:
            if chance.shape[1] > 1:
                probabilities(score, k, chance[k])
            loss += class_slopes(chance[k], target, gradient, k)
        else:
            gradient[0, k] = number_slope(table, target - score[0, k])
            loss += min(abs(gradient[0, k]), 1.0)
    return loss / LANES


@inner
def known_slopes(table: f.Table, plane: int, target: float) -> None:
    """Write -dl/ds as `slopes` does, from the answers that the mixture was made of."""
    score = f.floats_3(table, f.SCORE)[plane]
    gradient = f.floats_2(table, f.GRADIENT)
    answer = f.reals_2(table, f.ANSWER)
    kind = f.integers_1(table, f.HEADER)[f.KIND]
    for k in range(LANES):
        if kind == CLASSES:
            class_slopes(answer[plane * LANES + k], target, gradient, k)
        else:
            gradient[0, k] = number_slope(table, target - score[0, k])


@inner
def class_slopes(p: NDArray[np.float64], target: float, gradient: NDArray[np.float32], k: int) -> float:
    """Write truth - p of each output; return the probability that was given to other classes."""
    outputs = p.shape[0]
    if outputs == 1:
        # With two classes the one output speaks for the second.
        gradient[0, k] = (1.0 if target == 1.0 else 0.0) - p[0]
        return abs(gradient[0, k])
    for c in range(outputs):
        gradient[c, k] = (1.0 if target == c else 0.0) - p[c]
    return 1.0 - p[np.int64(target)]


@inner
def bend_of(table: f.Table) -> float:
    """Return up to which error the pinball loss is taken as a parabola: the mean loss at the median, less beside it.

    Within the parabola an expert finds a mean, and beside the median that is not the quantile.
    """
    scale = f.reals_1(table, f.SCALE)
    side = 2.0 * min(scale[LEVEL], 1.0 - scale[LEVEL])
    return max(side * side * scale[LOSS], 1e-3)


@inner
def number_slope(table: f.Table, residual: float) -> float:
    """Return -dl/ds of a number's loss."""
    if f.integers_1(table, f.HEADER)[f.KIND] == SQUARED:
        return min(max(residual, -STEEPEST), STEEPEST)
    level = f.reals_1(table, f.SCALE)[LEVEL]
    share = level if residual > 0.0 else 1.0 - level
    return 2.0 * share * min(max(residual / bend_of(table), -1.0), 1.0)


@inner
def step_plane(table: f.Table, plane: int, w: float) -> None:
    """Let the eight experts of a plane take their step on the row at hand, with the slopes that were just found."""
    active = f.integers_1(table, f.ACTIVE)
    outputs = table[f.SCORE, 2]
    stride = outputs * CELL_BYTES
    shift = f.integers_1(table, f.HEADER)[f.SHIFT]
    bits = table[f.TEST_NUMBER, 2] - shift
    adaptive = table[f.ADAPTIVE, 0] + plane * LANE_BYTES
    steady = table[f.CONSTANT, 0] + plane * LANE_BYTES
    for group in range(4):
        count = active[group]
        if count == 0:
            continue
        scale = np.float32(w / math.sqrt(count))
        cells = cells_of(table, group, plane)
        mask = table[f.MASK, 0] + (plane * 4 + group) * LANE_BYTES
        indices = table[f.INDEX, 0] + group * table[f.INDEX, 2] * 8
        values = table[f.VALUE, 0] + group * table[f.INDEX, 2] * 4
        first = table[f.MASKS, 2] if group == TAUGHT else 0
        for c in range(outputs):
            here, slope = cells + c * CELL_BYTES, table[f.GRADIENT, 0] + c * LANE_BYTES
            if group < UNTAUGHT:
                step_cells(here, stride, indices, values, count, slope, mask, adaptive, steady, scale)
            else:
                leaf = table[f.LEAF, 0]
                step_leaves(here, stride, leaf, first, count, bits, shift, slope, mask, adaptive, steady, scale)
