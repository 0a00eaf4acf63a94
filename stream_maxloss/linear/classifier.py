"""What all binary linear learners have in common: River's mini-batch classifier over a `LinearModel`."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_maxloss.labels import SIGNS, sign_of, signs_of
from stream_maxloss.linear import memory as layout
from stream_maxloss.linear.batches import score_frame
from stream_maxloss.linear.learner import Learner
from stream_maxloss.linear.native import native_frame, native_series
from stream_maxloss.protocol import Answers

__all__ = ["LinearClassifier"]

INFINITY = math.inf


class LinearClassifier(Learner, base.MiniBatchClassifier):
    """Base of the binary linear learners.

    `learn_one` and `learn_many` are the same algorithm, row by row and in the same order. Labels may be bool, np.bool_,
    0/1 or -1/+1; predictions are booleans. Numbers and booleans are features by name, a text value `v` of `c` is the
    feature `c=v` with value 1, and None, null and NaN mean that the feature is absent.
    """

    def _targets_of(self, y: Any) -> NDArray[np.float64]:
        return signs_of(y)

    def _answers_of(self, scores: NDArray[np.float64]) -> Answers:
        first = scores if scores.ndim == 1 else scores[:, 0]
        return Answers(first >= 0.0, 0.5 * (1.0 + np.tanh(0.5 * first)))

    def learn_one(self, x: dict[Hashable, Any], y: Any, w: float = 1.0) -> None:
        """Learn one row. `w` scales its update.

        Raises
        ------
        ValueError
            If the label is not binary, a value is infinite or `w` is not positive. The model is then unchanged.

        """
        try:
            sign = SIGNS[y]
        except (KeyError, TypeError):
            sign = sign_of(y)
        # `LinearModel.learn` written out: a call less.
        model = self._model
        if not (0.0 < w < INFINITY and model.kernels.learn_row(model.shortcut, x, sign, w) == 0):
            model.learn(x, sign, w)

    def predict_one(self, x: dict[Hashable, Any]) -> bool:
        """Return True iff the score is not negative."""
        # `LinearModel.score` written out: a call less.
        model = self._model
        score = model.kernels.score_row(model.shortcut, x)
        return (score if score - score == 0.0 else model.score_slowly(x)) >= 0.0

    def predict_proba_one(self, x: dict[Hashable, Any]) -> dict[bool, float]:
        """Return the logistic function of the score as the probability of True."""
        # numpy's tanh and not Python's: a batch must give the same bits.
        positive = 0.5 * (1.0 + float(np.tanh(0.5 * self._model.score(x))))
        return {False: 1.0 - positive, True: positive}

    def predict_many(self, X: Any) -> Any:
        """Return a series of booleans like `X`: pandas for pandas, Arrow for Arrow, and so on."""
        scores = score_frame(self._model, X)
        return native_series((scores if scores.ndim == 1 else scores[:, 0]) >= 0.0, X)

    def predict_proba_many(self, X: Any) -> Any:
        """Return a frame like `X` with the columns False and True (as text where names must be text)."""
        positive: Any = self.answer_many(X).probabilities
        return native_frame({False: 1.0 - positive, True: positive}, X)

    @property
    def n_mistakes(self) -> int:
        """Number of learned rows that the current weights had wrong when they came."""
        return int(self._model.memory[layout.MISTAKES])
