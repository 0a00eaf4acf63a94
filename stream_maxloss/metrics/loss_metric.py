"""What the metrics of the worst rows share: a row loss, River's form, and the batch form."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from river import base
from river.metrics.base import ClassificationMetric, Metric, Metrics, RegressionMetric

from stream_maxloss.metrics.row_loss import ProbabilityLoss, RowLoss

__all__ = ["LossMetric", "LossStore", "checked_loss", "checked_weight"]


class LossStore(Protocol):
    """What a metric keeps of the losses it has seen."""

    def push(self, value: float, weight: float) -> None:
        """Take in one loss."""

    def push_many(self, values: NDArray[np.float64], weights: NDArray[np.float64] | None) -> None:
        """Take in losses in order; without weights all are 1."""

    def state_dict(self) -> dict[str, Any]:
        """Return the state as arrays and plain JSON values."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a state."""


class LossMetric(ClassificationMetric, RegressionMetric):
    """A statistic of the losses of the rows, for classifiers or regressors as its row loss says.

    River's `metric + metric` accepts only metrics of one of its two mother classes, and a statistic of losses
    belongs to both; `works_with` still refuses the wrong kind of model.

    Parameters
    ----------
    loss
        What a row costs: `ProbabilityLoss()` where `None`.
    store
        What is kept of the losses.

    """

    _fmt = ".6f"

    def __init__(self, loss: RowLoss | None, store: LossStore) -> None:
        if loss is not None and not isinstance(loss, RowLoss):
            raise TypeError(
                f"loss must be a RowLoss, got {loss!r}; use ProbabilityLoss(), ZeroOneLoss() or AbsoluteLoss(scale)"
            )
        self.loss = ProbabilityLoss() if loss is None else loss
        self._store = store

    def update_loss(self, loss: float, w: float = 1.0) -> None:
        """Take in one row by its loss."""
        self._store.push(checked_loss(loss), checked_weight(w))

    def update_many(self, losses: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Take in many rows by their losses; the same result as one `update_loss` each, in order."""
        array = checked_losses(losses)
        self._store.push_many(array, None if weights is None else checked_weights(weights, array.size))

    def state_dict(self) -> dict[str, Any]:
        """Return the learned state as arrays and plain JSON values."""
        return self._store.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a state that `state_dict` of an equally configured metric returned."""
        self._store.load_state_dict(state)

    def update(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        """Take in one row."""
        self.update_loss(self.loss(y_true, y_pred), w)

    def revert(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        """Refuse to take a row back, unless a subclass can."""
        raise NotImplementedError(
            f"{type(self).__name__} cannot take a row back; for the last rows of a stream use RollingMaxLoss or "
            "RollingTailLoss, which forget by themselves, instead of river.utils.Rolling"
        )

    @property
    def bigger_is_better(self) -> bool:
        """A low loss is better."""
        return False

    @property
    def requires_labels(self) -> bool:
        """Whether a classifier should be asked for labels rather than probabilities."""
        return self.loss.requires_labels

    def works_with(self, model: base.Estimator) -> bool:
        """Return whether the row loss can score `model`."""
        return self.loss.works_with(model)

    def __add__(self, other: Metric) -> Metrics:
        if not isinstance(other, (ClassificationMetric, RegressionMetric)):
            raise ValueError(f"{type(self).__name__} and {type(other).__name__} metrics are not compatible")
        return Metrics([self, other])


def checked_loss(loss: float) -> float:
    """Return a loss that is surely in [0, 1], or raise."""
    if not 0.0 <= loss <= 1.0:
        raise ValueError(f"loss must be in [0, 1], got {loss!r}; clip it or divide it by its bound first")
    return float(loss)


def checked_weight(w: float) -> float:
    """Return a weight that is surely finite and not negative, or raise."""
    if not (w >= 0.0 and math.isfinite(w)):
        raise ValueError(f"w must be a finite number of at least 0, got {w!r}; a row of no interest has weight 0")
    return float(w)


def checked_losses(losses: ArrayLike) -> NDArray[np.float64]:
    """Return losses that are surely in [0, 1], or raise naming the first that is not."""
    array = np.asarray(losses, dtype=np.float64)
    bad = ~((array >= 0.0) & (array <= 1.0))
    if bad.any():
        checked_loss(float(array[bad][0]))
    return array


def checked_weights(weights: ArrayLike, n_rows: int) -> NDArray[np.float64]:
    """Return one finite weight of at least 0 per row, or raise."""
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (n_rows,):
        raise ValueError(f"weights must have one value per row ({n_rows}), got shape {array.shape!r}; or pass None")
    bad = ~((array >= 0.0) & np.isfinite(array))
    if bad.any():
        checked_weight(float(array[bad][0]))
    return array
