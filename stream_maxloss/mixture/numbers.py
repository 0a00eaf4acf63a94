"""The mixture where a number is predicted.

Experts predict in deviations of the target from its mean, both running. With l_k the loss of expert k (squared, or
pinball, of which the absolute loss is the case of the median) and b the running mean loss of the mixture,

    pi_k <- pi_k exp(-l_k / (2 b)), normalised, then shared (a = .003 (1 - exp(-l / (2 b)))),

so that the weights need no scale. Three experts do not look at the row (`usual`). The stacks take Newton steps on the
squared loss; for the pinball loss each row counts with 1 / max(|error|, bend), the weight with which least squares
become least absolute errors. There is no table: numbers have nothing to be calibrated.
"""

from __future__ import annotations

import math

import numpy as np

from stream_maxloss.machine.compiled import inner
from stream_maxloss.machine.lanes import LANES
from stream_maxloss.mixture import fields as f
from stream_maxloss.mixture.mixing import CUT, STACKS, counts, share_out, stack_step
from stream_maxloss.mixture.stepping import COUNT, LEVEL, LOSS, MEAN, SPREAD, SQUARED, bend_of
from stream_maxloss.mixture.usual import INPUTS, know_number, observe_number

__all__ = ["learn_numbers", "mix_numbers", "natural", "observe_target", "standardised"]

# Rows over which the mean loss is taken.
MEMORY = 1000.0
LARGEST = 1e30
# A target counts within so many deviations, once there are some: one wild one must not hide all others.
WILD = 10.0
SETTLED = 30.0
# The smallest factor by which one row lowers a weight.
WORST = -10.0


@inner
def deviation_of(table: f.Table) -> float:
    """Return the standard deviation of the targets so far, 1 while there is none."""
    scale = f.reals_1(table, f.SCALE)
    if scale[COUNT] < 2.0 or scale[SPREAD] <= 0.0:
        return 1.0
    return math.sqrt(scale[SPREAD] / scale[COUNT])


@inner
def standardised(table: f.Table, target: float) -> float:
    """Return a number in deviations of the target from its mean, as the experts predict it.

    The first number is its own mean, and the second lies a deviation from it at most: there is no scale yet.
    """
    scale = f.reals_1(table, f.SCALE)
    value = (min(max(target, -LARGEST), LARGEST) - scale[MEAN]) / deviation_of(table)
    return value if scale[COUNT] > 1.0 else min(max(value, -scale[COUNT]), scale[COUNT])


@inner
def natural(table: f.Table, value: float) -> float:
    """Return a prediction in the target's own unit."""
    return f.reals_1(table, f.SCALE)[MEAN] + value * deviation_of(table)


@inner
def observe_target(table: f.Table, target: float) -> None:
    """Take a target into account."""
    scale = f.reals_1(table, f.SCALE)
    count = scale[COUNT]
    if table[f.PRIOR, 1] > table[f.SCORE, 1] * LANES + STACKS:
        observe_number(table, min(max(target, -LARGEST), LARGEST), WILD * deviation_of(table))
    deviation = min(max(target, -LARGEST), LARGEST) - scale[MEAN]
    if count > SETTLED and deviation * deviation * count > WILD * WILD * scale[SPREAD] > 0.0:
        deviation = math.copysign(WILD * math.sqrt(scale[SPREAD] / count), deviation)
    scale[COUNT] = count + 1.0
    scale[MEAN] += deviation / (count + 1.0)
    scale[SPREAD] += deviation * deviation * count / (count + 1.0)


@inner
def loss_of(table: f.Table, error: float) -> float:
    """Return the loss of an error: squared, or pinball doubled, so that it is the absolute error at the median."""
    if f.integers_1(table, f.HEADER)[f.KIND] == SQUARED:
        return error * error
    level = f.reals_1(table, f.SCALE)[LEVEL]
    return 2.0 * (level * error if error > 0.0 else (level - 1.0) * error)


@inner
def mix_numbers(table: f.Table) -> None:
    """Write what every expert, stack and the mixture predict for the row at hand, and the outcome to OUT."""
    score = f.floats_3(table, f.SCORE)
    answer = f.reals_2(table, f.ANSWER)
    given = f.reals_2(table, f.GIVEN)
    stack = f.reals_2(table, f.STACK)
    prior = f.reals_1(table, f.PRIOR)
    experts = score.shape[0] * LANES
    for k in range(experts):
        given[0, k] = min(max(np.float64(score[k // LANES, 0, k % LANES]), -CUT), CUT)
        answer[k, 0] = given[0, k]
    given[0, experts] = 1.0
    mixed = prior.shape[0]
    if mixed > experts + STACKS:
        know_number(table, experts + STACKS, f.reals_1(table, f.SCALE)[MEAN], deviation_of(table))
    mixture = 0.0
    for s in range(STACKS):
        total = 0.0
        for k in range(experts + 1 + INPUTS):
            total += stack[s, k] * given[0, k]
        answer[experts + s, 0] = min(max(total, -CUT), CUT)
    for k in range(mixed):
        mixture += prior[k] * answer[k, 0]
    answer[mixed, 0] = mixture
    answer[mixed + 1, 0] = mixture
    f.reals_1(table, f.OUT)[0] = mixture


@inner
def learn_numbers(table: f.Table, target: float) -> None:
    """Weigh experts and stacks by their losses on the standardised target, and let the stacks learn it."""
    answer = f.reals_2(table, f.ANSWER)
    prior = f.reals_1(table, f.PRIOR)
    scale = f.reals_1(table, f.SCALE)
    experts, mixed = table[f.SCORE, 1] * LANES, prior.shape[0]
    mean = max(scale[LOSS], 1e-6)
    loss = loss_of(table, target - answer[mixed, 0])
    said = math.exp(-loss / (2.0 * mean))
    if counts(table, said):
        for k in range(mixed):
            prior[k] *= math.exp(max(-loss_of(table, target - answer[k, 0]) / (2.0 * mean), WORST))
    else:
        said = 1.0
    share_out(table, prior, f.reals_1(table, f.PARTS)[:mixed], said)
    is_squared = f.integers_1(table, f.HEADER)[f.KIND] == SQUARED
    for s in range(STACKS):
        error = target - answer[experts + s, 0]
        curvature = 1.0 / mean
        if not is_squared:
            share = scale[LEVEL] if error > 0.0 else 1.0 - scale[LEVEL]
            curvature = 2.0 * share / (mean * max(abs(error), bend_of(table)))
        stack_step(table, s, np.int64(0), curvature, curvature * error)
    scale[LOSS] += (min(loss, CUT * CUT) - scale[LOSS]) / min(scale[COUNT] + 2.0, MEMORY)
