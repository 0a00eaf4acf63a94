"""The mixture: what K experts, two stacks of them, a constant and a table say, weighed by how well each has predicted.

1. *Stacks*. A stack is p = sigma(v . s) over the experts' scores s (softmax for several classes, v . s for numbers),
   with one v, learned by the online Newton step of a Bayesian logistic regression: with x the input of the class that
   came (for two classes +-s) and p its probability,

       P <- (P - h (P x)(P x)' / (1 + h x'P x)) / keep,   v <- v + P x (1 - p) / (1 + h x'P x),   h = p (1 - p).

   `keep` < 1 forgets: two stacks with two memories. They find the slope and the offset that calibrate each expert, and
   combinations that no single expert is.
2. *Mixture* of the K experts, both stacks and what is usual (`usual`): m = sum_k pi_k p_k; then pi_k <- pi_k p_k(y),
   normalised, and shared: pi_k <- (1 - a) pi_k + a q_k, with the first weights q and a = b (1 - m(y)), b = .003. From
   the first row on its log loss exceeds that of expert k by at most ln(1 / q_k) + sum_t ln(1 / (1 - a_t)), and a switch
   to expert k after row t adds ln(1 / (a_t q_k)): exponentiated weights (S0, Lemma 5, with the log loss, for which
   eta = 1 needs no second-order term) with shares (Herbster and Warmuth, 1998). Theirs is fixed, and goes round on rows
   that nobody gets wrong. As 1 - m <= -ln m, this one costs at most b / (1 - b) of the mixture's own loss.
   With the objective "tail" or "max" only the hardest tenth or hundredth of the rows changes the weights, by what the
   mixture itself said of them: the conditional value at risk, between the mean (all rows) and the maximum (the hardest
   one), after Curi, Levy, Jegelka and Krause (2020). The bound then holds for the log loss over those rows.
3. *Table*: where labels are noisy, no score earns certainty, however large. A table of 25 log-odds, interpolated,
   learns how often m was right; m and its tabled form are mixed once more in the same way, which costs ln(1 / .8) at
   most where m is the better one, and the share. A second table learns what is still missing of that outcome o, by its
   own residuals,

       c_i <- c_i + (1[right] - o - c) part_i / rows_i,   c = sum_i part_i c_i over the two knots beside o,

   and o and o + c are mixed again: a mean of probabilities is less certain than its parts earn, where they agree.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.machine.compiled import inner, unfolded
from stream_maxloss.machine.covariance import deflate, project
from stream_maxloss.machine.kinds import float64, int64
from stream_maxloss.machine.lanes import LANES
from stream_maxloss.mixture import fields as f
from stream_maxloss.mixture.stepping import HARD, PART, plane_answers, probabilities
from stream_maxloss.mixture.usual import know_classes, observe_class

__all__ = [
    "KNOTS",
    "LEAST",
    "OBJECTIVES",
    "STACKS",
    "compile_mixing",
    "counts",
    "learn_mixture",
    "likelihood",
    "mix",
    "share_out",
    "stack_step",
]

STACKS = 2
# Memories of the stacks, about 5,000 and 500 rows; the variance that a weight of a stack starts with.
KEEP = (0.9998, 0.998)
FIRST_VARIANCE = 0.05
LARGEST_VARIANCE = 0.5
# Scores are cut off here before they are stacked, and the table ends here.
CUT = 8.0
KNOTS = 25
TABLE_MEMORY = 2000.0
# Rows of the table, each followed by the rows that it rests on; a correction starts as if it had been right so often.
SHARES, CORRECTIONS = 0, 2
FIRST_ROWS = 10.0
LEAST = 1e-6
# The part of the rows, the hardest ones, by which experts are weighed; how quickly its border moves.
OBJECTIVES = {"mean": 1.0, "tail": 0.1, "max": 0.01}
PACE = 0.05


@inner
def likelihood(answer: NDArray[np.float64], target: float) -> float:
    """Return the probability of the class that came."""
    if answer.shape[0] == 1:
        return max(answer[0] if target == 1.0 else 1.0 - answer[0], LEAST)
    return max(answer[np.int64(target)], LEAST)


@inner
def mix(table: f.Table) -> None:
    """Write what every expert, stack, the mixture and the table say of the row at hand, and the outcome to OUT."""
    score = f.floats_3(table, f.SCORE)
    answer = f.reals_2(table, f.ANSWER)
    given = f.reals_2(table, f.GIVEN)
    prior = f.reals_1(table, f.PRIOR)
    trust = f.reals_1(table, f.TRUST)
    out = f.reals_1(table, f.OUT)
    experts = score.shape[0] * LANES
    outputs = score.shape[1]
    if outputs == 1:
        for plane in range(score.shape[0]):
            plane_answers(table, plane, table[f.ANSWER, 0] + plane * LANES * 8)
    for k in range(experts):
        if outputs > 1:
            probabilities(score[k // LANES], k % LANES, answer[k])
        for c in range(outputs):
            given[c, k] = min(max(np.float64(score[k // LANES, c, k % LANES]), -CUT), CUT)
    for c in range(outputs):
        given[c, experts] = 1.0 if outputs == 1 else 0.0
    if prior.shape[0] > experts + STACKS:
        know_classes(table, experts + STACKS)
    stack_answers(table, experts)
    mixed = prior.shape[0]
    mixture, tabled = answer[mixed], answer[mixed + 1]
    for c in range(outputs):
        mixture[c] = 0.0
        for k in range(mixed):
            mixture[c] += prior[k] * answer[k, c]
    # Where the mixture lies in the table, for the step as well.
    out[outputs] = knot_of(mixture[top_class(mixture)])
    look_up(table, mixture, out[outputs], tabled)
    first, corrected = answer[mixed + 2], answer[mixed + 3]
    for c in range(outputs):
        first[c] = trust[0] * mixture[c] + trust[1] * tabled[c]
    out[outputs + 1] = knot_of(first[top_class(first)])
    correct(table, first, out[outputs + 1], corrected)
    for c in range(outputs):
        out[c] = trust[2] * first[c] + trust[3] * corrected[c]


@unfolded
def stack_answers(table: f.Table, experts: int) -> None:
    """Write what the stacks say."""
    answer = f.reals_2(table, f.ANSWER)
    given = f.reals_2(table, f.GIVEN)
    stack = f.reals_2(table, f.STACK)
    gradient = f.floats_2(table, f.GRADIENT)
    for s in range(STACKS):
        for c in range(answer.shape[1]):
            total = 0.0
            for k in range(experts + 1):
                total += stack[s, k] * given[c, k]
            gradient[c, 0] = total
        probabilities(gradient, np.int64(0), answer[experts + s])


@inner
def top_class(mixture: NDArray[np.float64]) -> int:
    """Return the likeliest class, or 0, the one output, if there are two classes."""
    top = 0
    for c in range(1, mixture.shape[0]):
        if mixture[c] > mixture[top]:
            top = c
    return top


@inner
def knot_of(probability: float) -> float:
    """Return the place of a probability in the table: a knot and the way to the next."""
    # Written so that what is no number counts as the least, too: as a place it would lie far outside the table.
    p = probability if LEAST < probability < 1.0 - LEAST else LEAST if not probability > 0.5 else 1.0 - LEAST
    odds = min(max(math.log(p / (1.0 - p)), -CUT), CUT * 0.999999)
    return (odds + CUT) / (2.0 * CUT) * (KNOTS - 1)


@unfolded
def look_up(table: f.Table, mixture: NDArray[np.float64], place: float, out: NDArray[np.float64]) -> None:
    """Write the mixture with the probability of its likeliest class as the table has it, the others in proportion."""
    knots = f.reals_2(table, f.TABLE)
    knot = np.int64(place)
    part = place - knot
    set_top(mixture, knots[SHARES, knot] * (1.0 - part) + knots[SHARES, knot + 1] * part, out)


@unfolded
def correct(table: f.Table, first: NDArray[np.float64], place: float, out: NDArray[np.float64]) -> None:
    """Write the first outcome with the probability of its likeliest class corrected."""
    knots = f.reals_2(table, f.TABLE)
    knot = np.int64(place)
    part = place - knot
    added = knots[CORRECTIONS, knot] * (1.0 - part) + knots[CORRECTIONS, knot + 1] * part
    set_top(first, first[top_class(first)] + added, out)


@inner
def set_top(answer: NDArray[np.float64], probability: float, out: NDArray[np.float64]) -> None:
    """Write an answer with another probability of its likeliest class, the others in proportion."""
    top = top_class(answer)
    p = min(max(probability, LEAST), 1.0 - LEAST)
    rest = (1.0 - p) / max(1.0 - answer[top], LEAST)
    for c in range(answer.shape[0]):
        out[c] = answer[c] * rest
    out[top] = p


@inner
def learn_mixture(table: f.Table, target: float) -> None:
    """Weigh experts, stacks and table by the class that came, and let stacks and table learn it."""
    answer = f.reals_2(table, f.ANSWER)
    prior = f.reals_1(table, f.PRIOR)
    trust = f.reals_1(table, f.TRUST)
    out = f.reals_1(table, f.OUT)
    parts = f.reals_1(table, f.PARTS)
    experts, mixed = table[f.SCORE, 1] * LANES, prior.shape[0]
    said = likelihood(answer[mixed], target)
    outcomes = trust[0] * said + trust[1] * likelihood(answer[mixed + 1], target)
    outcome = trust[2] * likelihood(answer[mixed + 2], target) + trust[3] * likelihood(answer[mixed + 3], target)
    if counts(table, said):
        for k in range(mixed):
            prior[k] *= likelihood(answer[k], target)
        for k in range(4):
            trust[k] *= likelihood(answer[mixed + k], target)
    else:
        said, outcomes, outcome = 1.0, 1.0, 1.0
    share_out(table, prior, parts[:mixed], said)
    share_out(table, trust[:2], parts[mixed : mixed + 2], outcomes)
    share_out(table, trust[2:], parts[mixed + 2 :], outcome)
    place, next_place = out[answer.shape[1]], out[answer.shape[1] + 1]
    learn_table(table, answer[mixed], place, np.int64(SHARES), target)
    learn_table(table, answer[mixed + 2], next_place, np.int64(CORRECTIONS), target)
    for s in range(STACKS):
        learn_stack(table, s, experts, target)
    if mixed > experts + STACKS:
        observe_class(table, target)


@inner
def share_out(table: f.Table, weights: NDArray[np.float64], parts: NDArray[np.float64], said: float) -> None:
    """Let weights add up to 1, and give each its part of the share; `said` is the likelihood that they gave."""
    rates = f.reals_1(table, f.RATES)
    share = rates[0] + rates[1] * (1.0 - said)
    total = 0.0
    for k in range(weights.shape[0]):
        total += weights[k]
    factor = (1.0 - share) / total
    for k in range(weights.shape[0]):
        weights[k] = weights[k] * factor + share / parts[k]


@unfolded
def counts(table: f.Table, said: float) -> bool:
    """Tell whether a row counts for the objective; `said` is the likelihood that the mixture gave to what came.

    All rows do for the mean. Otherwise those do that lie among the hardest a of the rows, 1 - said > q, where q follows
    the quantile: q <- q exp(pace (1[1 - said > q] - a)).
    """
    scale = f.reals_1(table, f.SCALE)
    if scale[PART] == 1.0:
        return True
    is_hard = 1.0 - said > scale[HARD]
    move = math.exp(PACE * ((1.0 if is_hard else 0.0) - scale[PART]))
    scale[HARD] = min(max(scale[HARD] * move, LEAST), 1.0)
    return is_hard


@inner
def learn_table(table: f.Table, answer: NDArray[np.float64], place: float, row: int, target: float) -> None:
    """Move the two knots beside an answer: SHARES towards what came, CORRECTIONS by what is left of it."""
    knots = f.reals_2(table, f.TABLE)
    outputs = answer.shape[0]
    top = top_class(answer)
    knot = np.int64(place)
    came = 1.0 if target == (1.0 if outputs == 1 else top) else 0.0
    if row == CORRECTIONS:
        corrected = f.reals_2(table, f.ANSWER)[table[f.ANSWER, 1] - 1]
        came = came - corrected[top]
    for side in range(2):
        part = place - knot if side == 1 else 1.0 - (place - knot)
        count = min(knots[row + 1, knot + side] + part, TABLE_MEMORY)
        knots[row + 1, knot + side] = count
        left = came if row == CORRECTIONS else came - knots[row, knot + side]
        knots[row, knot + side] += left * part / count


@unfolded
def learn_stack(table: f.Table, s: int, experts: int, target: float) -> None:
    """Take one stack's step on the class that came."""
    answer = f.reals_2(table, f.ANSWER)
    given = f.reals_2(table, f.GIVEN)
    outputs = answer.shape[1]
    x = given[outputs]
    p = likelihood(answer[experts + s], target)
    for k in range(experts + 1):
        if outputs == 1:
            x[k] = given[0, k] if target == 1.0 else -given[0, k]
        else:
            others = 0.0
            for c in range(outputs):
                if c != target:
                    others += answer[experts + s, c] * given[c, k]
            x[k] = given[np.int64(target), k] - others / max(1.0 - p, LEAST)
    stack_step(table, s, outputs, max(p * (1.0 - p), 1e-3), 1.0 - p)


