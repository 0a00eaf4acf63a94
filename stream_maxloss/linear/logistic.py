"""The logistic function and its loss without overflow, and the logistic difference of LLD and LLM."""

from __future__ import annotations

import math

from stream_maxloss.machine.compiled import compiled

__all__ = ["credible_loss", "difference_loss", "log_loss", "logistic", "plan_difference"]


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
def plan_difference(rate: float, shift: float, margin: float, weight: float, norm: float) -> float:
    """Return step * (q - g) for LLD and LLM (Krause & Singer 2004, Figures 1 and 2)."""
    # The implicit step on the parabola of curvature 1/4 above the loss. It stays below 4/|x|^2, and the loss of the row
    # cannot rise up to 8/|x|^2; the sample weight is outside, so that it counts in full on long rows, too.
    return weight * rate / (1.0 + 0.25 * rate * norm) * (logistic(margin) - logistic(margin + shift))


@compiled
def difference_loss(shift: float, margin: float) -> float:
    """Return the logistic difference at a shift mu, divided by mu, its bound."""
    return min(1.0, max(0.0, (log_loss(margin) - log_loss(margin + shift)) / shift))


@compiled
def credible_loss(shift: float, margin: float) -> float:
    """Return that loss times 1 - g, the probability that the label is true where labels are flipped as mu says.

    The learner hardly moves for a row with a large g; a player who saw its whole loss would draw it for ever.
    """
    return difference_loss(shift, margin) * logistic(-(margin + shift))
