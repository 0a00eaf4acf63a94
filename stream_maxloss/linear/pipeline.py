"""`Scaler() | learner`, learning batches row by row."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Mapping
from itertools import repeat
from typing import Any

import numpy as np
from river import compose

from stream_maxloss.errors import RowError
from stream_maxloss.labels import SIGNS, as_array
from stream_maxloss.linear.batch_checks import check_length, row_weights
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


def learn_expanded(expander: Any, model: Any, x: dict[Hashable, Any], y: Any, params: dict[str, Any]) -> None:
    """Let a transformer learn a row, then the model what it makes of it; neither if the model refuses it."""
    expander.learn_one(x)
    try:
        model.learn_one(expander.transform_one(x), y, **params)
    except Exception:
        expander.undo()
        raise


def answer_learn_expanded(expander: Any, model: Any, X: Any, y: Any, w: Any, slices: Any = None) -> Answers:
    """Predict each row of a frame, then learn it; return what was said before. If a row is refused, none is learned.

    Rows run as a whole as long as none changes what the transformer does. One that does is predicted before that, and
    learned after it, as River's `Pipeline` does with predict_one and learn_one.
    """
    frame, labels = expander.open(X), as_array(y)
    rows = frame.num_rows
    check_length(rows, labels)
    weights, names = row_weights(w, rows), None if slices is None else list(slices)
    before, whole = copy.deepcopy(expander.__dict__), expander.steady_rows(frame) == rows
    # Of a single batch the model itself takes back what it refuses.
    model_before = None if whole else copy.deepcopy(model.__dict__)
    parts: list[Answers] = []
    first = 0
    try:
        while first < rows or not parts:
            last = first + max(expander.steady_rows(frame.part(first, rows)), min(1, rows))
            part = slice(first, last)
            named = {} if names is None else {"slices": names[part]}
            parts.append(run_part(expander, model, frame.part(first, last), labels[part], weights[part], named))
            first = last
    except Exception as error:
        restore(expander, before)
        if model_before is not None:
            restore(model, model_before)
        raise moved(error, first) from error
    return join_answers(parts)


def run_part(expander: Any, model: Any, X: Any, y: Any, w: Any, named: dict[str, Any]) -> Answers:
    """Predict and learn rows of which none changes the transformer, or a single one that does."""
    if expander.steady_rows(X) == len(y):
        answers: Answers = model.answer_learn_many(expander.expand_many(X), y, w, **named)
        expander.learn_many(X)
        return answers
    said: Answers = model.answer_many(expander.expand_many(X))
    expander.learn_many(X)
    model.learn_many(expander.expand_many(X), y, w=w, **named)
    return said


def restore(thing: Any, state: dict[str, Any]) -> None:
    """Restore the attributes of an object."""
    thing.__dict__.clear()
    thing.__dict__.update(state)


def moved(error: Exception, first: int) -> Exception:
    """Return the error of a row of a part as that of the whole batch."""
    if not isinstance(error, RowError) or not first:
        return error
    row = error.row + first
    return RowError(row, error.reason.replace(f" of row {error.row}", f" of row {row}", 1))


def join_answers(parts: list[Answers]) -> Answers:
    """Return the answers about several stretches of rows as one; a class that came later had no probability before.

    Examples
    --------
    >>> import numpy as np
    >>> from stream_maxloss.linear.pipeline import join_answers
    >>> from stream_maxloss.protocol import Answers
    >>> early = Answers(np.array([True]), np.array([0.75]))
    >>> late = Answers(np.array([2], dtype=object), np.array([[0.25, 0.25, 0.5]]), (0, 1, 2))
    >>> join_answers([early, late]).probabilities
    array([[0.25, 0.75, 0.  ],
           [0.25, 0.25, 0.5 ]])

    """
    classes = parts[-1].classes
    if len(parts) == 1 or classes is None:
        said = None if parts[0].probabilities is None else np.concatenate([part.probabilities for part in parts])
        return Answers(np.concatenate([part.labels for part in parts]), said, classes)
    spread = [widened(part, classes) for part in parts]
    labels = np.concatenate([part.labels.astype(object) for part in spread])
    return Answers(labels, np.concatenate([part.probabilities for part in spread]), classes)


def widened(answers: Answers, classes: tuple[Hashable, ...]) -> Answers:
    """Return answers with a column for each of more classes."""
    said: Any = answers.probabilities
    wide = np.zeros((len(said), len(classes)))
    if answers.classes is not None:
        wide[:, : said.shape[1]] = said
        return Answers(answers.labels, wide, classes)
    for place, label in enumerate(classes):
        if label in SIGNS and place < 2:
            wide[:, place] = said if label == 1 else 1.0 - said
    named = np.empty(len(classes), dtype=object)
    named[:] = classes
    return Answers(named[wide.argmax(axis=1)], wide, classes)
