"""LLM: leveraging the logistic mixture loss, on a table."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from stream_maxloss.leverage.leveraging import Leveraging, Vector
from stream_maxloss.leverage.margin_losses import logistic_mixture, mislabel_probability, misprediction_probability
from stream_maxloss.leverage.signed_rows import SignedRows
from stream_maxloss.leverage.templates import RowCondition, Templates

__all__ = ["LLM"]

# EM may push epsilon towards 0, where alpha would be stuck; stopping short of it keeps the descent (Q is concave
# in epsilon, so any move towards its maximiser gains).
SMALLEST_EPSILON = 1e-12


class LLM(Leveraging):
    """Leveraging Logistic Mixture: EM for flipped labels, interleaved with boosting steps.

    The labels are taken to come from a logistic model and to be flipped with probability epsilon. Each iteration
    computes the probability alpha_i that label i was flipped and the weight q_i of the row (E-step),

        alpha_i = epsilon / (epsilon + (1-epsilon) e^z_i),   q_i = 1 / (1 + e^z_i),   z = M lambda,

    then W_j^+ and W_j^- of each column and the step d_j = 1/2 ln(W_j^+ / W_j^-), scaled by the template that
    maximises sum_j a_j (sqrt(W_j^+) - sqrt(W_j^-))^2 (approximate M-step): Krause & Singer 2004, Figure 1. The
    loss falls in every iteration by at least that maximum (Lemma 2.1), which `progress` records.

    The streaming learner of the same name in `stream_maxloss.linear` takes one gradient step of the same loss
    per row, and forgets the row. This fit looks at the whole table in every iteration.

    Parameters
    ----------
    epsilon
        The share of flipped labels, in (0, 1/2); the start value if it is estimated. Larger values make the loss
        flatter on rows of large negative margin, so that outliers count less. Section 4: with
        epsilon = 1/(1+e^mu) the loss is that of `LLD`, up to a constant.
    update_epsilon
        Estimate epsilon as the mean of alpha_i every so many iterations: 1 (or True) is the figure's
        "update-epsilon", 0 (default) keeps it fixed, 100 is what the paper did on USPS.
    templates
        "parallel" (default), "sequential", or a template set; each template a must satisfy
        sum_j a_j |M_ij| <= 1 in every row.
    iterations
        T, at most.
    tolerance
        Stop once an iteration guarantees no more progress than this.
    intercept
        Add a constant feature. The paper does not.
    warm_start
        Let `fit` go on from the last solution, epsilon and all, instead of from 0.

    Notes
    -----
    An iteration costs one pass over the non-zero entries. After `fit`: `coefficients`, `bias`, `losses` (the
    total loss before the first and after each iteration), `progress`, `estimated_epsilon`, and
    `label_noise` (alpha_i: how likely each row is mislabelled, a list worth looking at).

    References
    ----------
    N. Krause and Y. Singer, Leveraging the Margin More Carefully, ICML 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from stream_maxloss.leverage import LLM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 5))
    >>> y = X @ [2, -1, 0, 0, 1] > 0
    >>> noisy = y ^ (rng.random(500) < 0.1)
    >>> fit = LLM(epsilon=0.1, iterations=500).fit(X, noisy)
    >>> print(f"{np.mean(fit.predict(X) != y):.1%} wrong, {fit.losses[0]:.0f} -> {fit.losses[-1]:.0f}")
    1.4% wrong, 347 -> 154
    >>> print(f"{np.mean((fit.label_noise > 0.5) == (noisy != y)):.0%} of the labels told rightly as flipped or not")
    98% of the labels told rightly as flipped or not

    """

    _condition = RowCondition

    def __init__(
        self,
        epsilon: float = 0.1,
        update_epsilon: int = 0,
        templates: Templates | Literal["parallel", "sequential"] = "parallel",
        iterations: int = 100,
        tolerance: float = 0.0,
        intercept: bool = False,
        warm_start: bool = False,
    ) -> None:
        super().__init__(templates, iterations, tolerance, intercept, warm_start)
        if not 0.0 < epsilon < 0.5:
            raise ValueError(f"epsilon must lie strictly between 0 and 1/2, got {epsilon!r}; it is a rate of flips")
        if update_epsilon < 0:
            raise ValueError(f"update_epsilon must not be negative, got {update_epsilon!r}; 0 keeps epsilon fixed")
        self.epsilon = epsilon
        self.update_epsilon = update_epsilon
        self.estimated_epsilon = epsilon
        self.label_noise: Vector = np.empty(0)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to a table and its labels, or to a model's retained window."""
        rows = self._read(X, y)
        if not self.warm_start:
            self.estimated_epsilon = self.epsilon
        self.label_noise = mislabel_probability(self._descend(rows), self.estimated_epsilon)
        return self

    def _loss(self, margins: Vector) -> Vector:
        return logistic_mixture(margins, self.estimated_epsilon)

    def _direction(self, rows: SignedRows, margins: Vector, iteration: int) -> tuple[Vector, Vector]:
        alpha = mislabel_probability(margins, self.estimated_epsilon)
        up, down = rows.split_sums((1.0 - alpha) * misprediction_probability(margins))
        odds = self.estimated_epsilon / (1.0 - self.estimated_epsilon)
        W_up, W_down = up + odds * down, down + odds * up
        if self.update_epsilon and iteration % self.update_epsilon == 0:
            self.estimated_epsilon = max(float(alpha.mean()), SMALLEST_EPSILON)
        return half_log_ratio(W_up, W_down), (np.sqrt(W_up) - np.sqrt(W_down)) ** 2


def half_log_ratio(up: Vector, down: Vector) -> Vector:
    """Return 1/2 ln(up/down), and 0 for a column that no row uses."""
    used = (up > 0.0) & (down > 0.0)
    return 0.5 * np.log(np.divide(up, down, out=np.ones_like(up), where=used))
