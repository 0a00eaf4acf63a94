"""`AutoRegressor`: the regressor without knobs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_maxloss.arguments import require_choice, require_open_unit
from stream_maxloss.labels import target_of, targets_of
from stream_maxloss.linear.batch_checks import row_weights
from stream_maxloss.linear.native import native_series
from stream_maxloss.mixture.auto import Auto
from stream_maxloss.mixture.model import alone
from stream_maxloss.mixture.reasons import Reason
from stream_maxloss.mixture.stepping import COUNT, LEVEL, QUANTILE, SPREAD, SQUARED
from stream_maxloss.protocol import Answers

__all__ = ["AutoRegressor"]


class AutoRegressor(Auto, base.MiniBatchRegressor):
    """Regressor for any stream, with nothing to choose: `AutoClassifier` for numbers.

    The same experts over scaled values, bins and leaves, the same replays, lessons, stacks and mixture, with the loss
    of a number (`stream_maxloss.mixture.numbers` has the equations). Mean and scale of the target come from the stream.

    Parameters
    ----------
    loss
        `"absolute"` predicts the median, `"squared"` the mean, `"quantile"` the quantile of `level`.
    level
        The quantile, in (0, 1), where the loss is `"quantile"`; 0.9 is exceeded by one target of ten.
    memory
        Rows that are kept to be replayed and learned from anew.
    compute
        `"least"`, `"normal"` or `"most"`.
    seed
        Seed of all draws; None for a new one each time.
    objective
        By which rows the experts are weighed: `"mean"` by all, `"tail"` by the hardest tenth, `"max"` by the hardest
        hundredth.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_maxloss.mixture import AutoRegressor
    >>> evaluate.progressive_val_score(datasets.ChickWeights(), AutoRegressor(seed=1), metrics.MAE())
    MAE: 1...

    """

    def __init__(
        self,
        loss: str = "absolute",
        level: float = 0.5,
        memory: int = 10_000,
        compute: str = "normal",
        seed: int | None = None,
        objective: str = "mean",
    ) -> None:
        require_choice("loss", loss, ("absolute", "squared", "quantile"))
        require_open_unit("level", level, remedy="0.5 is the median")
        self.loss = loss
        self.level = level
        self.memory = memory
        self.compute = compute
        self.seed = seed
        self.objective = objective
        self._model = self._make_model(SQUARED if loss == "squared" else QUANTILE)
        self._model.memory["scale"][LEVEL] = level if loss == "quantile" else 0.5

    def learn_one(self, x: dict[Hashable, Any], y: Any, w: float = 1.0) -> None:
        """Learn one row. `w` scales its update.

        Raises
        ------
        ValueError
            If the target or a value is not finite or `w` is not positive. The model is then unchanged.

        """
        if not 0.0 < w < math.inf:
            raise ValueError(f"w must be positive and finite, got {w!r}; leave out rows that should not count")
        target = target_of(y)
        with self._model.lock:
            self._model.read_one(x, learn=True)
            self._model.learn_one(target, w)

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn the rows of a frame, one after another. `w` is one weight for all or one per row.

        Raises
        ------
        ValueError
            If a row is refused. None of the rows is then learned.

        """
        self.answer_learn_many(X, y, w)

    @alone
    def answer_learn_many(self, X: Any, y: Any, w: Any = 1.0) -> Answers:
        """Predict each row of a frame, then learn it, row after row; return what was said before learning it.

        Raises
        ------
        RowError
            If a row is refused. None of the rows is then learned.

        """
        known = len(self._model.features)
        targets = targets_of(y)
        weights = row_weights(w, len(targets))
        batch = self._model.read_many(X, learn=True)
        try:
            outputs = np.ones(len(targets), dtype=np.int64)
            return Answers(self._model.learn_many(batch, targets, weights, outputs)[:, 0].copy(), None)
        except ValueError:
            self._model.features.truncate(known)
            raise

    @alone
    def answer_many(self, X: Any) -> Answers:
        """Predict every row of a frame and learn nothing."""
        return Answers(self._predicted(X), None)

    def _predicted(self, X: Any) -> NDArray[np.float64]:
        predicted: NDArray[np.float64] = self._model.answer_many(X)[:, 0].copy()
        return predicted

    def predict_one(self, x: dict[Hashable, Any]) -> float:
        """Return the prediction for a row."""
        with self._model.lock:
            return self._model.answer_one(x).item(0)

    @alone
    def predict_many(self, X: Any) -> Any:
        """Return a series of predictions like `X`: pandas for pandas, Arrow for Arrow, and so on."""
        return native_series(self._predicted(X), X)

    @alone
    def explain_one(self, x: dict[Hashable, Any]) -> list[Reason]:
        """Return what a prediction is made of, the largest part first, in deviations of the target."""
        return self._model.explain_one(x, 0)

    def _judge(self, target: float, answers: NDArray[np.float64]) -> tuple[Any, float, int, float]:
        spread = self._model.memory["scale"]
        deviation = math.sqrt(spread[SPREAD] / spread[COUNT]) if spread[SPREAD] > 0.0 else 1.0
        return target, min(abs(target - float(answers[0])) / deviation, 1.0), 0, 1.0

    def debug_one(self, x: dict[Hashable, Any], limit: int = 10) -> str:
        """Return the prediction for a row and its largest parts, as text."""
        reasons = self.explain_one(x)[:limit]
        lines = [f"{reason.contribution:+9.3f}  {reason.condition}" for reason in reasons]
        return "\n".join([f"{self.predict_one(x):g}", *lines])

    def state_dict(self) -> dict[str, Any]:
        """Return everything that was learned, as arrays and JSON."""
        return self._model.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` of a regressor with the same parameters returned.

        Raises
        ------
        KeyError
            If something is missing.
        ValueError
            If the state does not fit. The regressor is then unchanged.

        """
        level = self._model.memory["scale"][LEVEL]
        if float(np.asarray(state["scale"]).reshape(-1)[LEVEL]) != level:
            raise ValueError(f"state must be of the quantile {level}, got {state['scale'][LEVEL]!r}")
        self._model.load_state_dict(state)
