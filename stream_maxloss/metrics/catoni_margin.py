"""The Catoni estimate of the margin of a stream, and of its last rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from stream_maxloss.metrics.catoni import catoni_estimate, catoni_scale
from stream_maxloss.metrics.margin_metric import MarginMetric, checked_margin, checked_margins, checked_scale
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
        super().__init__()
        self.scale = checked_scale(scale)
        self.delta = _checked_delta(delta)
        self.capacity = capacity
        self.seed = seed
        self._reservoir = Reservoir(capacity, seed)

    def update_margin(self, margin: float) -> None:
        """Take in one margin."""
        self._reservoir.push(checked_margin(margin))

    def update_many(self, margins: ArrayLike) -> None:
        """Take in many margins."""
        self._reservoir.push_many(checked_margins(margins))

    def get(self) -> float:
        """Return the estimate."""
        return _estimate(self._reservoir.values(), self.scale, self.delta)

    def state_dict(self) -> dict[str, Any]:
        """Return the learned state."""
        return self._reservoir.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a state."""
        self._reservoir.load_state_dict(state)


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
        super().__init__()
        self.scale = checked_scale(scale)
        self.delta = _checked_delta(delta)
        self.window_size = window_size
        self._ring = Ring(window_size)

    def update_margin(self, margin: float) -> None:
        """Take in one margin."""
        self._ring.push(checked_margin(margin))

    def update_many(self, margins: ArrayLike) -> None:
        """Take in many margins."""
        array = checked_margins(margins)
        self._ring.push_many(array, np.ones(array.size))

    def get(self) -> float:
        """Return the estimate."""
        return _estimate(self._ring.values(), self.scale, self.delta)

    def state_dict(self) -> dict[str, Any]:
        """Return the learned state."""
        return self._ring.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a state."""
        self._ring.load_state_dict(state)


def _estimate(margins: NDArray[np.float64], scale: float | None, delta: float) -> float:
    if margins.size == 0:
        return 0.0
    return catoni_estimate(margins, catoni_scale(margins, delta) if scale is None else scale)


def _checked_delta(delta: float) -> float:
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must be in (0, 1), got {delta!r}; 0.05 asks for 95 % confidence")
    return delta
