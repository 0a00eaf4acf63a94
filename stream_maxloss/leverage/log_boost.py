"""Boosting with the log-loss, on a table: what the bounded losses are compared with."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.leverage.linear_fit import LinearFit, check_leverage_arguments
from stream_maxloss.leverage.llm import half_log_ratio
from stream_maxloss.leverage.margin_losses import log_loss, misprediction_probability
from stream_maxloss.leverage.templates import RowCondition, Templates, bind_templates

__all__ = ["LogBoost"]


class LogBoost(LinearFit):
    """Log-loss boosting of Collins, Schapire and Singer, with parallel or sequential updates.

    Minimises the convex loss ln(1+e^-z) by the update that `LLM` builds on (Krause & Singer 2004, Section 2.2,
    Eq. 3): with q_i = 1/(1+e^z_i), W_j^+ and W_j^- the sums of q_i |M_ij| over the positive and the negative
    entries of column j, the step is d_j = 1/2 ln(W_j^+ / W_j^-). It is `LLM` at epsilon = 0. The loss is
    unbounded: a few mislabelled rows of large margin can turn the solution.

    Parameters
    ----------
    templates
        "parallel" (default), "sequential", or a template set; each template a must satisfy
        sum_j a_j |M_ij| <= 1 in every row.
    iterations
        T, at most.
    smoothing
        Added to W_j^+ and W_j^- in the logarithm, which a column of one sign would otherwise make infinite
        (`LLM` needs none: its epsilon does it). None (default) is half a row's share, 1/(2m). It only shortens
        steps, so the loss still falls in every iteration.
    tolerance
        Stop once an iteration guarantees no more progress than this.
    intercept
        Add a constant feature.
    warm_start
        Let `fit` go on from the last solution instead of from 0.

    Notes
    -----
    After `fit`: `coefficients`, `bias`, `losses` (the total loss before the first and after each iteration) and
    `progress` (the decrease each iteration guaranteed).

    References
    ----------
    M. Collins, R. E. Schapire and Y. Singer, Logistic Regression, AdaBoost and Bregman Distances, Machine
    Learning 47, 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from stream_maxloss.leverage import LogBoost
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 5))
    >>> y = X @ [2, -1, 0, 0, 1] > 0
    >>> noisy = y ^ (rng.random(500) < 0.1)
    >>> fit = LogBoost(iterations=500).fit(X, noisy)
    >>> print(f"{np.mean(fit.predict(X) != y):.1%} wrong, {fit.losses[0]:.0f} -> {fit.losses[-1]:.0f}")
    4.6% wrong, 347 -> 184

    """

    def __init__(
        self,
        templates: Templates | Literal["parallel", "sequential"] = "parallel",
        iterations: int = 100,
        smoothing: float | None = None,
        tolerance: float = 0.0,
        intercept: bool = False,
        warm_start: bool = False,
    ) -> None:
        super().__init__(intercept)
        check_leverage_arguments(iterations, tolerance)
        if smoothing is not None and not smoothing > 0.0:
            raise ValueError(f"smoothing must be positive, got {smoothing!r}; a column of one sign needs some")
        self.templates = templates
        self.iterations = iterations
        self.smoothing = smoothing
        self.tolerance = tolerance
        self.warm_start = warm_start
        self.losses: NDArray[np.float64] = np.empty(0)
        self.progress: NDArray[np.float64] = np.empty(0)

    def fit(self, X: Any, y: Any = None) -> LogBoost:
        """Fit to a table and its labels, or to a model's retained window."""
        rows = self._read(X, y)
        templates = bind_templates(self.templates, RowCondition(rows))
        smoothing = 0.5 / rows.shape[0] if self.smoothing is None else self.smoothing
        solution = self._start(rows.shape[1], self.warm_start)
        margins = rows.product(solution)
        losses, progress = [log_loss(margins).sum()], []
        for _ in range(self.iterations):
            q = misprediction_probability(margins)
            W_up, W_down = rows.split_sums(q)
            d = half_log_ratio(W_up + smoothing, W_down + smoothing)
            # The decrease that Lemma 2.1 guarantees for any d; at the unsmoothed one it is the difference of roots.
            gains = W_up * -np.expm1(-d) + W_down * -np.expm1(d)
            a = templates.best(gains)
            delta = a * d
            solution += delta
            margins += rows.product(delta)
            progress.append(a @ gains)
            losses.append(log_loss(margins).sum())
            if progress[-1] <= self.tolerance:
                break
        self._solution = solution
        self.losses, self.progress = np.array(losses), np.array(progress)
        return self
