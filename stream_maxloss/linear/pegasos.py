"""Pegasos."""

from __future__ import annotations

import math

from stream_maxloss.arguments import require_positive
from stream_maxloss.linear.additive import Rule, Settings
from stream_maxloss.linear.classifier import LinearClassifier
from stream_maxloss.linear.model import linear_model

__all__ = ["Pegasos"]


def plan(
    settings: Settings, steps: float, score: float, target: float, weight: float, norm: float
) -> tuple[float, float]:
    """Shrink by 1 - 1/t, and add y x/(lambda t) on rows within the margin 1."""
    return 1.0 - 1.0 / steps, (weight * target / (settings[0] * steps) if target * score < 1.0 else 0.0)


def loss(settings: Settings, score: float, target: float) -> float:
    """Return the hinge loss, clipped."""
    return min(1.0, max(0.0, 1.0 - target * score))


RULE = Rule("pegasos", plan, loss, code=2)


class Pegasos(LinearClassifier):
    r"""Pegasos: stochastic sub-gradient descent for the support vector machine.

    The objective is $\frac{\lambda}{2} \|w\|^2 + \text{mean of } \max(0, 1 - z)$. On row t

    $$w \leftarrow \left(1 - \tfrac1t\right) w + \frac{y x}{\lambda t} [z < 1], \qquad
    w \leftarrow \min\left(1, \frac{1/\sqrt\lambda}{\|w\|}\right) w.$$

    This is the comparison procedure of Holland (2019), section 4. The intercept is a feature like any other, so it
    shrinks too. The step does not depend on a tuned rate, and does not follow drift: row t moves the weights by 1/t.

    Parameters
    ----------
    l2
        Regularisation $\lambda$. Raising it keeps the weights smaller and makes the first steps shorter.
    intercept, averaged, hash_bits
        As for `Perceptron`.

    References
    ----------
    [^1]: M. Holland, "Classification using margin pursuit", 2019, section 4.
    [^2]: S. Shalev-Shwartz, Y. Singer, N. Srebro and A. Cotter, "Pegasos", Mathematical Programming 127, 2011.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_maxloss.linear import Pegasos, Scaler
    >>> model = Scaler() | Pegasos()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 87.76%

    """

    def __init__(
        self,
        l2: float = 0.01,
        intercept: bool = True,
        averaged: bool = False,
        hash_bits: int | None = None,
    ) -> None:
        require_positive("l2", l2, "0.01 is a good start")
        self.l2 = l2
        self._with_intercept = intercept
        self.averaged = averaged
        self.hash_bits = hash_bits
        self._model = linear_model(
            RULE,
            (l2,),
            intercept=intercept,
            averaged=averaged,
            radius=1.0 / math.sqrt(l2),
            hash_bits=hash_bits,
        )
