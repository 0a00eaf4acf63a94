"""Online gradient descent on the absolute loss."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_maxloss.arguments import require_choice, require_positive
from stream_maxloss.labels import target_of, targets_of
from stream_maxloss.linear import memory as layout
from stream_maxloss.linear.batch_checks import row_weights
from stream_maxloss.linear.model import LinearModel
from stream_maxloss.linear.native import native_series
from stream_maxloss.linear.scaled import run_scaled_frame
from stream_maxloss.linear.scaler import Scaler

__all__ = ["AbsoluteOGD"]


class AbsoluteOGD(base.MiniBatchRegressor):
    r"""Linear regression under the absolute loss, by online gradient descent.

    The prediction is $h_w(x) = \langle w, x \rangle + b$ clipped to [low, high]; the step follows the surrogate
    $|\langle w, x \rangle - y|$ (Shalev-Shwartz & Wexler 2016, Example 2):

    $$w \leftarrow \Pi_{\|w\| \le r}\left(w + \eta_t\, \mathrm{sign}(y - \langle w, x \rangle)\, x\right),
    \qquad \eta_t = \eta / \sqrt t.$$

    Parameters
    ----------
    lr
        Step size $\eta$.
    low
        Smallest prediction.
    high
        Largest prediction. With both finite, the game's loss is the error divided by `high - low`.
    radius
        Radius of the ball that the weights, intercept included, are projected to; None for no ball.
    schedule
        `"sqrt"` divides the step by $\sqrt t$ on row t, `"constant"` keeps it.
    intercept
        Whether to add a constant-1 feature. The attribute `intercept` shows what was learned for it.
    averaged
        Whether to predict with the average of all iterates instead of the last one.
    hash_bits
        Hash features onto 2^hash_bits columns, which bounds the memory; None for a map that grows with the features.

    References
    ----------
    [^1]: S. Shalev-Shwartz and Y. Wexler, "Minimizing the maximal loss: how and why?", ICML 2016.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_maxloss.linear import AbsoluteOGD, Scaler
    >>> model = Scaler() | AbsoluteOGD(lr=1.0)
    >>> evaluate.progressive_val_score(datasets.TrumpApproval(), model, metrics.MAE())
    MAE: 1.373028

    """

    def __init__(
        self,
        lr: float = 0.1,
        low: float = -math.inf,
        high: float = math.inf,
        radius: float | None = None,
        schedule: str = "sqrt",
        intercept: bool = True,
        averaged: bool = False,
        hash_bits: int | None = None,
    ) -> None:
        require_positive("lr", lr, "0.1 is a good start")
        if not low < high:
            raise ValueError(f"low must be below high, got {low!r} and {high!r}; swap them")
        if radius is not None:
            require_positive("radius", radius, "use None for no ball")
        require_choice("schedule", schedule, ("sqrt", "constant"))
        self.lr = lr
        self.low = low
        self.high = high
        self.radius = radius
        self.schedule = schedule
        self._with_intercept = intercept
        self.averaged = averaged
        self.hash_bits = hash_bits
        self._model = LinearModel(
            layout.ABSOLUTE,
            (lr, low, high, float(schedule == "sqrt")),
            intercept=intercept,
            averaged=averaged,
            radius=radius or 0.0,
            hash_bits=hash_bits,
        )

    def _get_params(self) -> dict[str, Any]:
        # River reads a parameter from the attribute of its name, but `intercept` shows what was learned.
        return {**super()._get_params(), "intercept": self._with_intercept}

    def __repr__(self) -> str:
        params = ", ".join(f"{name}={value!r}" for name, value in self._get_params().items())
        return f"{type(self).__name__}({params})"

    def learn_one(self, x: dict[Hashable, Any], y: float, w: float = 1.0) -> None:
        """Learn one row. `w` scales its update."""
        self._model.learn(x, target_of(y), w)

    def predict_one(self, x: dict[Hashable, Any]) -> float:
        """Return the score, clipped to [low, high]."""
        return min(max(self._model.score(x), self.low), self.high)

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn the rows of a frame, one after another. `w` is one weight for all or one per row."""
        self._learn_scored(X, y, w)

    def _takes_scaled(self) -> bool:
        """Tell whether rows can be scaled in the kernel: hashed features have lost the names that a scaler goes by."""
        return self._model.features.grows

    def _learn_scaled(self, scaler: Scaler, X: Any, y: Any, w: Any = 1.0) -> NDArray[np.float64]:
        """Learn the rows of a frame, each scaled as it comes; return the scores before."""
        targets = targets_of(y)
        return run_scaled_frame(scaler, self._model, X, targets, row_weights(w, len(targets)))

    def _learn_scored(self, X: Any, y: Any, w: Any = 1.0) -> NDArray[np.float64]:
        """Learn the rows of a frame and return the score that each had before it was learned."""
        targets = targets_of(y)
        return self._model.run(X, targets, row_weights(w, len(targets)))

    def predict_many(self, X: Any) -> Any:
        """Return a series of predictions like `X`: pandas for pandas, Arrow for Arrow, and so on."""
        return native_series(np.clip(self._model.scores(X), self.low, self.high), X)

    @property
    def weights(self) -> dict[Hashable, float]:
        """What was learned: feature name -> weight (of the average, if averaged)."""
        return self._model.weights

    @property
    def intercept(self) -> float:
        """What was learned for the constant feature (0 without one)."""
        return self._model.intercept

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
