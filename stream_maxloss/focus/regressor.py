"""The focused regressor."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base, compose

from stream_maxloss.errors import RowError
from stream_maxloss.focus import arrays
from stream_maxloss.focus.admission import Admission
from stream_maxloss.focus.focused import Focused, checked_loss
from stream_maxloss.focus.native import NativeReplay
from stream_maxloss.focus.policy import Policy
from stream_maxloss.focus.slack import Slack
from stream_maxloss.focus.window import iterate_frame
from stream_maxloss.labels import as_array
from stream_maxloss.linear.native import native_series
from stream_maxloss.linear.regressor import LinearRegressor
from stream_maxloss.protocol import Answers

__all__ = ["FocusedRegressor"]

# Places in the array of what is known of the targets.
SEEN, MEAN, SQUARES = range(3)


class FocusedRegressor(Focused, base.MiniBatchRegressor):
    """Makes any regressor minimise its maximal loss over the rows it still remembers.

    The game of `FocusedClassifier` with the loss min(1, |y - prediction| / scale), the bounded absolute loss of
    Shalev-Shwartz and Wexler (2016, example 2).

    Parameters
    ----------
    regressor
        Any River regressor, or a pipeline that ends in one.
    window, replays
        As for `FocusedClassifier`.
    loss
        `"auto"` or `"absolute"` for the loss above, or a function of (y, prediction) with values in [0, 1].
    scale
        The error that counts as a loss of 1. `None` takes the range of an `AbsoluteOGD` that has one, else the standard
        deviation of the targets so far.
    gamma, eta, share
        As for `FocusedClassifier`.
    admission
        `"all"`, `"reservoir"`, or an `Admission` such as `SubSample(outliers=5)`.
    slack
        As for `FocusedClassifier`.
    output
        `"last"` predicts with the regressor itself, `"average"` with the mean of snapshots drawn uniformly from the
        rounds (corollary 2).
    snapshots, span, seed, policy
        As for `FocusedClassifier`.

    Raises
    ------
    ValueError
        At construction for a parameter out of its range; later for a loss that leaves [0, 1].

    References
    ----------
    Shai Shalev-Shwartz and Yonatan Wexler. Minimizing the maximal loss: how and why? ICML 2016.

    Examples
    --------
    >>> from river import datasets, evaluate, linear_model, metrics, preprocessing
    >>> from stream_maxloss.focus import FocusedRegressor
    >>> bare = preprocessing.StandardScaler() | linear_model.LinearRegression()
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), bare, metrics.MAE())
    MAE: 1.31
    >>> focused = preprocessing.StandardScaler() | FocusedRegressor(
    ...     linear_model.LinearRegression(), window=200, replays=3, seed=1
    ... )
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), focused, metrics.MAE())
    MAE: 1.13

    """

    def __init__(
        self,
        regressor: Any,
        window: int = 10_000,
        replays: int | None = None,
        loss: str | Callable[[Any, Any], float] = "auto",
        scale: float | None = None,
        gamma: float = 0.5,
        eta: float | None = None,
        share: float = 0.0,
        admission: str | Admission = "all",
        slack: Slack | float | None = None,
        output: str = "last",
        snapshots: int | None = 11,
        span: str = "history",
        seed: int | None = None,
        policy: str | Policy = "exponential",
    ) -> None:
        if not isinstance(regressor, base.Regressor):
            raise TypeError(
                f"regressor must be a River regressor, got {regressor!r}; FocusedClassifier takes classifiers"
            )
        if not callable(loss) and loss not in ("auto", "absolute"):
            raise ValueError(f"loss must be 'auto', 'absolute' or a function, got {loss!r}; 'auto' suits most")
        if scale is not None and not 0.0 < scale < math.inf:
            raise ValueError(
                f"scale must be positive and finite, got {scale!r}; leave it None for the targets' deviation"
            )
        self.regressor = regressor
        self.window = window
        self.replays = replays
        self.loss = loss
        self.scale = scale
        self.gamma = gamma
        self.eta = eta
        self.share = share
        self.admission = admission
        self.slack = slack
        self.output = output
        self.snapshots = snapshots
        self.span = span
        self.seed = seed
        self.policy = policy
        self._targets = np.zeros(3, dtype=np.float64)
        self._begin(("last", "average"))

    @property
    def _wrapped_model(self) -> Any:
        return self.regressor

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from river import linear_model, preprocessing

        model = preprocessing.StandardScaler() | linear_model.LinearRegression()
        yield {"regressor": model, "window": 50, "replays": 3}

    def _make_native(self) -> NativeReplay | None:
        learner = self.regressor
        # To River a pipeline is an instance of what its last step is.
        ours = isinstance(learner, LinearRegressor) and not isinstance(learner, compose.Pipeline)
        if not ours or callable(self.loss):
            return None
        output = arrays.AVERAGE if self.output == "average" else arrays.LAST
        ranged = math.isfinite(learner.high - learner.low) and self.scale is None
        scale = learner.high - learner.low if ranged else self.scale or 0.0
        # One score is a prediction, of which the error is known; several make sense to their own loss only.
        loss = arrays.ABSOLUTE_ERROR if learner._model.program.scores == 1 else arrays.SURROGATE
        return NativeReplay(learner._model, self._game, loss, output, scale, learner.low, learner.high)

    def _target_of(self, y: Any) -> float:
        if not math.isfinite(y):
            raise ValueError(f"y must be a finite number, got {y!r}; leave the row out")
        return float(y)

    def _targets_of(self, y: Any) -> NDArray[np.float64]:
        targets = as_array(y).astype(np.float64)
        wrong = ~np.isfinite(targets)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise RowError(
                row, f"y of row {row} must be a finite number, got {targets[row].item()!r}; leave the row out"
            )
        return targets

    def learn_one(self, x: Any, y: Any, **kwargs: Any) -> None:
        """Learn a row, let it into the window, and replay; see `FocusedClassifier.learn_one`."""
        if self._native is not None:
            super().learn_one(x, y, **kwargs)
            return
        targets = self._targets
        targets[SEEN] += 1.0
        deviation = y - targets[MEAN]
        targets[MEAN] += deviation / targets[SEEN]
        targets[SQUARES] += deviation * (y - targets[MEAN])
        super().learn_one(x, y, **kwargs)

    def _loss_of(self, x: Any, y: Any, keywords: dict[str, Any]) -> float:
        prediction = self.regressor.predict_one(x, **keywords)
        if callable(self.loss):
            return checked_loss(self.loss(y, prediction), self.loss)
        error = abs(y - prediction)
        if not error < math.inf:
            raise ValueError(f"loss must lie in [0, 1], got an error of {error!r} on {y!r}; the regressor has diverged")
        scale = self._current_scale()
        return min(1.0, error / scale) if scale > 0.0 else float(error > 0.0)

    def _current_scale(self) -> float:
        if self.scale is not None:
            return self.scale
        return math.sqrt(self._targets[SQUARES] / self._targets[SEEN])

    def predict_one(self, x: Any, **kwargs: Any) -> Any:
        """Predict the target of a row."""
        if self._native is not None:
            return min(max(self._native.score(x), self.regressor.low), self.regressor.high)
        if not self._snapshots:
            return self.regressor.predict_one(x, **kwargs)
        return float(np.mean([snapshot.predict_one(x, **kwargs) for snapshot in self._snapshots]))

    def _answers_of(self, scores: NDArray[np.float64], by_snapshots: Any) -> Answers:
        first = scores if scores.ndim == 1 else scores[:, 0]
        return Answers(np.clip(first, self.regressor.low, self.regressor.high), None)

    def predict_many(self, X: Any, **kwargs: Any) -> Any:
        """Predict the targets of a frame's rows, as a series of the same library."""
        if self._native is not None:
            return native_series(self.answer_many(X).labels, X)
        values = np.array([self.predict_one(x, **kwargs) for x, _ in iterate_frame(X, None)], dtype=np.float64)
        return native_series(values, X)

    def state_dict(self) -> dict[str, Any]:
        """Return window, game and what is known of the targets; the learner is not part of it."""
        return {**super().state_dict(), "targets": self._targets.copy()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up the state of an estimator of the same parameters."""
        super().load_state_dict(state)
        self._targets[:] = state["targets"]
