"""The greatest loss of a stream, and of its last rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stream_maxloss.metrics.loss_metric import (
    LossMetric,
    checked_loss,
    checked_losses,
    checked_weight,
    checked_weights,
)
from stream_maxloss.metrics.ring import Ring
from stream_maxloss.metrics.row_loss import RowLoss

__all__ = ["MaxLoss", "RollingMaxLoss"]


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

    def __init__(self, loss: RowLoss | None = None) -> None:
        super().__init__(loss)
        self._worst = 0.0

    def update_loss(self, loss: float, w: float = 1.0) -> None:
        """Take in one row by its loss."""
        loss = checked_loss(loss)
        if checked_weight(w) > 0.0:
            self._worst = max(self._worst, loss)

    def update_many(self, losses: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Take in many rows by their losses."""
        array = checked_losses(losses)
        counted = array[checked_weights(weights, array.size) > 0.0]
        if counted.size:
            self._worst = max(self._worst, float(counted.max()))

    def get(self) -> float:
        """Return the greatest loss so far."""
        return self._worst

    def state_dict(self) -> dict[str, Any]:
        """Return the learned state."""
        return {"worst": np.array([self._worst])}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a state."""
        self._worst = float(state["worst"][0])


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

    def __init__(self, window_size: int = 1000, loss: RowLoss | None = None) -> None:
        super().__init__(loss)
        self.window_size = window_size
        self._ring = Ring(window_size)

    def update_loss(self, loss: float, w: float = 1.0) -> None:
        """Take in one row by its loss."""
        self._ring.push(checked_loss(loss), checked_weight(w))

    def update_many(self, losses: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Take in many rows by their losses."""
        array = checked_losses(losses)
        self._ring.push_many(array, checked_weights(weights, array.size))

    def get(self) -> float:
        """Return the greatest loss in the window; 0 if it holds no row of positive weight."""
        return float(self._ring.values()[self._ring.weights() > 0.0].max(initial=0.0))

    def state_dict(self) -> dict[str, Any]:
        """Return the learned state."""
        return self._ring.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a state."""
        self._ring.load_state_dict(state)
