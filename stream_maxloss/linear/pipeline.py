"""`Scaler() | learner`, learning batches row by row."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping
from itertools import repeat
from typing import Any

import numpy as np
from river import compose

from stream_maxloss.labels import as_array
from stream_maxloss.linear.batch_checks import check_length
from stream_maxloss.linear.expanded import answer_learn_expanded, learn_expanded
from stream_maxloss.linear.learner import Learner
from stream_maxloss.linear.scaler import Scaler, exclusive
from stream_maxloss.protocol import Answers
from stream_maxloss.rows.dicts import frame_to_dicts

__all__ = ["RowPipeline"]


class RowPipeline(compose.Pipeline):
    """River's pipeline, with a `learn_many` that is a loop of `learn_one`.

    River's own learns the scaler from a whole batch, then transforms that batch, so that every row is scaled with
    statistics of rows that came after it. Here each row is scaled with what was known when it came. For a `Scaler`,
    `Bins` or `Ferns` and one of our learners, bare or focused, the loop runs in kernels; for anything else it goes row
    by row. `Scaler() | model`, `Bins() | model` and `Ferns() | model` are such pipelines.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.linear import Perceptron, Scaler
    >>> model = Scaler() | Perceptron()
    >>> model.learn_many(pa.table({"size": [1.0, 5.0, 2.0]}), [False, True, False])
    >>> model.predict_one({"size": 6.0})
    True

    """

    @exclusive
    def learn_many(self, X: Any, y: Any = None, **params: Any) -> None:
        """Learn the rows of a frame, one after another. `w` is one weight for all or one per row.

        `slices` names each row's slice, where the model takes it. If a row is refused, none is learned by those steps
        that are ours.
        """
        if self.is_native:
            self.answer_learn_many(X, y, params.get("w", 1.0), params.get("slices"))
            return
        labels = as_array(y)
        check_length(len(X), labels)
        own = {name: repeat(v) if np.isscalar(v) else as_array(v).tolist() for name, v in params.items()}
        own = {"slice" if name == "slices" else name: values for name, values in own.items()}
        before = [(step, copy.deepcopy(step.__dict__)) for step in self.steps.values() if is_ours(step)]
        try:
            for x, label, *extra in zip(frame_to_dicts(X), labels.tolist(), *own.values(), strict=False):
                self.learn_one(x, label, **dict(zip(own, extra, strict=True)))
        except Exception:
            for step, state in before:
                step.__dict__.update(state)
            raise

    @exclusive
    def learn_one(self, x: dict[Hashable, Any], y: Any = None, **params: Any) -> None:
        """Learn one row. If the last step refuses it, a `Scaler`, `Bins` or `Ferns` before it is as it was too."""
        if self._expander is not None:
            learn_expanded(self._expander, self._last_step, x, y, params)
            return
        scalers = [step for step in self.steps.values() if isinstance(step, Scaler)]
        before = [(scaler, len(scaler._features), scaler._statistics.copy()) for scaler in scalers]
        try:
            super().learn_one(x, y, **params)
        except Exception:
            for scaler, known, statistics in before:
                scaler._features.truncate(known)
                scaler._statistics = statistics
            raise

    @property
    def is_native(self) -> bool:
        """Whether this is a scaler and a model that takes its rows scaled inside a kernel, or `Bins` or `Ferns` and any
        model that takes whole batches.
        """
        if self._expander is not None:
            return bool(getattr(self._last_step, "is_native", False))
        steps = list(self.steps.values())
        return len(steps) == 2 and isinstance(steps[0], Scaler) and bool(getattr(steps[1], "takes_scaled", False))

    @property
    def takes_slices(self) -> bool:
        """Whether the model takes the name of each row's slice."""
        return bool(getattr(self._last_step, "takes_slices", False))

    @property
    def _expander(self) -> Any:
        """The step before the model, if it is the only one and transforms whole batches by itself."""
        steps = list(self.steps.values())
        return steps[0] if len(steps) == 2 and hasattr(steps[0], "expand_many") else None

    @property
    def classes(self) -> list[Hashable]:
        """The labels that the model has seen, of one that knows them."""
        return list(self._last_step.classes)

    @property
    def memory_bytes(self) -> int:
        """Bytes held by the model, without the scaler's few."""
        return int(self._last_step.memory_bytes)

    def state_dict(self) -> dict[str, Any]:
        """Return everything that the steps have learned, under their places."""
        states = ((place, step.state_dict()) for place, step in enumerate(self.steps.values()))
        return {f"{place}.{key}": value for place, state in states for key, value in state.items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` of a pipeline of the same steps returned."""
        for place, step in enumerate(self.steps.values()):
            start = f"{place}."
            step.load_state_dict({key[len(start) :]: value for key, value in state.items() if key.startswith(start)})

    @exclusive
    def answer_many(self, X: Any) -> Answers:
        """Predict every row of a frame, scaled once, and learn nothing."""
        if self._expander is not None:
            return self._last_step.answer_many(self._expander.expand_many(X))
        scaler, learner = self.steps.values()
        return learner.answer_many(scaler.transform_many(X))

    @exclusive
    def answer_learn_many(self, X: Any, y: Any, w: Any = 1.0, slices: Any = None) -> Answers:
        """Predict each row of a frame, then learn it, each scaled as it comes; return what was said before."""
        if self._expander is not None:
            return answer_learn_expanded(self._expander, self._last_step, X, y, w, slices)
        scaler, learner = self.steps.values()
        named = {} if slices is None else {"slices": slices}
        return learner.answer_learn_scaled(scaler, X, y, w, **named)


def is_ours(step: Any) -> bool:
    """Return whether a step is a scaler, bins, ferns or a native learner, whose state is in its attributes."""
    return isinstance(step, Scaler | Learner) or hasattr(step, "expand_many")
