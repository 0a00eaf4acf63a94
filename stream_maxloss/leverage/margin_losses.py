"""The losses of the margin z = y <lambda, x> that the leveraging fits minimise."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = [
    "epsilon_of_mu",
    "log_loss",
    "logistic_difference",
    "logistic_mixture",
    "mislabel_probability",
    "misprediction_probability",
    "mu_of_epsilon",
    "normalised_difference",
    "normalised_mixture",
]

Values = NDArray[np.float64]


def log_loss(z: ArrayLike) -> Values:
    """Return ln(1 + e^-z), the loss of boosting; it grows without bound as z falls.

    Examples
    --------
    >>> from stream_maxloss.leverage import log_loss
    >>> log_loss([-1000.0, 0.0, 1000.0]).round(3).tolist()
    [1000.0, 0.693, 0.0]

    """
    return np.logaddexp(0.0, -np.asarray(z, dtype=np.float64))


def logistic_difference(z: ArrayLike, mu: float) -> Values:
    """Return ln(1 + e^-z) - ln(1 + e^(-z-mu)), between 0 and mu (Krause & Singer 2004, Eq. 11).

    Examples
    --------
    >>> from stream_maxloss.leverage import logistic_difference
    >>> logistic_difference([-1000.0, 0.0, 1000.0], mu=4.0).round(3).tolist()
    [4.0, 0.675, 0.0]

    """
    return log_loss(z) - log_loss(np.asarray(z, dtype=np.float64) + mu)


def logistic_mixture(z: ArrayLike, epsilon: float) -> Values:
    """Return -ln((1-epsilon)/(1+e^-z) + epsilon/(1+e^z)) (Krause & Singer 2004, Section 2.1).

    The negative log-likelihood of a label that a logistic model made and a coin of bias epsilon then flipped.

    Examples
    --------
    >>> from stream_maxloss.leverage import logistic_mixture
    >>> logistic_mixture([-1000.0, 0.0, 1000.0], epsilon=0.1).round(3).tolist()
    [2.303, 0.693, 0.105]

    """
    kept = math.log1p(-epsilon) - log_loss(z)
    flipped = math.log(epsilon) - log_loss(-np.asarray(z, dtype=np.float64))
    return -np.logaddexp(kept, flipped)


def normalised_mixture(z: ArrayLike, epsilon: float) -> Values:
    """Return the mixture loss shifted and scaled to be 0 at +infinity and 1 at 0 (Eq. 12).

    It bounds the 0-1 loss from above everywhere, and is itself bounded (`loss_ceiling`).
    """
    return (logistic_mixture(z, epsilon) + math.log1p(-epsilon)) / (math.log(2.0) + math.log1p(-epsilon))


def normalised_difference(z: ArrayLike, mu: float) -> Values:
    """Return the difference loss scaled to be 1 at 0 (Eq. 12); equal to `normalised_mixture` at `epsilon_of_mu`."""
    return logistic_difference(z, mu) / (math.log(2.0) - math.log1p(math.exp(-mu)))


def mu_of_epsilon(epsilon: float) -> float:
    """Return mu = ln((1-epsilon)/epsilon), at which the two losses are one (Section 4).

    Examples
    --------
    >>> from stream_maxloss.leverage import epsilon_of_mu, mu_of_epsilon
    >>> round(mu_of_epsilon(0.08), 3), round(epsilon_of_mu(mu_of_epsilon(0.08)), 3)
    (2.442, 0.08)

    """
    return math.log1p(-epsilon) - math.log(epsilon)


def epsilon_of_mu(mu: float) -> float:
    """Return epsilon = 1/(1+e^mu), the inverse of `mu_of_epsilon`."""
    return 1.0 / (1.0 + math.exp(mu))


def misprediction_probability(z: Values) -> Values:
    """Return q = 1/(1+e^z): how probable the logistic model holds the other label."""
    from scipy.special import expit

    return expit(-z)


def mislabel_probability(z: Values, epsilon: float) -> Values:
    """Return alpha = epsilon/(epsilon + (1-epsilon) e^z): how probable it is that the label was flipped."""
    return misprediction_probability(z + mu_of_epsilon(epsilon))
