"""LLD: leveraging the logistic difference loss, on a table."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.leverage.linear_fit import LinearFit, check_leverage_arguments
from stream_maxloss.leverage.margin_losses import logistic_difference, misprediction_probability
from stream_maxloss.leverage.templates import Templates, TotalCondition, bind_templates

__all__ = ["LLD"]


class LLD(LinearFit):
    """Leveraging Logistic Difference: additive boosting steps on a bounded, non-convex loss.

    The loss of a margin z is ln(1+e^-z) - ln(1+e^(-z-mu)), a difference of two logistic losses (Krause & Singer
    2004, Eq. 11). Each iteration replaces the concave part by its tangent and takes an additive step on what is
    then convex,

        W_j = sum_i M_ij (q_i - g_i),   q_i = 1/(1+e^z_i),   g_i = 1/(1+e^(z_i+mu)),   delta_j = a_j W_j,

    with the template a that maximises sum_j a_j W_j^2 (Figure 2). The loss falls in every iteration by at least
    half of that maximum (Lemma 3.1 and Corollary 3.2), which `progress` records.

    The streaming learner of the same name in `stream_maxloss.linear` takes one such step per row, and forgets the
    row. This fit looks at the whole table in every iteration, and its step sizes follow from the table.

    Parameters
    ----------
    mu
        The bound of the loss, positive; a smaller one makes outliers count less. mu = ln((1-epsilon)/epsilon)
        gives the loss of `LLM`, up to a constant.
    templates
        "parallel" (default), "sequential", or a template set; each template a must satisfy
        sum_ij a_j M_ij^2 <= 2. That sum runs over all rows, so parallel steps are small on a large table;
        sequential ones are n times longer, one column at a time.
    iterations
        T, at most.
    tolerance
        Stop once an iteration guarantees no more progress than this.
    intercept
        Add a constant feature. The paper does not.
    warm_start
        Let `fit` go on from the last solution instead of from 0.

    Notes
    -----
    An iteration costs one pass over the non-zero entries. After `fit`: `coefficients`, `bias`, `losses` (the total
    loss before the first and after each iteration) and `progress`.

    References
    ----------
    N. Krause and Y. Singer, Leveraging the Margin More Carefully, ICML 2004.

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

    def __init__(
        self,
        mu: float = 4.0,
        templates: Templates | Literal["parallel", "sequential"] = "parallel",
        iterations: int = 100,
        tolerance: float = 0.0,
        intercept: bool = False,
        warm_start: bool = False,
    ) -> None:
        super().__init__(intercept)
        check_leverage_arguments(iterations, tolerance)
        if not mu > 0.0:
            raise ValueError(f"mu must be positive, got {mu!r}; it is the largest loss a row can have")
        self.mu = mu
        self.templates = templates
        self.iterations = iterations
        self.tolerance = tolerance
        self.warm_start = warm_start
        self.losses: NDArray[np.float64] = np.empty(0)
        self.progress: NDArray[np.float64] = np.empty(0)

    def fit(self, X: Any, y: Any = None) -> LLD:
        """Fit to a table and its labels, or to a model's retained window."""
        rows = self._read(X, y)
        templates = bind_templates(self.templates, TotalCondition(rows))
        solution = self._start(rows.shape[1], self.warm_start)
        margins = rows.product(solution)
        losses, progress = [logistic_difference(margins, self.mu).sum()], []
        for _ in range(self.iterations):
            q, g = misprediction_probability(margins), misprediction_probability(margins + self.mu)
            W = rows.matrix.T @ (q - g)
            gains = W**2
            a = templates.best(gains)
            delta = a * W
            solution += delta
            margins += rows.product(delta)
            progress.append(0.5 * (a @ gains))
            losses.append(logistic_difference(margins, self.mu).sum())
            if progress[-1] <= self.tolerance:
                break
        self._solution = solution
        self.losses, self.progress = np.array(losses), np.array(progress)
        return self
