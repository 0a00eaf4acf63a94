"""Bounded margin losses in the form of River's `optim.losses`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river.optim.losses import BinaryLoss

from stream_maxloss.labels import sign_of, signs_of

__all__ = ["Catoni", "LogisticDifference"]

# Past this, exp(-mu) leaves the normal floats, and the loss is the logistic one for every score met in practice.
LARGEST_MU = 700.0
# Where Catoni's loss turns linear, and its slope there.
ROOT_TWO = math.sqrt(2.0)
CATONI_CAP = 2.0 * ROOT_TWO / 3.0


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


class Catoni(BinaryLoss):
    """Catoni's loss of the margin: rows that miss a margin level by far pull no harder than a fixed amount.

    With the margin $z = y s$ of a score $s$ and a label $y \\in \\{-1, +1\\}$ it is $\\sigma^2 \\rho((\\gamma -
    z)/\\sigma)$ (Holland 2019, Eq. 4): $\\rho(u) = u^2/2 - u^4/24$ up to $|u| = \\sqrt 2$, linear beyond. Margins above
    the level $\\gamma$ cost, too. Its slope in the score is $-\\sigma \\psi((\\gamma - z)/\\sigma) y$, at most
    $2\\sqrt2 \\sigma/3$ in size.

    Labels may be `bool`, 0/1 or -1/+1; River's own binary losses misread -1.

    Parameters
    ----------
    gamma
        The margin level $\\gamma$ that is pursued.
    scale
        The $\\sigma$ of the loss: small ones heed the median of the margins, large ones their mean.

    References
    ----------
    [^1]: Holland, M. (2019). Classification using margin pursuit.

    Examples
    --------
    >>> from river import datasets, evaluate, linear_model, metrics, preprocessing
    >>> from stream_maxloss.losses import Catoni

    >>> loss = Catoni()
    >>> loss(True, 1.0), loss(True, 0.0), loss.gradient(True, -100.0)
    (0.0, 0.4583, -0.9428)

    >>> model = preprocessing.StandardScaler() | linear_model.LogisticRegression(loss=Catoni())
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    Accuracy: 88.72%

    """

    def __init__(self, gamma: float = 1.0, scale: float = 1.0) -> None:
        for name, value in (("gamma", gamma), ("scale", scale)):
            if not 0.0 < value < math.inf:
                raise ValueError(f"{name} must be positive and finite, got {value!r}; 1 is a good start")
        self.gamma = gamma
        self.scale = scale

    def __call__(self, y_true: Any, y_pred: Any) -> Any:
        """Return the loss at the score `y_pred`."""
        size = np.abs(self.gamma - _signs_of_either(y_true) * y_pred) / self.scale
        inside = np.minimum(size, ROOT_TWO)
        loss = np.where(size > ROOT_TWO, CATONI_CAP * size - 0.5, inside * inside * (0.5 - inside * inside / 24.0))
        return self.scale**2 * loss if isinstance(size, np.ndarray) else float(self.scale**2 * loss)

    def gradient(self, y_true: Any, y_pred: Any) -> Any:
        """Return the derivative of the loss in the score `y_pred`."""
        signs = _signs_of_either(y_true)
        away = np.clip((self.gamma - signs * y_pred) / self.scale, -ROOT_TWO, ROOT_TWO)
        slope = -self.scale * signs * (away - away * away * away / 6.0)
        return slope if isinstance(slope, np.ndarray) else float(slope)

    def mean_func(self, y_pred: Any) -> Any:
        """Return the logistic function of the score, as the probability of the positive label."""
        return _logistic_many(y_pred) if isinstance(y_pred, np.ndarray) else _logistic_one(y_pred)


def _signs_of_either(labels: Any) -> Any:
    return _signs_like(labels) if isinstance(labels, np.ndarray) else sign_of(labels)


def _signs_like(labels: Any) -> NDArray[np.float64]:
    labels = np.asarray(labels)
    return signs_of(labels).reshape(labels.shape)


def _logistic_one(score: float) -> float:
    decay = math.exp(-abs(score))
    return 1.0 / (1.0 + decay) if score >= 0.0 else decay / (1.0 + decay)


def _logistic_many(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    decay = np.exp(-np.abs(scores))
    return np.where(scores >= 0.0, 1.0, decay) / (1.0 + decay)
