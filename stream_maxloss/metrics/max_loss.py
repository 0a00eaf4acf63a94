"""The greatest loss of a stream, and of its last rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.metrics.loss_metric import LossMetric
from stream_maxloss.metrics.ring import Ring
from stream_maxloss.metrics.row_loss import RowLoss

__all__ = ["MaxLoss", "RollingMaxLoss"]


class Greatest:
    """The greatest value of positive weight."""

    def __init__(self) -> None:
        self.value = 0.0

    def push(self, value: float, weight: float) -> None:
        """Take in one value."""
        if weight > 0.0:
            self.value = max(self.value, value)

    def push_many(self, values: NDArray[np.float64], weights: NDArray[np.float64] | None) -> None:
        """Take in many values."""
        counted = values if weights is None else values[weights > 0.0]
        self.value = max(self.value, float(counted.max(initial=0.0)))

    def state_dict(self) -> dict[str, Any]:
        """Return the value."""
        return {"worst": np.array([self.value])}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Replace the value."""
        self.value = float(state["worst"][0])


class MaxLoss(LossMetric):
    """The greatest loss of any row so far: the objective of Shalev-Shwartz and Wexler (2016).

    The loss of a row is 1 less the probability of its true label, or what `loss` says, and lies in [0, 1]. A
    row of weight 0 does not count; other weights make no difference to a maximum. Before any row it is 0.

    Parameters
    ----------
    loss
        What a row costs: `ProbabilityLoss()` where `None`, else `ZeroOneLoss()` for classifiers without probabilities,
        or `AbsoluteLoss(scale)` for regressors.

    Notes
    -----
    Memory is one number. To take a row back, all the rows that could then be the worst would have to be kept, so
    `revert` is refused and `river.utils.Rolling(MaxLoss, ...)` fails with it: use `RollingMaxLoss`.

    References
    ----------
    [^1]: Shalev-Shwartz, S. and Wexler, Y. (2016). Minimizing the maximal loss: how and why? ICML.

    Examples
    --------
    >>> from river import datasets, evaluate, linear_model, metrics, preprocessing
    >>> from stream_maxloss.metrics import MaxLoss

    >>> model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy() + MaxLoss())
    Accuracy: 89.28%
    MaxLoss: 0.9612

    """

    _store: Greatest

    def __init__(self, loss: RowLoss | None = None) -> None:
        super().__init__(loss, Greatest())

    def get(self) -> float:
        """Return the greatest loss so far."""
        return self._store.value


class RollingMaxLoss(LossMetric):
    """The greatest loss among the last `window_size` rows.

    Unlike `MaxLoss` it comes down again once the learner has got better, so it can be watched over time.

    Parameters
    ----------
    window_size
        How many rows are looked back on. Each costs 16 bytes, and `get` one pass over them.
    loss
        What a row costs, as in `MaxLoss`.

    Examples
    --------
    >>> from stream_maxloss.metrics import RollingMaxLoss

    >>> metric = RollingMaxLoss(window_size=2)
    >>> for probability in (0.125, 0.5, 0.75):
    ...     metric.update(True, {False: 1 - probability, True: probability})
    ...     print(metric.get())
    0.875
    0.875
    0.5

    """

    _store: Ring

    def __init__(self, window_size: int = 1000, loss: RowLoss | None = None) -> None:
        super().__init__(loss, Ring(window_size))
        self.window_size = window_size

    def get(self) -> float:
        """Return the greatest loss in the window; 0 if it holds no row of positive weight."""
        return float(self._store.values()[self._store.weights() > 0.0].max(initial=0.0))
