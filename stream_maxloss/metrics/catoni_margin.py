"""The Catoni estimate of the margin of a stream, and of its last rows."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.metrics.catoni import catoni_estimate, catoni_scale, check_delta
from stream_maxloss.metrics.margin_metric import MarginMetric
from stream_maxloss.metrics.reservoir import Reservoir
from stream_maxloss.metrics.ring import Ring

__all__ = ["CatoniMargin", "RollingCatoniMargin"]


class CatoniMargin(MarginMetric):
    """Where the margins of the whole stream lie, by Catoni's estimate on a uniform sample of them.

    The estimate is the root of Holland's Eq. 1 over the sampled margins (see `catoni_estimate`): close to the mean for
    well behaved margins, and like the median little moved by a few wild ones. While the stream is shorter than
    `capacity` the sample is the stream. Before any row it is 0.

    Parameters
    ----------
    scale
        The $s$ of Eq. 1. Raising it moves the estimate from the median to the mean. `None` takes it from the variance
        of the sample by Lemma 6.
    delta
        The confidence parameter of Lemma 6; used only where `scale` is `None`.
    capacity
        Size of the sample, 8 bytes each. Raising it lowers the sampling error, which falls with its square root.
    seed
        Fixes the sample.

    References
    ----------
    [^1]: Holland, M. J. Classification using margin pursuit.
    [^2]: Catoni, O. (2012). Challenging the empirical mean and empirical variance: a deviation study.

    Examples
    --------
    >>> from river import datasets, evaluate, linear_model, preprocessing
    >>> from stream_maxloss.metrics import CatoniMargin

    >>> model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, CatoniMargin(scale=1.0, capacity=2000, seed=1))
    CatoniMargin: 1.415

    """

    def __init__(
        self, scale: float | None = None, delta: float = 0.05, capacity: int = 1000, seed: int | None = None
    ) -> None:
        super().__init__(Reservoir(capacity, seed))
        _check(scale, delta)
        self.scale = scale
        self.delta = delta
        self.capacity = capacity
        self.seed = seed

    def get(self) -> float:
        """Return the estimate."""
        return _estimate(self._store.values(), self.scale, self.delta)


class RollingCatoniMargin(MarginMetric):
    """Where the margins of the last `window_size` rows lie, by Catoni's estimate.

    Parameters
    ----------
    scale
        The $s$ of Eq. 1, as in `CatoniMargin`.
    delta
        The confidence parameter of Lemma 6; used only where `scale` is `None`.
    window_size
        How many rows are looked back on; 16 bytes each.

    Examples
    --------
    >>> from stream_maxloss.metrics import RollingCatoniMargin

    >>> metric = RollingCatoniMargin(scale=0.01, window_size=3)
    >>> metric.update_many([-50.0, 1.0, 2.0, 80.0])
    >>> metric.get()
    2.0

    """

    def __init__(self, scale: float | None = None, delta: float = 0.05, window_size: int = 1000) -> None:
        super().__init__(Ring(window_size))
        _check(scale, delta)
        self.scale = scale
        self.delta = delta
        self.window_size = window_size

    def get(self) -> float:
        """Return the estimate."""
        return _estimate(self._store.values(), self.scale, self.delta)


def _estimate(margins: NDArray[np.float64], scale: float | None, delta: float) -> float:
    if margins.size == 0:
        return 0.0
    return catoni_estimate(margins, catoni_scale(margins, delta) if scale is None else scale)


def _check(scale: float | None, delta: float) -> None:
    if scale is not None and not (scale > 0.0 and math.isfinite(scale)):
        raise ValueError(f"scale must be a positive number or None, got {scale!r}; None takes it from the data")
    check_delta(delta)
