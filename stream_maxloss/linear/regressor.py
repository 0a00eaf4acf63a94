"""What native regressors have in common: River's mini-batch regressor over a `LinearModel`."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_maxloss.labels import target_of, targets_of
from stream_maxloss.linear.learner import Learner
from stream_maxloss.linear.native import native_series
from stream_maxloss.protocol import Answers

__all__ = ["LinearRegressor"]


class LinearRegressor(Learner, base.MiniBatchRegressor):
    """Base of the native regressors: the prediction is the first score, clipped to [low, high]."""

    low: float = -math.inf
    high: float = math.inf

    def _targets_of(self, y: Any) -> NDArray[np.float64]:
        return targets_of(y)

    def _answers_of(self, scores: NDArray[np.float64]) -> Answers:
        return Answers(np.clip(scores if scores.ndim == 1 else scores[:, 0], self.low, self.high), None)

    def learn_one(self, x: dict[Hashable, Any], y: float, w: float = 1.0) -> None:
        """Learn one row. `w` scales its update."""
        self._model.learn(x, target_of(y), w)

    def predict_one(self, x: dict[Hashable, Any]) -> float:
        """Return the score, clipped to [low, high]."""
        return min(max(self._model.score(x), self.low), self.high)

    def predict_many(self, X: Any) -> Any:
        """Return a series of predictions like `X`: pandas for pandas, Arrow for Arrow, and so on."""
        return native_series(self.answer_many(X).labels, X)
