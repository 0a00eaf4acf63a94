"""Boosting with the log-loss, on a table: what the bounded losses are compared with."""

from __future__ import annotations

from typing import Literal

import numpy as np

from stream_maxloss.leverage.leveraging import Leveraging, Vector
from stream_maxloss.leverage.llm import half_log_ratio
from stream_maxloss.leverage.margin_losses import log_loss, misprediction_probability
from stream_maxloss.leverage.signed_rows import SignedRows
from stream_maxloss.leverage.templates import RowCondition, Templates

__all__ = ["LogBoost"]


class LogBoost(Leveraging):
    """Log-loss boosting of Collins, Schapire and Singer, with parallel or sequential updates.

    Minimises the convex loss ln(1+e^-z) by the update that `LLM` builds on (Krause & Singer 2004, Section 2.2,
    Eq. 3): with q_i = 1/(1+e^z_i), W_j^+ and W_j^- the sums of q_i |M_ij| over the positive and the negative
    entries of column j, the step is d_j = 1/2 ln(W_j^+ / W_j^-). It is `LLM` at epsilon = 0. The loss is
    unbounded: a few mislabelled rows of large margin can turn the solution.

    Parameters
    ----------
    smoothing
        Added to W_j^+ and W_j^- in the logarithm, which a column of one sign would otherwise make infinite
        (`LLM` needs none: its epsilon does it). None (default) is half a row's share, 1/(2m). It only shortens
        steps, so the loss still falls in every iteration.
    templates, iterations, tolerance, intercept, warm_start
        As for `LLM`, with the same condition on the templates.

    Notes
    -----
    Costs and attributes are those of `LLM`, but for its estimates of the noise.

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

    _condition = RowCondition

    def __init__(
        self,
        templates: Templates | Literal["parallel", "sequential"] = "parallel",
        iterations: int = 100,
        smoothing: float | None = None,
        tolerance: float = 0.0,
        intercept: bool = False,
        warm_start: bool = False,
    ) -> None:
        super().__init__(templates, iterations, tolerance, intercept, warm_start)
        if smoothing is not None and not smoothing > 0.0:
            raise ValueError(f"smoothing must be positive, got {smoothing!r}; a column of one sign needs some")
        self.smoothing = smoothing

    def _loss(self, margins: Vector) -> Vector:
        return log_loss(margins)

    def _direction(self, rows: SignedRows, margins: Vector, iteration: int) -> tuple[Vector, Vector]:
        W_up, W_down = rows.split_sums(misprediction_probability(margins))
        smoothing = 0.5 / len(margins) if self.smoothing is None else self.smoothing
        d = half_log_ratio(W_up + smoothing, W_down + smoothing)
        # The decrease that Lemma 2.1 guarantees for any d; at the unsmoothed one it is the difference of roots.
        return d, W_up * -np.expm1(-d) + W_down * -np.expm1(d)
