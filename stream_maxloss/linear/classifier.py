"""What all binary linear learners have in common: River's mini-batch classifier over a `LinearModel`."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_maxloss.labels import SIGNS, sign_of, signs_of
from stream_maxloss.linear import memory as layout
from stream_maxloss.linear.batch_checks import row_weights
from stream_maxloss.linear.model import LinearModel
from stream_maxloss.linear.native import native_frame, native_series
from stream_maxloss.linear.scaled import run_scaled_frame
from stream_maxloss.linear.scaler import Scaler

__all__ = ["LinearClassifier"]

INFINITY = math.inf


class LinearClassifier(base.MiniBatchClassifier):
    """Base of the binary linear learners.

    `learn_one` and `learn_many` are the same algorithm, row by row and in the same order. Labels may be bool, np.bool_,
    0/1 or -1/+1; predictions are booleans. Numbers and booleans are features by name, a text value `v` of `c` is the
    feature `c=v` with value 1, and None, null and NaN mean that the feature is absent.
    """

    _model: LinearModel
    _with_intercept: bool

    def _get_params(self) -> dict[str, Any]:
        # River reads a parameter from the attribute of its name, but `intercept` shows what was learned.
        return {**super()._get_params(), "intercept": self._with_intercept}

    def __repr__(self) -> str:
        params = ", ".join(f"{name}={value!r}" for name, value in self._get_params().items())
        return f"{type(self).__name__}({params})"

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
        if not (0.0 < w < INFINITY and model.learn_row(model.address, model.columns_at, model.names, x, sign, w) == 0):
            model.learn(x, sign, w)

    def predict_one(self, x: dict[Hashable, Any]) -> bool:
        """Return True iff the score is not negative."""
        # `LinearModel.score` written out: a call less.
        model = self._model
        score = model.score_row(model.address, model.columns_at, model.names, x)
        return (score if score - score == 0.0 else model.score_slowly(x)) >= 0.0

    def predict_proba_one(self, x: dict[Hashable, Any]) -> dict[bool, float]:
        """Return the logistic function of the score as the probability of True."""
        positive = 0.5 * (1.0 + math.tanh(0.5 * self._model.score(x)))
        return {False: 1.0 - positive, True: positive}

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn the rows of a frame, one after another. `w` is one weight for all or one per row.

        Raises
        ------
        ValueError
            If a row is refused. None of the rows is then learned.

        """
        self._learn_scored(X, y, w)

    def _learn_scored(self, X: Any, y: Any, w: Any = 1.0) -> NDArray[np.float64]:
        """Learn the rows of a frame and return the score that each had before it was learned."""
        targets = signs_of(y)
        return self._model.run(X, targets, row_weights(w, len(targets)))

    def _takes_scaled(self) -> bool:
        """Tell whether rows can be scaled in the kernel: hashed features have lost the names that a scaler goes by."""
        return self._model.features.grows

    def _learn_scaled(self, scaler: Scaler, X: Any, y: Any, w: Any = 1.0) -> NDArray[np.float64]:
        """Learn the rows of a frame, each scaled as it comes; return the scores before."""
        targets = signs_of(y)
        return run_scaled_frame(scaler, self._model, X, targets, row_weights(w, len(targets)))

    def predict_many(self, X: Any) -> Any:
        """Return a series of booleans like `X`: pandas for pandas, Arrow for Arrow, and so on."""
        return native_series(self._model.scores(X) >= 0.0, X)

    def predict_proba_many(self, X: Any) -> Any:
        """Return a frame like `X` with the columns False and True (as text where names must be text)."""
        positive = 0.5 * (1.0 + np.tanh(0.5 * self._model.scores(X)))
        return native_frame({False: 1.0 - positive, True: positive}, X)

    @property
    def weights(self) -> dict[Hashable, float]:
        """What was learned: feature name -> weight (of the average, if averaged)."""
        return self._model.weights

    @property
    def intercept(self) -> float:
        """What was learned for the constant feature (0 without one)."""
        return self._model.intercept

    @property
    def n_mistakes(self) -> int:
        """Number of learned rows that the current weights had wrong when they came."""
        return int(self._model.memory[layout.MISTAKES])

    @property
    def n_rows(self) -> int:
        """Number of rows learned."""
        return int(self._model.memory[layout.STEPS])

    def state_dict(self) -> dict[str, Any]:
        """Return everything that was learned, as arrays and JSON."""
        return self._model.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` of a learner with the same parameters returned."""
        self._model.load_state_dict(state)
