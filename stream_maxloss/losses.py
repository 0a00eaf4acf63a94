"""Bounded margin losses in the form of River's `optim.losses`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river.optim.losses import BinaryLoss

from stream_maxloss.labels import sign_of, signs_of

__all__ = ["LogisticDifference"]

# Past this, exp(-mu) leaves the normal floats, and the loss is the logistic one for every score met in practice.
LARGEST_MU = 700.0


class LogisticDifference(BinaryLoss):
    """The logistic-difference (LD) loss: a logistic loss that stops growing on hopeless rows.

    With the margin $z = y s$ of a score $s$ and a label $y \\in \\{-1, +1\\}$, Krause and Singer (2004), Eq. 11, take
    the logistic loss less its copy shifted by $\\mu$,

    $$L(z) = \\ln(1 + e^{-z}) - \\ln(1 + e^{-z - \\mu})$$

    which lies between 0 and $\\mu$. Its slope is $-(q - g)$ with $q = 1/(1 + e^z)$ and $g = 1/(1 + e^{z + \\mu})$
    (their Fig. 2), so a row far on the wrong side, such as one with a flipped label, no longer pulls. Neither
    quantity is computed as a difference here: $L$ comes from one `log1p`, and $q - g = q (1 - g)(1 - e^{-\\mu})$, so
    both keep all their digits for scores of any size.

    Labels may be `bool`, 0/1 or -1/+1; River's own binary losses misread -1.

    Parameters
    ----------
    mu
        Where the loss levels off, in units of the score. Raising it makes the loss more like the logistic loss and
        less tolerant of wrong labels; at most 700.

    Notes
    -----
    With $e^{-\\mu} = \\epsilon / (1 - \\epsilon)$ this is, up to an additive constant, the loss of a logistic mixture
    in which a share $\\epsilon$ of the labels is flipped (section 4 of the paper). The scalar and the array form
    follow the same formula and differ by rounding in the last digits at most.

    References
    ----------
    [^1]: Krause, N. and Singer, Y. (2004). Leveraging the margin more carefully. ICML.

    Examples
    --------
    >>> from river import datasets, evaluate, linear_model, metrics, preprocessing
    >>> from stream_maxloss.losses import LogisticDifference

    >>> loss = LogisticDifference(mu=4.0)
    >>> loss(True, 0.0), loss(False, 10_000.0)
    (0.6750, 4.0)
    >>> loss.gradient(-1, 0.0)
    0.4820

    >>> model = preprocessing.StandardScaler() | linear_model.LogisticRegression(loss=LogisticDifference(mu=4.0))
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 89.36%

    """

    def __init__(self, mu: float = 4.0) -> None:
        if not 0.0 < mu <= LARGEST_MU:
            raise ValueError(
                f"mu must be in (0, {LARGEST_MU:g}], got {mu!r}; for an unbounded loss use river.optim.losses.Log"
            )
        self.mu = mu

    def __call__(self, y_true: Any, y_pred: Any) -> Any:
        """Return the loss at the score `y_pred`, between 0 and `mu`."""
        if isinstance(y_true, np.ndarray) or isinstance(y_pred, np.ndarray):
            return self._loss_many(_signs_like(y_true) * y_pred)
        return self._loss_one(sign_of(y_true) * y_pred)

    def gradient(self, y_true: Any, y_pred: Any) -> Any:
        """Return the derivative of the loss in the score `y_pred`."""
        jump = -math.expm1(-self.mu)  # 1 - e^-mu
        if isinstance(y_true, np.ndarray) or isinstance(y_pred, np.ndarray):
            signs = _signs_like(y_true)
            margins = signs * y_pred
            return -signs * (_logistic_many(-margins) * _logistic_many(margins + self.mu) * jump)
        sign = sign_of(y_true)
        margin = sign * y_pred
        return -sign * (_logistic_one(-margin) * _logistic_one(margin + self.mu) * jump)

    def mean_func(self, y_pred: Any) -> Any:
        """Return the logistic function of the score: the probability of the positive label."""
        if isinstance(y_pred, np.ndarray):
            return _logistic_many(y_pred)
        return _logistic_one(y_pred)

    def bounded(self, y_true: Any, y_pred: Any) -> Any:
        """Return the loss divided by `mu`: in [0, 1], as the replay game and `MaxLoss` take it."""
        return self(y_true, y_pred) / self.mu

    def normalised(self, y_true: Any, y_pred: Any) -> Any:
        """Return the loss divided by its value at a zero margin: it bounds the zero-one loss (Eq. 12)."""
        return self(y_true, y_pred) / self._loss_one(0.0)

    def _loss_one(self, margin: float) -> float:
        jump = -math.expm1(-self.mu)
        if margin >= 0.0:
            return math.log1p(math.exp(-margin) * jump / (1.0 + math.exp(-margin - self.mu)))
        return math.log1p(jump / (math.exp(margin) + math.exp(-self.mu)))

    def _loss_many(self, margins: NDArray[np.float64]) -> NDArray[np.float64]:
        jump = -math.expm1(-self.mu)
        decay = np.exp(-np.abs(margins))  # never overflows, whatever the sign
        shift = math.exp(-self.mu)
        ratio = np.where(margins >= 0.0, decay * jump / (1.0 + decay * shift), jump / (decay + shift))
        return np.log1p(ratio)


def _signs_like(labels: Any) -> NDArray[np.float64]:
    labels = np.asarray(labels)
    return signs_of(labels).reshape(labels.shape)


def _logistic_one(score: float) -> float:
    decay = math.exp(-abs(score))
    return 1.0 / (1.0 + decay) if score >= 0.0 else decay / (1.0 + decay)


def _logistic_many(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    decay = np.exp(-np.abs(scores))
    return np.where(scores >= 0.0, 1.0, decay) / (1.0 + decay)
