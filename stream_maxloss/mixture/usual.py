"""Experts that do not look at the row: what is usual, and for numbers what came last and what has been usual of late.

Classes. With n_c rows of class c among n so far, and K classes,

    p_c = (n_c + 1/2) / (n + K/2)      (Krichevsky and Trofimov, 1981).

With it in the mixture a stream on which nothing can be learned, or which is too short to learn it, costs hardly more
than a constant does. What came last is left out on purpose: labels that are sorted, or that take turns, would be
learned as such, and rows that are predicted later do not come in that order.

Numbers. The mean (with a pinball loss the quantile of the window; followed by steps for the first rows, or where no
window is kept), the last number, and a running mean of about twenty. The last two are inputs of the stacks as well:
what rises and falls by little from row to row is predicted from where it stands.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.machine.compiled import inner, unfolded
from stream_maxloss.machine.lanes import LANES
from stream_maxloss.mixture import fields as f
from stream_maxloss.mixture.history import FIRST_INTERVAL, interval_of
from stream_maxloss.mixture.stepping import CLASSES, COUNT, LEVEL, QUANTILE, SQUARED

__all__ = [
    "INPUTS",
    "find_quantile",
    "know_classes",
    "know_number",
    "observe_class",
    "observe_number",
    "seen_length",
    "usual_experts",
]

# Of numbers these are kept, and the last two are the inputs of a stack; of classes how often each of them came.
USUAL_NUMBER, USUAL_ERROR, LAST, LATELY = range(4)
INPUTS = 2
# Inputs are cut off at so many deviations, as scores are, and what these experts say at so many.
CUT = 8.0
FAR = 1e6
# What came of late fades by this factor a row. The usual error follows the median by PACE, and where steps are taken
# towards the quantile, it forgets after so many rows.
FORGETTING = 0.95
PACE = 0.1
MEMORY = 1000.0


def usual_experts(kind: int) -> int:
    """Return how many experts do not look at the row."""
    return 1 if kind == CLASSES else 1 + INPUTS


def seen_length(kind: int, outputs: int) -> int:
    """Return how many numbers are kept of labels regardless of their rows."""
    return max(2, outputs) if kind == CLASSES else 4


@unfolded
def know_classes(table: f.Table, place: int) -> None:
    """Write the usual probability of each class to a row of the answers."""
    seen, answer = f.reals_1(table, f.SEEN), f.reals_2(table, f.ANSWER)
    outputs, classes = answer.shape[1], seen.shape[0]
    count = 0.5 * classes
    for c in range(classes):
        count += seen[c]
    for c in range(outputs):
        # With two classes the one output speaks for the second.
        answer[place, c] = (seen[1 if outputs == 1 else c] + 0.5) / count


@inner
def observe_class(table: f.Table, target: float) -> None:
    """Count a class."""
    f.reals_1(table, f.SEEN)[np.int64(target)] += 1.0


@unfolded
def know_number(table: f.Table, place: int, mean: float, deviation: float) -> None:
    """Write what the three say of the next number, in deviations from the mean, and the inputs of the stacks."""
    seen, answer, given = f.reals_1(table, f.SEEN), f.reals_2(table, f.ANSWER), f.reals_2(table, f.GIVEN)
    experts = table[f.SCORE, 1] * LANES
    usual = (seen[USUAL_NUMBER] - mean) / deviation
    if f.integers_1(table, f.HEADER)[f.KIND] == SQUARED or f.reals_1(table, f.SCALE)[COUNT] == 0.0:
        usual = 0.0
    answer[place, 0] = min(max(usual, -FAR), FAR)
    for k in range(INPUTS):
        # Numbers that jump leave the range of what can be learned before their deviation has followed.
        said = min(max((seen[LAST + k] - mean) / deviation, -FAR), FAR)
        answer[place + 1 + k, 0] = said
        given[0, experts + 1 + k] = min(max(said, -CUT), CUT)


@inner
def follow_quantile(seen: NDArray[np.float64], target: float, level: float, count: float) -> None:
    """Take a step towards the quantile: 1 / (density n), with half of the numbers within the usual error."""
    away = target - seen[USUAL_NUMBER]
    error = seen[USUAL_ERROR]
    error = error * math.exp(PACE * (0.5 if abs(away) > error else -0.5)) if error > 0.0 else abs(away)
    seen[USUAL_ERROR] = error
    if away != 0.0:
        up = level - (1.0 if away < 0.0 else 0.0)
        seen[USUAL_NUMBER] += 4.0 * error * up / (min(count, MEMORY) + 4.0)


@unfolded
def observe_number(table: f.Table, target: float, furthest: float) -> None:
    """Take a number into account; one further from the running mean than `furthest` counts as if it were there."""
    seen, scale = f.reals_1(table, f.SEEN), f.reals_1(table, f.SCALE)
    count = scale[COUNT]
    if count == 0.0:
        seen[USUAL_NUMBER], seen[LATELY] = target, target
    elif count < FIRST_INTERVAL or f.integers_1(table, f.HEADER)[f.REPLAYS] == 0:
        follow_quantile(seen, target, scale[LEVEL], count)
    moved = min(max(target - seen[LATELY], -furthest), furthest)
    seen[LATELY] += moved * max(1.0 - FORGETTING, 1.0 / (count + 1.0))
    seen[LAST] = target


def find_quantile(arrays: dict[str, NDArray[Any]], kept: int) -> None:
    """Take the quantile from the window, as often as the weights go into the history."""
    header = arrays["header"]
    rows = int(header[f.ROWS])
    if header[f.KIND] == QUANTILE and header[f.REPLAYS] and rows % interval_of(rows) == 0:
        targets, level = arrays["kept_target"][:kept], arrays["scale"][LEVEL]
        # A number that came, not one between two: zeros that come often are not missed by a little.
        arrays["seen"][USUAL_NUMBER] = np.quantile(targets, level, method="inverted_cdf")
