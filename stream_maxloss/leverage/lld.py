"""LLD: leveraging the logistic difference loss, on a table."""

from __future__ import annotations

from typing import Literal

from stream_maxloss.leverage.leveraging import Leveraging, Vector
from stream_maxloss.leverage.margin_losses import logistic_difference, misprediction_probability
from stream_maxloss.leverage.signed_rows import SignedRows
from stream_maxloss.leverage.templates import Templates, TotalCondition

__all__ = ["LLD"]


class LLD(Leveraging):
    """Leveraging Logistic Difference: additive boosting steps on a bounded, non-convex loss.

    The loss of a margin z is ln(1+e^-z) - ln(1+e^(-z-mu)), a difference of two logistic losses (Krause & Singer
    2004, Eq. 11). Each iteration replaces the concave part by its tangent and takes an additive step on what is
    then convex,

        W_j = sum_i M_ij (q_i - g_i),   q_i = 1/(1+e^z_i),   g_i = 1/(1+e^(z_i+mu)),   delta_j = a_j W_j,

    with the template a that maximises sum_j a_j W_j^2 (Figure 2). The loss falls in every iteration by at least
    half of that maximum (Lemma 3.1 and Corollary 3.2), which `progress` records.

    Parameters
    ----------
    mu
        The bound of the loss, positive; a smaller one makes outliers count less. mu = ln((1-epsilon)/epsilon)
        gives the loss of `LLM`, up to a constant.
    templates
        "parallel" (default), "sequential", or a template set; each template a must satisfy
        sum_ij a_j M_ij^2 <= 2. That sum runs over all rows, so parallel steps are small on a large table;
        sequential ones are n times longer, one column at a time.
    iterations, tolerance, intercept, warm_start
        As for `LLM`.

    Notes
    -----
    Costs and attributes are those of `LLM`, but for its estimates of the noise. The streaming learner of the same name
    in `stream_maxloss.linear` takes one such step per row; the step sizes of this fit follow from the whole table.

    Examples
    --------
    >>> import numpy as np
    >>> from stream_maxloss.leverage import LLD
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 5))
    >>> y = X @ [2, -1, 0, 0, 1] > 0
    >>> noisy = y ^ (rng.random(500) < 0.1)
    >>> fit = LLD(mu=2.2, iterations=500).fit(X, noisy)
    >>> print(f"{np.mean(fit.predict(X) != y):.1%} wrong, {fit.losses[0]:.0f} -> {fit.losses[-1]:.0f}")
    1.4% wrong, 294 -> 111

    """

    _condition = TotalCondition

    def __init__(
        self,
        mu: float = 4.0,
        templates: Templates | Literal["parallel", "sequential"] = "parallel",
        iterations: int = 100,
        tolerance: float = 0.0,
        intercept: bool = False,
        warm_start: bool = False,
    ) -> None:
        super().__init__(templates, iterations, tolerance, intercept, warm_start)
        if not mu > 0.0:
            raise ValueError(f"mu must be positive, got {mu!r}; it is the largest loss a row can have")
        self.mu = mu

    def _loss(self, margins: Vector) -> Vector:
        return logistic_difference(margins, self.mu)

    def _direction(self, rows: SignedRows, margins: Vector, iteration: int) -> tuple[Vector, Vector]:
        q, g = misprediction_probability(margins), misprediction_probability(margins + self.mu)
        W = rows.matrix.T @ (q - g)
        return W, 0.5 * W**2
