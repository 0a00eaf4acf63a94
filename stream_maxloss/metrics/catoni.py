"""Catoni's soft truncation and the location estimate built on it (Holland, Eqs. 1-4)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["catoni_estimate", "catoni_psi", "catoni_rho", "catoni_scale"]

ROOT_TWO = math.sqrt(2.0)
# psi beyond +-sqrt(2): the most that one value, however wild, can say.
LIMIT = 2.0 * ROOT_TWO / 3.0


def catoni_psi(u: Any) -> Any:
    """Return the soft truncation $\\psi(u) = u - u^3/6$, held constant beyond $\\pm\\sqrt 2$ (Eq. 2).

    Takes a number or an array and returns the same.

    Examples
    --------
    >>> from stream_maxloss.metrics import catoni_psi
    >>> catoni_psi(1.0), catoni_psi(-50.0)
    (0.8333, -0.9428)

    """
    clipped = np.clip(u, -ROOT_TWO, ROOT_TWO)
    # Not as a power, which numpy takes in another way for one number than for many: the last digit would differ.
    truncated = clipped - clipped * clipped * clipped / 6.0
    return truncated if isinstance(u, np.ndarray) else float(truncated)


def catoni_rho(u: Any) -> Any:
    """Return the loss whose derivative is `catoni_psi`: $u^2/2 - u^4/24$, then linear beyond $\\pm\\sqrt 2$ (Eq. 3).

    Examples
    --------
    >>> from stream_maxloss.metrics import catoni_rho
    >>> catoni_rho(1.0), catoni_rho(10.0)
    (0.4583, 8.9280)

    """
    size = np.abs(u)
    clipped = np.minimum(size, ROOT_TWO)
    inside = clipped**2 / 2.0 - clipped**4 / 24.0
    loss = np.where(size > ROOT_TWO, LIMIT * size - 0.5, inside)
    return loss if isinstance(u, np.ndarray) else float(loss)


def catoni_scale(values: ArrayLike, delta: float = 0.05) -> float:
    """Return the scale that Lemma 6 gives for confidence `1 - delta`: $s^2 = n v / (2 \\ln(2 / \\delta))$.

    The variance $v$ is the empirical one of `values`. Values that do not vary give a scale of 1: any scale
    then yields the same estimate.

    Parameters
    ----------
    values
        The margins.
    delta
        The chance that the estimate misses its bound $\\sqrt{2 v \\ln(2/\\delta) / n}$; lowering it lowers the scale
        and so trusts the tails less.

    Examples
    --------
    >>> from stream_maxloss.metrics import catoni_scale
    >>> catoni_scale([0.0, 1.0, 2.0, 3.0, 4.0], delta=0.05)
    1.1642

    """
    check_delta(delta)
    array = _finite(values)
    scale = math.sqrt(array.size * float(array.var()) / (2.0 * math.log(2.0 / delta)))
    return scale if scale > 0.0 else 1.0


def catoni_estimate(values: ArrayLike, scale: float) -> float:
    """Return the Catoni estimate of the location of `values`: the root of Eq. 1.

    The estimate is the $\\hat\\gamma$ with

    $$\\sum_i \\psi\\left(\\frac{\\hat\\gamma - z_i}{s}\\right) = 0$$

    on the margins $z_i = y_i h(x_i)$ themselves, as Eq. 4 and Proposition 2 use it, rather than on their hinge
    losses. By Proposition 2 it is a median of the values for a small enough scale, and within $c / s^2$ of their mean.
    The sum never decreases in $\\hat\\gamma$, so the root is bracketed by the least and the greatest value. Where
    the sum is zero on a whole interval (an even number of values far apart against the scale) the middle of that
    interval is returned, which makes the limit numpy's median.

    Parameters
    ----------
    values
        At least one finite number.
    scale
        The $s$ of Eq. 1, in units of the values. Raising it moves the estimate from the median to the mean.

    Notes
    -----
    Each step of the root search is one pass over the values; some ten to fifty are needed.

    References
    ----------
    [^1]: Holland, M. J. Classification using margin pursuit.

    Examples
    --------
    >>> from stream_maxloss.metrics import catoni_estimate
    >>> margins = [1.0, 2.0, 3.0, 4.0, 90.0]
    >>> [catoni_estimate(margins, scale) for scale in (0.01, 2.0, 1e6)]
    [3.0, 3.0677, 20.0]

    """
    if not (scale > 0.0 and math.isfinite(scale)):
        raise ValueError(f"scale must be a positive number, got {scale!r}; see catoni_scale for one from the data")
    array = _finite(values)
    low, high = float(array.min()), float(array.max())
    if low == high:
        return low
    middle = _middle_of_flat(array, scale)
    if middle is not None:
        return middle

    def balance(gamma: float) -> float:
        return float(catoni_psi((gamma - array) / scale).sum())

    if balance(low) >= 0.0 or balance(high) <= 0.0:
        # Only for a scale so large that the differences vanish in rounding: the limit is the mean.
        return float(array.mean())
    from scipy.optimize import brentq

    return float(brentq(balance, low, high, xtol=1e-15 * (high - low), maxiter=500))


def check_delta(delta: float) -> None:
    """Refuse a confidence parameter outside (0, 1)."""
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must be in (0, 1), got {delta!r}; 0.05 asks for 95 % confidence")


def _middle_of_flat(array: NDArray[np.float64], scale: float) -> float | None:
    """Return the middle of the interval on which the sum is zero, or None where it has a single root.

    The sum is flat only where every value is truncated, and zero there only with as many above as below: between the
    two middle values. Found by counting, for a root search would stop anywhere on it, as rounding has it.
    """
    if array.size % 2:
        return None
    half = array.size // 2
    below, above = np.partition(array, (half - 1, half))[half - 1 : half + 1].tolist()
    return (below + above) / 2.0 if above - below > 2.0 * ROOT_TWO * scale else None


def _finite(values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64).ravel()
    if array.size == 0:
        raise ValueError("values must hold at least one number, got none; update the estimate first")
    bad = ~np.isfinite(array)
    if bad.any():
        raise ValueError(f"values must be finite, got {float(array[bad][0])!r}; drop such rows before the estimate")
    return array
