"""The constants and the bound of the generalisation corollary for the bounded margin loss."""

from __future__ import annotations

import math

from stream_maxloss.arguments import require_open_unit
from stream_maxloss.leverage.margin_losses import mu_of_epsilon

__all__ = ["generalisation_bound", "linear_complexity", "lipschitz_constant", "loss_ceiling"]


def lipschitz_constant(epsilon: float) -> float:
    """Return zeta, the steepest slope of the normalised mixture loss (Krause & Singer 2004, Section 4).

    zeta = (1 - 2 epsilon) / ((ln 2 + ln(1-epsilon)) (1 + 2 sqrt(epsilon (1-epsilon)))), attained at the margin
    z = -mu/2.

    Examples
    --------
    >>> from stream_maxloss.leverage import lipschitz_constant
    >>> round(lipschitz_constant(0.08), 4)
    0.8929

    """
    scale = _scale(epsilon)
    return (1.0 - 2.0 * epsilon) / (scale * (1.0 + 2.0 * math.sqrt(epsilon * (1.0 - epsilon))))


def loss_ceiling(epsilon: float) -> float:
    """Return M = ln((1-epsilon)/epsilon) / (ln 2 + ln(1-epsilon)), the supremum of the normalised mixture loss.

    Examples
    --------
    >>> from stream_maxloss.leverage import loss_ceiling
    >>> round(loss_ceiling(0.08), 4)
    4.0054

    """
    scale = _scale(epsilon)
    return mu_of_epsilon(epsilon) / scale


def linear_complexity(norm: float, rows: int) -> float:
    """Return 2B/sqrt(m), the bound on the Rademacher complexity of {x -> <lambda, x> : ||lambda||_2 <= B}.

    For rows with ||x||_2 <= 1 (Section 5).
    """
    return 2.0 * norm / math.sqrt(rows)


def generalisation_bound(mean_loss: float, rows: int, norm: float, epsilon: float, delta: float) -> float:
    """Bound the error rate of a fit on new rows by its training loss (Krause & Singer 2004, Corollary 5.2).

    With probability 1 - delta over m independent rows with ||x|| <= 1, every linear f with ||lambda||_2 <= B has

        P(Y f(x) <= 0) <= mean normalised mixture loss + 8 M sqrt(ln(4/delta)/(2m)) + 4 B zeta / sqrt(m).

    (In the paper's layout the terms run together under one fraction bar; this reading is Theorem 5.1 with
    2 zeta times `linear_complexity` for the class's complexity.) It is loose, as such bounds are: it passes
    below 1 from some thousands of rows on.

    Parameters
    ----------
    mean_loss
        The mean of `normalised_mixture` over the training margins.
    rows
        m, the rows of the fit.
    norm
        B, the largest ||lambda||_2 the fit was allowed.
    epsilon
        The noise parameter of the loss, in (0, 1/2).
    delta
        The probability that the bound fails.

    Examples
    --------
    >>> from stream_maxloss.leverage import generalisation_bound
    >>> round(generalisation_bound(0.1, rows=100_000, norm=10.0, epsilon=0.08, delta=0.05), 3)
    0.363

    """
    require_open_unit("delta", delta, remedy="it is a probability")
    if rows < 1:
        raise ValueError(f"rows must be at least 1, got {rows!r}")
    chance = 8.0 * loss_ceiling(epsilon) * math.sqrt(math.log(4.0 / delta) / (2.0 * rows))
    return mean_loss + chance + 2.0 * lipschitz_constant(epsilon) * linear_complexity(norm, rows)


def _scale(epsilon: float) -> float:
    if not 0.0 < epsilon < 0.5:
        raise ValueError(f"epsilon must lie strictly between 0 and 1/2, got {epsilon!r}; at 1/2 the loss is flat")
    return math.log(2.0) + math.log1p(-epsilon)
