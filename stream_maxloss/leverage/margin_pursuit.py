"""Margin pursuit over a table, by steepest descent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.arguments import require_count, require_positive
from stream_maxloss.leverage.linear_fit import LinearFit

__all__ = ["MarginPursuit"]

ROOT_TWO = math.sqrt(2.0)
# Steps of the power iteration for the largest eigenvalue.
POWER_STEPS = 50


class MarginPursuit(LinearFit):
    r"""Algorithm 1 of Holland (2019): pull the margins of all rows of a table towards one level, and no outlier hard.

    $$w \leftarrow w + \alpha \frac{s}{n} \sum_i \psi\!\left(\frac{\gamma - y_i \langle w, x_i \rangle}{s}\right) y_i
    x_i$$

    with Catoni's $\psi(u) = u - u^3/6$, constant beyond $\pm\sqrt2$. The paper asks for a scale of at least
    $s = k \operatorname{var}(y h(x)) / \gamma$ and leaves start and step open. We start from the multiple of the mean
    of $y_i x_i$ whose mean margin is $\gamma$, take the variance of the margins there, and the step
    $1/\lambda_{\max}(X^\top X/n)$: the loss is at most that curved, so it never rises.

    The `MarginPursuit` of `stream_maxloss.linear` sees each row once.

    Parameters
    ----------
    gamma
        The margin level that is pursued.
    k
        Factor of the scale; raising it goes from the median of the margins to their mean.
    steps
        Number of steps.
    intercept
        Add a constant feature.

    References
    ----------
    Matthew Holland. Classification using margin pursuit. 2019.

    Notes
    -----
    After `fit`: `coefficients`, `bias`, `scale`, and `losses`, the mean loss before each step and at the end.

    Examples
    --------
    >>> import numpy as np
    >>> from stream_maxloss.leverage import MarginPursuit
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 3))
    >>> y = X @ [1, 2, -1] > 0
    >>> fit = MarginPursuit().fit(X, y)
    >>> float(np.mean(fit.predict(X) == y)), fit.losses[-1] < fit.losses[0]
    (0.98, True)

    """

    def __init__(self, gamma: float = 1.0, k: float = 1.0, steps: int = 200, intercept: bool = False) -> None:
        super().__init__(intercept)
        require_positive("gamma", gamma, "1 is the level of a support vector machine")
        require_positive("k", k, "1 is the paper's least")
        require_count("steps", steps, "200 are a good start")
        self.gamma = gamma
        self.k = k
        self.steps = steps
        self.scale = math.nan
        self.losses: list[float] = []

    def fit(self, X: Any, y: Any = None) -> MarginPursuit:
        """Fit to a table and its labels, or to a model's retained window."""
        # Rows times their signs.
        signed = self._read(X, y).matrix
        rows = signed.shape[0]
        mean = np.asarray(signed.mean(axis=0)).ravel()
        length = float(mean @ mean)
        w = self.gamma / length * mean if length > 0.0 else mean
        margins = np.asarray(signed @ w)
        self.scale = max(self.k * float(margins.var()) / self.gamma, float(np.finfo(float).tiny)) if length else 1.0
        step = 1.0 / largest_curvature(signed, rows)
        self.losses = []
        for _ in range(self.steps):
            away = (self.gamma - margins) / self.scale
            self.losses.append(self.scale**2 * float(np.mean(rho(away))))
            w = w + step * self.scale / rows * np.asarray(signed.T @ psi(away))
            margins = np.asarray(signed @ w)
        self.losses.append(self.scale**2 * float(np.mean(rho((self.gamma - margins) / self.scale))))
        self._solution = w
        return self


def psi(u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Catoni's soft truncation (Eq. 2)."""
    inside = np.clip(u, -ROOT_TWO, ROOT_TWO)
    return inside - inside**3 / 6.0


def rho(u: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return its integral (Eq. 3)."""
    size = np.abs(u)
    inside = np.minimum(size, ROOT_TWO)
    return np.where(size > ROOT_TWO, 2.0 * ROOT_TWO / 3.0 * size - 0.5, inside**2 / 2.0 - inside**4 / 24.0)


def largest_curvature(matrix: Any, rows: int) -> float:
    """Return a bound on the largest eigenvalue of X'X/n: by power iteration, a hundredth added; 1 for rows of zeros."""
    direction = np.random.default_rng(0).normal(size=matrix.shape[1])
    value = 0.0
    for _ in range(POWER_STEPS):
        direction = np.asarray(matrix.T @ (matrix @ direction)) / rows
        value = float(np.linalg.norm(direction))
        if value == 0.0:
            return 1.0
        direction /= value
    return 1.01 * value