@inner
def stack_step(table: f.Table, s: int, row: int, curvature: float, slope: float) -> None:
    """Take a Newton step along x, a row of GIVEN: `slope` is the loss's derivative there, `curvature` its second."""
    stack = f.reals_2(table, f.STACK)[s]
    spread = f.reals_3(table, f.SPREAD)[s]
    given = f.reals_2(table, f.GIVEN)
    length = stack.shape[0]
    x, reach = given[row], given[given.shape[0] - 1]
    matrix = table[f.SPREAD, 0] + s * length * length * 8
    towards = table[f.GIVEN, 0] + (given.shape[0] - 1) * length * 8
    project(matrix, table[f.GIVEN, 0] + row * length * 8, towards, length)
    total = 0.0
    variance = 0.0
    for i in range(length):
        total += x[i] * reach[i]
        variance += spread[i, i]
    shrink = 1.0 / (1.0 + curvature * total)
    for i in range(length):
        stack[i] += reach[i] * (slope * shrink)
    # Forgetting stops where a variance would grow without end for want of news.
    inputs = table[f.SCORE, 1] * LANES + 1
    grow = 1.0 / KEEP[s] if variance < LARGEST_VARIANCE * inputs else 1.0
    deflate(matrix, towards, curvature * shrink, grow, length)


def compile_mixing() -> None:
    """Compile the two largest parts of the kernel of classifiers: whoever compiles the rest finds them on disk."""
    if hasattr(mix, "compile"):  # not with NUMBA_DISABLE_JIT
        table = int64[:, ::1]
        mix.compile((table,))
        learn_mixture.compile((table, float64))
