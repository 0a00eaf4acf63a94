"""`Scaler() | learner`, learning batches row by row."""

from __future__ import annotations

import copy
from collections.abc import Hashable
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import compose

from stream_maxloss.labels import as_array
from stream_maxloss.linear.batch_checks import check_length
from stream_maxloss.linear.scaler import Scaler
from stream_maxloss.rows.dicts import frame_to_dicts

__all__ = ["RowPipeline"]


class RowPipeline(compose.Pipeline):
    """River's pipeline, with a `learn_many` that is a loop of `learn_one`.

    River's own learns the scaler from a whole batch, then transforms that batch, so that every row is scaled with
    statistics of rows that came after it. Here each row is scaled with what was known when it came. For a `Scaler` and
    one of our learners, bare or focused, the loop runs in kernels; for anything else it goes row by row.
    `Scaler() | model` is one.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.linear import Perceptron, Scaler
    >>> model = Scaler() | Perceptron()
    >>> model.learn_many(pa.table({"size": [1.0, 5.0, 2.0]}), [False, True, False])
    >>> model.predict_one({"size": 6.0})
    True

    """

    def learn_many(self, X: Any, y: Any = None, **params: Any) -> None:
        """Learn the rows of a frame, one after another. `w` is one weight for all or one per row.

        If a row is refused, none is learned by those steps that are ours.
        """
        if self._is_native():
            self._learn_scored(X, y, params.get("w", 1.0))
            return
        labels = as_array(y)
        check_length(len(X), labels)
        own = {name: repeat(v) if np.isscalar(v) else as_array(v).tolist() for name, v in params.items()}
        before = [(step, copy.deepcopy(step.__dict__)) for step in self.steps.values() if is_linear(step)]
        try:
            for x, label, *extra in zip(frame_to_dicts(X), labels.tolist(), *own.values(), strict=False):
                self.learn_one(x, label, **dict(zip(own, extra, strict=True)))
        except Exception:
            for step, state in before:
                step.__dict__.update(state)
            raise

    def learn_one(self, x: dict[Hashable, Any], y: Any = None, **params: Any) -> None:
        """Learn one row. If the last step refuses it, a `Scaler` before it is as it was too."""
        scalers = [step for step in self.steps.values() if isinstance(step, Scaler)]
        before = [(scaler, len(scaler._features), scaler._statistics.copy()) for scaler in scalers]
        try:
            super().learn_one(x, y, **params)
        except Exception:
            for scaler, known, statistics in before:
                scaler._features.truncate(known)
                scaler._statistics = statistics
            raise

    def _is_native(self) -> bool:
        """Tell whether this is a scaler and a model that takes its rows scaled inside a kernel."""
        steps = list(self.steps.values())
        if len(steps) != 2 or not isinstance(steps[0], Scaler):
            return False
        takes_scaled = getattr(steps[1], "_takes_scaled", None)
        return takes_scaled is not None and bool(takes_scaled())

    def _learn_scored(self, X: Any, y: Any, w: Any = 1.0) -> NDArray[np.float64]:
        """Learn the rows of a frame and return the score that each had before it was learned."""
        scaler, learner = self.steps.values()
        return learner._learn_scaled(scaler, X, y, w)


def is_linear(step: Any) -> bool:
    """Tell whether a step is a scaler or a linear learner of ours."""
    return type(step).__module__.startswith(__package__ or "stream_maxloss.linear")
