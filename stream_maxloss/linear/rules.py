"""The update rules, one small function each, chosen by an integer code inside the kernels.

With score s = <w, x> + b, label y in {-1, +1} and margin z = y s, every additive rule moves

    w <- shrink * w + coefficient * x

and this module computes (shrink, coefficient). The multiplicative rules (Winnow) live in `kernels`.
"""

from __future__ import annotations

import math

import numpy as np

from stream_maxloss.linear.compiled import compiled, inner
from stream_maxloss.linear.memory import (
    ABSOLUTE,
    ADAPTED,
    AVERAGED,
    BALANCED_WINNOW,
    FIRST,
    FOURTH,
    HINGE,
    LLD,
    MARGIN_PURSUIT,
    PEGASOS,
    PERCEPTRON,
    RADIUS,
    RULE,
    SECOND,
    THIRD,
    WINNOW,
    Floats,
)

__all__ = ["game_loss", "is_steady", "margin_of", "plan_step", "steady_coefficient", "steady_step", "step_size"]

ROOT_TWO = math.sqrt(2.0)
CATONI_CAP = 2.0 * ROOT_TWO / 3.0
# LLM's epsilon must stay inside (0, 1/2): at 0 no row can be noise, at 1/2 all labels are.
EPSILON_FLOOR = 1e-6
EPSILON_CEILING = 0.49


@compiled
def logistic(margin: float) -> float:
    """Return 1 / (1 + e^margin), the logistic probability of an error, without overflow."""
    if margin >= 0.0:
        decay = math.exp(-margin)
        return decay / (1.0 + decay)
    return 1.0 / (1.0 + math.exp(margin))


@compiled
def log_loss(margin: float) -> float:
    """Return ln(1 + e^-margin) without overflow."""
    if margin >= 0.0:
        return math.log1p(math.exp(-margin))
    return -margin + math.log1p(math.exp(margin))


@compiled
def catoni_psi(deviation: float) -> float:
    """Return psi(u) = u - u^3/6 inside |u| <= sqrt 2 and +-2 sqrt 2/3 outside (Holland 2019, Eq. 2)."""
    if deviation > ROOT_TWO:
        return CATONI_CAP
    if deviation < -ROOT_TWO:
        return -CATONI_CAP
    return deviation - deviation * deviation * deviation / 6.0


@inner
def step_size(rate: float, decays: float, steps: float) -> float:
    """Return `rate`, divided by sqrt(t) if it decays."""
    if decays != 0.0:
        return rate / math.sqrt(steps)
    return rate


@inner
def plan_margin_pursuit(
    gamma: float, l2: float, square_root: float, scale: float, steps: float, margin: float, weight: float
) -> tuple[float, float]:
    """Step along -grad of s^2 rho((gamma - z)/s) + l2 |w|^2/2 (Holland 2019, Algorithm 1, section 4)."""
    # alpha = 1/(s sqrt(l2 (1 + t))) as the paper prints it, or Pegasos' 1/(s l2 t).
    alpha = 1.0 / (scale * math.sqrt(l2 * (1.0 + steps))) if square_root != 0.0 else 1.0 / (scale * l2 * steps)
    # A first step longer than 1/l2 would turn w round instead of shrinking it.
    alpha = min(alpha, 1.0 / l2)
    return 1.0 - alpha * l2, alpha * weight * scale * catoni_psi((gamma - margin) / scale)


@inner
def plan_logistic_difference(rate: float, shift: float, margin: float, weight: float, norm: float) -> float:
    """Return step * (q - g) for LLD and LLM (Krause & Singer 2004, Figures 1 and 2)."""
    step = rate * weight
    if norm > 0.0:
        # The template condition sum_j a_j M_ij^2 <= 2: a longer step could raise this row's loss.
        step = min(step, 2.0 / norm)
    return step * (logistic(margin) - logistic(margin + shift))


@inner
def shift_of(epsilon: float) -> float:
    """Return the mu = ln((1 - eps)/eps) at which LLD weighs rows as LLM does: g_i is then LLM's alpha_i."""
    return math.log((1.0 - epsilon) / epsilon)


