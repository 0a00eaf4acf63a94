"""What native classifiers and regressors share: batches, state and parameters over a `LinearModel`."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.card import card
from stream_maxloss.features import text_feature
from stream_maxloss.linear import memory as layout
from stream_maxloss.linear.batch_checks import row_weights
from stream_maxloss.linear.batches import learn_frame, score_frame
from stream_maxloss.linear.model import LinearModel
from stream_maxloss.linear.scaled import run_scaled_frame
from stream_maxloss.linear.scaler import Scaler
from stream_maxloss.protocol import Answers

if TYPE_CHECKING:
    from stream_maxloss.linear.model import LinearModel

__all__ = ["Learner"]

ALWAYS = "always"
"""What is there whatever the row: the intercept, or a threshold."""


class Learner:
    """Base of the native learners beside River's; a subclass sets `_model`, `_targets_of` and `_answers_of`."""

    _model: LinearModel

    def _get_params(self) -> dict[str, Any]:
        params: dict[str, Any] = super()._get_params()  # type: ignore[misc]
        # River reads a parameter from the attribute of its name, but `intercept` shows what was learned.
        return {**params, "intercept": self._with_intercept} if "intercept" in params else params  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        params = ", ".join(f"{name}={value!r}" for name, value in self._get_params().items())
        return f"{type(self).__name__}({params})"

    def _repr_html_(self) -> str:
        """Show parameters and the largest weights in a notebook."""
        weights = getattr(self, "weights", {})
        largest = sorted(((n, w) for n, w in weights.items() if isinstance(w, float)), key=lambda item: -abs(item[1]))
        facts = {"features": len(weights), "memory_bytes": self.memory_bytes}
        tables = [("largest weights", ["feature", "weight"], [[str(name), weight] for name, weight in largest[:10]])]
        return card(type(self).__name__, self._get_params(), facts, tables)

    def _targets_of(self, y: Any) -> NDArray[np.float64]:
        raise NotImplementedError

    def _answers_of(self, scores: NDArray[np.float64]) -> Answers:
        raise NotImplementedError

    @property
    def is_native(self) -> bool:
        """Whether batches run in kernels: always."""
        return True

    @property
    def takes_scaled(self) -> bool:
        """Whether rows can be scaled in the kernel: hashed features have lost the names that a scaler goes by."""
        return self._model.features.grows

    @property
    def memory_bytes(self) -> int:
        """Bytes held by what was learned, without the names of the features."""
        return int(self._model.memory.nbytes)

    def learn_many(self, X: Any, y: Any, w: Any = 1.0) -> None:
        """Learn the rows of a frame, one after another. `w` is one weight for all or one per row.

        Raises
        ------
        RowError
            If a row is refused. None of the rows is then learned.

        """
        self._learn_scored(X, y, w)

    def relearn_one(self, x: Mapping[Hashable, Any], y: Any, w: float = 1.0) -> None:
        """Learn a row again that was learned before: the same step, from which the learner estimates nothing anew."""
        adapted = self._model.memory[layout.ADAPTED]
        self.learn_one(x, y, w)  # type: ignore[attr-defined]
        if self._model.program.replay is not None:
            self._model.memory[layout.ADAPTED] = adapted
            self._model.memory[layout.REPLAYED] += 1.0

    def _learn_scored(self, X: Any, y: Any, w: Any = 1.0) -> NDArray[np.float64]:
        """Learn the rows of a frame and return the score that each had before it was learned."""
        targets = self._targets_of(y)
        return learn_frame(self._model, X, targets, row_weights(w, len(targets)))

    def answer_many(self, X: Any) -> Answers:
        """Predict every row of a frame and learn nothing."""
        return self._answers_of(score_frame(self._model, X))

    def answer_learn_many(self, X: Any, y: Any, w: Any = 1.0) -> Answers:
        """Predict each row of a frame, then learn it; return what was said before."""
        return self._answers_of(self._learn_scored(X, y, w))

    def answer_learn_scaled(self, scaler: Scaler, X: Any, y: Any, w: Any = 1.0) -> Answers:
        """Do the same, each row scaled as it comes."""
        targets = self._targets_of(y)
        return self._answers_of(run_scaled_frame(scaler, self._model, X, targets, row_weights(w, len(targets))))

    @property
    def _mutable_attributes(self) -> set[str]:
        return {"lr", "margin"} & self._get_params().keys()

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("lr", "margin") and "_model" in self.__dict__:
            # River's `mutate` sets attributes. A fresh learner checks the value and says what the kernels are to read.
            fresh = type(self)(**{**self._get_params(), name: value})
            settings = slice(layout.FIRST, layout.NEEDS_NORM)
            self._model.memory[settings] = fresh._model.memory[settings]
        super().__setattr__(name, value)

    @property
    def weights(self) -> dict[Hashable, float]:
        """What was learned: feature name -> weight (of the average, if averaged)."""
        return self._model.weights

    @property
    def intercept(self) -> float:
        """What was learned for the constant feature (0 without one)."""
        return self._model.intercept

    def explain_one(self, x: dict[Hashable, Any]) -> list[Contribution]:
        """Return what the score of a row is made of, the largest part first: weight times value of each feature."""
        return contributions_of(self._model, x)

    def debug_one(self, x: dict[Hashable, Any], limit: int = 10) -> str:
        """Return the largest parts of the score of a row, as text; River's pipelines print it, too."""
        parts = self.explain_one(x)[:limit]
        return "\n".join(f"{part.contribution:+9.3f}  {part.feature} = {part.value:g}" for part in parts)

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


@dataclass(frozen=True)
class Contribution:
    """One feature's part of a score.

    Parameters
    ----------
    feature
        Its name; `always` for what is there whatever the row.
    value, weight
        Of the feature in the row, and in the model.
    contribution
        Their product.

    """

    feature: str
    value: float
    weight: float
    contribution: float


def contributions_of(model: LinearModel, x: Mapping[Hashable, Any]) -> list[Contribution]:
    """Return what the score of a row is made of, the largest part first; they add up to the score.

    Examples
    --------
    >>> from stream_maxloss.linear import Perceptron
    >>> learner = Perceptron()
    >>> learner.learn_one({"size": 2.0, "shape": "round"}, False)
    >>> [(part.feature, part.contribution) for part in learner.explain_one({"size": 3.0, "shape": "round"})]
    [('size', -6.0), ('shape=round', -1.0), ('always', -1.0)]

    """
    weights = model.weight_vector()
    parts = []
    for name, value in features_of(x):
        column = model.features.find(name)
        weight = float(weights[column]) if 0 <= column < len(weights) else 0.0
        parts.append(Contribution(str(name), value, weight, weight * value))
    rest = float(model.score(x)) - sum(part.contribution for part in parts)
    parts.append(Contribution(ALWAYS, 1.0, rest, rest))
    return sorted(parts, key=lambda part: -abs(part.contribution))


def features_of(x: Mapping[Hashable, Any]) -> Iterator[tuple[Hashable, float]]:
    """Yield the features of a row: a text value is one of its own, what is missing is none."""
    for name, value in x.items():
        if isinstance(value, str):
            yield text_feature(name, value), 1.0
        elif isinstance(value, list | tuple | set):
            yield from ((text_feature(name, token), 1.0) for token in value if isinstance(token, str))
        elif value is not None and value == value:
            yield name, float(value)
