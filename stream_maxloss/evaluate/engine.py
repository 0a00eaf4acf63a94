"""Predict, then learn, a batch of rows with any model: in one kernel where the model is ours, else row by row."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_maxloss.labels import are_positive, as_array
from stream_maxloss.linear.native import is_record_batch
from stream_maxloss.rows.dicts import frame_to_dicts

__all__ = ["Engine", "Scored"]


@dataclass
class Scored:
    """What a model said of each row before it learned it.

    Parameters
    ----------
    y_true
        Labels as booleans for our binary learners, else as they came.
    y_pred
        Predicted labels or values; None where the model had none yet.
    probabilities
        The probability of True of each row, for models that give one; None otherwise.
    answers
        Row by row, what the model returned, in the form that the metric wants. None where a kernel ran.

    """

    y_true: NDArray[Any]
    y_pred: NDArray[Any] | None
    probabilities: NDArray[np.float64] | None
    answers: list[Any] | None = None


class Engine:
    """Runs one model over batches.

    Parameters
    ----------
    model
        Any River classifier or regressor. Ours (bare, behind `Scaler() |`, or focused) run as one kernel per batch.
    labels
        Whether to ask other models for labels (`predict_one`) rather than probabilities (`predict_proba_one`).

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.evaluate import Engine
    >>> from stream_maxloss.linear import Perceptron
    >>> engine = Engine(Perceptron())
    >>> engine.is_native
    True
    >>> engine.learn(pa.table({"x": [1.0, -1.0, 1.0]}), [True, False, True]).y_pred
    array([ True,  True,  True])

    """

    def __init__(self, model: Any, labels: bool = True) -> None:
        self.model = model
        self.labels = labels
        self.is_native = runs_in_kernel(model)
        self.is_classifier = isinstance(model, base.Classifier)
        self.takes_weights = takes_weights(model)

    def learn(self, X: Any, y: Any, w: Any = None) -> Scored:
        """Predict each row of a frame, then learn it."""
        if self.is_native:
            scores = self.model._learn_scored(X, y, 1.0 if w is None else w)
            return self._from_scores(scores, y)
        return self._learn_rows(X, y, w)

    def predict(self, X: Any, y: Any = None) -> Scored:
        """Predict each row of a frame and learn nothing."""
        labels = np.empty(0) if y is None else as_array(y)
        if self.is_native and self.is_classifier:
            answer = self.model.predict_proba_many(X)
            positive = as_array(answer[True] if hasattr(answer, "iloc") else answer["True"])
            # Not by the probability: it rounds to one half before the score is 0.
            guesses = as_array(self.model.predict_many(X)).astype(np.bool_)
            return Scored(labels if y is None else are_positive(y), guesses, positive)
        return Scored(labels, None, None, [self._ask(x) for x in frame_to_dicts(X)])

    def _from_scores(self, scores: NDArray[np.float64], y: Any) -> Scored:
        if not self.is_classifier:
            low, high = clip_range(self.model)
            return Scored(as_array(y).astype(np.float64), np.clip(scores, low, high), None)
        return Scored(are_positive(y), scores >= 0.0, 0.5 * (1.0 + np.tanh(0.5 * scores)))

    def learn_row(self, x: dict[Any, Any], label: Any, w: float | None) -> None:
        """Learn one row, with its weight if the model takes weights."""
        if w is None or not self.takes_weights:
            self.model.learn_one(x, label)
        else:
            self.model.learn_one(x, label, w=w)

    def _ask(self, x: dict[Any, Any]) -> Any:
        if self.labels or not self.is_classifier:
            return self.model.predict_one(x)
        return self.model.predict_proba_one(x)

    def _learn_rows(self, X: Any, y: Any, w: Any) -> Scored:
        labels = as_array(y)
        weights = None if w is None else as_array(w) if not np.isscalar(w) else np.full(len(labels), w)
        answers = []
        for row, (x, label) in enumerate(zip(frame_to_dicts(X), labels.tolist(), strict=True)):
            answers.append(self._ask(x))
            self.learn_row(x, label, None if weights is None else float(weights[row]))
        return Scored(labels, None, None, answers)


def runs_in_kernel(model: Any) -> bool:
    """Tell whether a model learns and scores whole batches by itself."""
    is_native = getattr(model, "_is_native", None)
    if is_native is not None:
        return bool(is_native())
    return hasattr(model, "_learn_scored")


def takes_weights(model: Any) -> bool:
    """Tell whether `learn_one` takes a sample weight; a model that does not learns all rows alike, as in River."""
    parameters = inspect.signature(model.learn_one).parameters
    return "w" in parameters or any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())


def clip_range(model: Any) -> tuple[float, float]:
    """Return the bounds of a regressor's predictions."""
    last = model._last_step if hasattr(model, "_last_step") else model
    inner = getattr(last, "regressor", last)
    return getattr(inner, "low", -np.inf), getattr(inner, "high", np.inf)


def is_frame(batch: Any) -> bool:
    """Tell whether something is a frame of many rows rather than one row."""
    return is_record_batch(batch) or (not isinstance(batch, dict) and hasattr(batch, "columns"))