@inner
def adapt_epsilon(epsilon: float, margin: float, steps: float) -> float:
    """Move LLM's epsilon to the running mean of alpha_i, the probability that label i is noise."""
    alpha = logistic(margin + shift_of(epsilon))
    return min(max(epsilon + (alpha - epsilon) / (steps + 1.0), EPSILON_FLOOR), EPSILON_CEILING)


@inner
def plan_step(
    rule: float,
    first: float,
    second: float,
    third: float,
    fourth: float,
    adapted: float,
    steps: float,
    score: float,
    target: float,
    weight: float,
    norm: float,
) -> tuple[float, float]:
    """Return (shrink, coefficient) of the step on row `steps` with this score.

    All arguments are plain numbers, so that they travel in registers: with the header as an array the same function
    takes three times as long.
    """
    if rule == ABSOLUTE:
        # Subgradient of |s - y|: the sign of the error.
        direction = 0.0 if score == target else (1.0 if score < target else -1.0)
        return 1.0, step_size(first, fourth, steps) * weight * direction
    margin = target * score
    if rule == PERCEPTRON:
        return 1.0, (weight * target if margin <= 0.0 else 0.0)
    if rule == HINGE:
        if margin > second:
            return 1.0, 0.0
        return 1.0, step_size(first, fourth, steps) * weight * target / second
    if rule == PEGASOS:
        return 1.0 - 1.0 / steps, (weight * target / (first * steps) if margin < 1.0 else 0.0)
    if rule == MARGIN_PURSUIT:
        shrink, pull = plan_margin_pursuit(first, second, third, adapted, steps, margin, weight)
        return shrink, pull * target
    shift = second if rule == LLD else shift_of(adapted)
    return 1.0, plan_logistic_difference(first, shift, margin, weight, norm) * target


@inner
def is_steady(h: Floats) -> bool:
    """Tell whether the weights stay as they are on every row beyond the margin."""
    return (h[RULE] == PERCEPTRON or h[RULE] == HINGE) and h[AVERAGED] == 0.0 and h[RADIUS] == 0.0


@inner
def margin_of(h: Floats) -> float:
    """Return the margin up to which a row calls for a step, if `is_steady`."""
    return h[SECOND] if h[RULE] == HINGE else 0.0


@inner
def steady_coefficient(
    rule: float, rate: float, decays: float, limit: float, steps: float, target: float, weight: float
) -> float:
    """Return the coefficient of the step on row `steps` within the margin `limit`, if `is_steady`.

    All arguments are plain numbers, as in `plan_step`.
    """
    if rule == HINGE:
        return step_size(rate, decays, steps) * weight * target / limit
    return weight * target


@inner
def steady_step(h: Floats, steps: float, target: float, weight: float) -> float:
    """Return `steady_coefficient` for the rule in the header."""
    return steady_coefficient(h[RULE], h[FIRST], h[FOURTH], h[SECOND], steps, target, weight)


@compiled
def game_loss(h: Floats, score: float, target: float) -> float:
    """Return the loss in [0, 1] that the max-loss game sees: the rule's own surrogate, clipped or normalised."""
    rule = h[RULE]
    if rule == ABSOLUTE:
        low, high = h[SECOND], h[THIRD]
        clipped = min(max(score, low), high)
        return min(1.0, abs(clipped - target) / (high - low)) if high - low < np.inf else min(1.0, abs(score - target))
    margin = target * score
    if rule in (PERCEPTRON, WINNOW, BALANCED_WINNOW):
        return 1.0 if (score >= 0.0) != (target > 0.0) else 0.0
    if rule == HINGE:
        return min(1.0, max(0.0, 1.0 - margin / h[SECOND]))
    if rule == PEGASOS:
        return min(1.0, max(0.0, 1.0 - margin))
    if rule == MARGIN_PURSUIT:
        return min(1.0, max(0.0, 1.0 - margin / h[FIRST]))
    shift = h[SECOND] if rule == LLD else shift_of(h[ADAPTED])
    return min(1.0, max(0.0, (log_loss(margin) - log_loss(margin + shift)) / shift))
