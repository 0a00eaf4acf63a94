"""What the metrics of the margin share: reading a margin from a prediction, River's form, and the batch form."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from river.metrics.base import ClassificationMetric

from stream_maxloss.labels import are_positive, sign_of
from stream_maxloss.metrics.reservoir import Reservoir
from stream_maxloss.metrics.ring import Ring

__all__ = ["MarginMetric", "margin_of", "margins_of"]

# A probability of exactly 0 or 1 would be an infinite score; River's log loss stops at the same place.
LEAST_PROBABILITY = 1e-15


def margin_of(y_true: Any, y_pred: Any) -> float:
    """Return the margin y s of one row, with the logit of the predicted probability as the score s.

    Parameters
    ----------
    y_true
        The label: bool, 0/1 or -1/+1.
    y_pred
        A dict of probabilities as River's binary classifiers return it, or the probability of the positive label.

    Examples
    --------
    >>> from stream_maxloss.metrics import margin_of
    >>> margin_of(True, {False: 0.25, True: 0.75}), margin_of(-1, 0.75)
    (1.0986, -1.0986)

    """
    probability = y_pred.get(True, 0.0) if isinstance(y_pred, dict) else float(y_pred)
    clamped = min(max(probability, LEAST_PROBABILITY), 1.0 - LEAST_PROBABILITY)
    # numpy's logarithm, for the bits of `margins_of`: that of math may differ in the last one.
    score = float(np.log(clamped / (1.0 - clamped)))
    return sign_of(y_true) * score


def margins_of(y_true: NDArray[Any], proba_true: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the margins of a batch of rows from the probabilities of the positive label."""
    clamped = np.clip(proba_true, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
    scores = np.log(clamped / (1.0 - clamped))
    return np.where(are_positive(y_true), scores, -scores)


class MarginMetric(ClassificationMetric):
    """A statistic of the margins of a binary classifier.

    A margin comes either as such (`update_margin`, for learners that know their score), or from a probability
    through the logit, which gives back the score of any learner whose probability is the logistic function of it.
    Sample weights are not used.

    Parameters
    ----------
    store
        What is kept of the margins.

    """

    _fmt = ".6f"

    def __init__(self, store: Ring | Reservoir) -> None:
        # River's confusion matrix is left out: margins do not fill one.
        self._store = store

    def update_margin(self, margin: float) -> None:
        """Take in one margin: the label in {-1, +1} times the score."""
        self._store.push(checked_margin(margin))

    def update_many(self, margins: ArrayLike) -> None:
        """Take in many margins; the same result as one `update_margin` each, in order."""
        self._store.push_many(checked_margins(margins))

    def state_dict(self) -> dict[str, Any]:
        """Return the learned state as arrays and plain JSON values."""
        return self._store.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a state that `state_dict` of an equally configured metric returned."""
        self._store.load_state_dict(state)

    def update(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        """Take in one row; `w` is not used."""
        self.update_margin(margin_of(y_true, y_pred))

    def revert(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        """Refuse to take a row back."""
        raise NotImplementedError(
            f"{type(self).__name__} cannot take a row back; for the last rows of a stream use RollingCatoniMargin "
            "or MarginDistribution, which forget by themselves, instead of river.utils.Rolling"
        )

    @property
    def requires_labels(self) -> bool:
        """Margins come from probabilities."""
        return False

    @property
    def works_with_weights(self) -> bool:
        """Every margin counts the same."""
        return False


def checked_margin(margin: float) -> float:
    """Return a margin that is surely finite, or raise."""
    if not math.isfinite(margin):
        raise ValueError(f"margin must be finite, got {margin!r}; scale the features or bound the weights")
    return float(margin)


def checked_margins(margins: ArrayLike) -> NDArray[np.float64]:
    """Return margins that are surely finite, or raise naming the first that is not."""
    array = np.asarray(margins, dtype=np.float64)
    bad = ~np.isfinite(array)
    if bad.any():
        checked_margin(float(array[bad][0]))
    return array
