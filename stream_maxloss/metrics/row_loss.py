"""What a row costs: losses in [0, 1] of one prediction, for the metrics of the worst rows."""

from __future__ import annotations

import abc
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_maxloss.labels import are_positive, sign_of

__all__ = ["AbsoluteLoss", "ProbabilityLoss", "RowLoss", "ZeroOneLoss"]


class RowLoss(base.Base, abc.ABC):
    """A loss in [0, 1] of one row, from its label or value and the prediction for it.

    `loss(y_true, y_pred)` takes one row as River hands it to a metric. `many` takes the columns of a batch and
    returns, bit for bit, what the rows would give one at a time.
    """

    requires_labels = True

    @abc.abstractmethod
    def __call__(self, y_true: Any, y_pred: Any) -> float:
        """Return the loss of one row."""

    @abc.abstractmethod
    def many(
        self, y_true: NDArray[Any], y_pred: NDArray[Any] | None, proba_true: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Return the losses of a batch of rows."""

    def works_with(self, model: base.Estimator) -> bool:
        """Return whether the predictions of `model` can be scored: those of a classifier, unless said otherwise."""
        return isinstance(model, base.Classifier)


class ZeroOneLoss(RowLoss):
    """1 where the predicted label is wrong, else 0.

    Examples
    --------
    >>> from stream_maxloss.metrics import ZeroOneLoss
    >>> loss = ZeroOneLoss()
    >>> loss("cat", "dog"), loss(-1, False)
    (1.0, 0.0)

    """

    def __call__(self, y_true: Any, y_pred: Any) -> float:
        """Return 0.0 or 1.0."""
        if isinstance(y_pred, (bool, np.bool_)) and y_true == -1:
            return float(y_pred)
        return float(y_true != y_pred)

    def many(
        self, y_true: NDArray[Any], y_pred: NDArray[Any] | None, proba_true: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return the losses of a batch of predicted labels."""
        if y_pred is None:
            raise ValueError("y_pred must hold the predicted labels, got None; ZeroOneLoss does not read probabilities")
        wrong = np.asarray(y_true != y_pred)
        if y_pred.dtype == np.bool_ and y_true.dtype != np.bool_:
            wrong = np.where(y_true == -1, y_pred, wrong)
        return wrong.astype(np.float64)


class ProbabilityLoss(RowLoss):
    """1 less the probability given to the true label.

    The prediction may be River's dict of probabilities (a label that is not in it has probability 0), or a float,
    the probability of the positive label as in `river.metrics.LogLoss`. A plain label (bool, int, str) is
    taken as certain, which makes the loss zero-one.

    Examples
    --------
    >>> from stream_maxloss.metrics import ProbabilityLoss
    >>> loss = ProbabilityLoss()
    >>> loss(True, {False: 0.25, True: 0.75}), loss("owl", {"cat": 1.0}), loss(0, 0.25)
    (0.25, 1.0, 0.25)

    """

    requires_labels = False

    def __call__(self, y_true: Any, y_pred: Any) -> float:
        """Return the loss of one row, clipped to [0, 1]."""
        if isinstance(y_pred, dict):
            # -1 is the negative label of a model that answers in False and True.
            label = False if y_true == -1 and y_true not in y_pred else y_true
            return _clip(1.0 - y_pred.get(label, 0.0))
        if isinstance(y_pred, (float, np.floating)):
            probability = float(y_pred)
            return _clip(1.0 - (probability if sign_of(y_true) > 0.0 else 1.0 - probability))
        return ZeroOneLoss()(y_true, y_pred)

    def many(
        self, y_true: NDArray[Any], y_pred: NDArray[Any] | None, proba_true: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Return the losses of a batch from `proba_true`, the probabilities of the positive label, where given."""
        if proba_true is None:
            return ZeroOneLoss().many(y_true, y_pred)
        # 1 - (1 - p), not p: the rounding of the dict {False: 1 - p, True: p} that the row form reads.
        losses = 1.0 - np.where(are_positive(y_true), proba_true, 1.0 - proba_true)
        return np.clip(losses, 0.0, 1.0)


class AbsoluteLoss(RowLoss):
    """The absolute error of a regressor in units of `scale`, at most 1.

    Parameters
    ----------
    scale
        The error that counts as total failure; raising it makes every loss smaller.

    Examples
    --------
    >>> from stream_maxloss.metrics import AbsoluteLoss
    >>> loss = AbsoluteLoss(scale=10.0)
    >>> loss(3.0, 5.0), loss(3.0, 80.0)
    (0.2, 1.0)

    """

    def __init__(self, scale: float = 1.0) -> None:
        if not (scale > 0.0 and math.isfinite(scale)):
            raise ValueError(f"scale must be a positive number, got {scale!r}; give the error that counts as 1")
        self.scale = scale

    def __call__(self, y_true: Any, y_pred: Any) -> float:
        """Return the loss of one row; an error that is not a number stays so, and the metrics refuse it."""
        error = abs(float(y_true) - float(y_pred)) / self.scale
        return 1.0 if error > 1.0 else error

    def many(
        self, y_true: NDArray[Any], y_pred: NDArray[Any] | None, proba_true: NDArray[np.float64] | None = None
    ) -> NDArray[np.float64]:
        """Return the losses of a batch of predicted values."""
        if y_pred is None:
            raise ValueError(
                "y_pred must hold the predicted values, got None; AbsoluteLoss does not read probabilities"
            )
        errors = np.abs(y_true.astype(np.float64) - y_pred.astype(np.float64)) / self.scale
        return np.minimum(errors, 1.0)

    def works_with(self, model: base.Estimator) -> bool:
        """Return whether `model` is a regressor."""
        return isinstance(model, base.Regressor)


def _clip(loss: float) -> float:
    # Written so that a NaN passes through: the metric that receives it names it.
    return 0.0 if loss < 0.0 else 1.0 if loss > 1.0 else float(loss)
