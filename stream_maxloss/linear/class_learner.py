"""What learners of any number of classes have in common: River's mini-batch classifier over a `ClassModel`."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_maxloss.classes import Classes
from stream_maxloss.linear import memory as layout
from stream_maxloss.linear.batches import score_frame
from stream_maxloss.linear.class_model import ClassModel
from stream_maxloss.linear.learner import Learner
from stream_maxloss.linear.logistic import logistic
from stream_maxloss.linear.native import native_frame, native_series
from stream_maxloss.linear.scaler import Scaler
from stream_maxloss.protocol import Answers
from stream_maxloss.state import join_parts, part_of

__all__ = ["ClassLearner"]


class ClassLearner(Learner, base.MiniBatchClassifier):
    """Base of the linear learners of many classes; a subclass sets `_classes` and `_model`.

    Labels may be anything hashable, and new ones may come at any time: True and False, 0 and 1, or texts. Of a class
    that has not come, nothing is said. Numbers and booleans are features by name, a text value `v` of `c` is the
    feature `c=v` with value 1, and None, null and NaN mean that the feature is absent.
    """

    _model: ClassModel
    _classes: Classes

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def classes(self) -> list[Hashable]:
        """Labels in the order in which they were first seen."""
        return self._classes.labels

    def _target_of(self, y: Any) -> float:
        number = self._classes.add(y)
        self._model.make_classes(len(self._classes))
        return float(number)

    def _targets_of(self, y: Any) -> NDArray[np.float64]:
        numbers, _ = self._classes.add_many(y)
        self._model.make_classes(len(self._classes))
        return numbers

    def _label_of(self, target: float) -> Hashable:
        return self._classes.labels[int(target)]

    def _forget_classes(self) -> None:
        """Forget the labels that no learned row had: those of rows that were refused."""
        learned = self._model.classes
        # A boolean stands for both.
        stays = 2 if learned and isinstance(self._classes.labels[0], bool) else learned
        self._classes.truncate(max(stays, learned))

    def learn_one(self, x: dict[Hashable, Any], y: Any, w: float = 1.0) -> None:
        """Learn one row. `w` scales its gradient.

        Raises
        ------
        ValueError
            If the label is missing, a value is infinite or `w` is not positive. The model is then unchanged.

        """
        try:
            self._model.learn(x, self._target_of(y), w)
        except Exception:
            self._forget_classes()
            raise

    def _learn_scored(self, X: Any, y: Any, w: Any = 1.0) -> NDArray[np.float64]:
        try:
            return super()._learn_scored(X, y, w)
        except Exception:
            self._forget_classes()
            raise

    def answer_learn_scaled(self, scaler: Scaler, X: Any, y: Any, w: Any = 1.0) -> Answers:
        """Predict each row of a frame, then learn it, each scaled as it comes; return what was said before."""
        try:
            return super().answer_learn_scaled(scaler, X, y, w)
        except Exception:
            self._forget_classes()
            raise

    def _answers_of(self, scores: NDArray[np.float64]) -> Answers:
        classes, count = self._classes, len(self._classes)
        if classes.is_binary or not count:
            positive = classes.positive if count else 1
            return Answers(scores[:, :2].argmax(axis=1) == positive, scores[:, positive].copy())
        said = self._known(scores)
        return Answers(classes.name(said.argmax(axis=1)), said, tuple(classes.labels))

    def _known(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the columns of the classes that have come; a single one is certain."""
        count = len(self._classes)
        return np.ones((len(scores), count)) if count < 2 else scores[:, :count].copy()

    def predict_one(self, x: dict[Hashable, Any]) -> Any:
        """Return the likeliest class; None before the first row."""
        labels, model = self._classes.labels, self._model
        if len(labels) < 2:
            return labels[0] if labels else None
        score = model.score(x)
        return labels[score > 0.0 if model.classes <= 2 else int(score)]

    def predict_proba_one(self, x: dict[Hashable, Any]) -> dict[Hashable, float]:
        """Return the probability of each class seen so far."""
        labels, model = self._classes.labels, self._model
        if len(labels) < 2:
            return dict.fromkeys(labels, 1.0)
        if model.classes <= 2:
            score = model.score(x)
            larger = logistic(-abs(score))
            first = larger if score <= 0.0 else 1.0 - larger
            return {labels[0]: first, labels[1]: 1.0 - first}
        return dict(zip(labels, model.probabilities(x).tolist(), strict=False))

    def predict_many(self, X: Any) -> Any:
        """Return a series of labels like `X`: pandas for pandas, Arrow for Arrow, and so on."""
        said = self._known(score_frame(self._model, X))
        if not len(self._classes):
            return native_series(np.full(len(said), None, dtype=object), X)
        return native_series(self._classes.name(said.argmax(axis=1)), X)

    def predict_proba_many(self, X: Any) -> Any:
        """Return a frame like `X` with a column for each class (as text where names must be text)."""
        said = self._known(score_frame(self._model, X))
        return native_frame({label: said[:, k].copy() for k, label in enumerate(self.classes)}, X)

    @property
    def weights(self) -> dict[Hashable, Any]:
        """What was learned: feature name -> weight for two classes, class -> feature name -> weight for more."""
        if self._model.classes <= 2:
            sign = self._sign()
            return self._named(sign * self._model.class_weights(0)[0])
        return {label: self._named(self._model.class_weights(k)[0]) for k, label in enumerate(self.classes)}

    @property
    def intercept(self) -> Any:
        """What was learned for the constant feature (0 without one), of each class if there are more than two."""
        if self._model.classes <= 2:
            return self._sign() * self._model.class_weights(0)[1]
        return {label: self._model.class_weights(k)[1] for k, label in enumerate(self.classes)}

    def _sign(self) -> float:
        """Return -1 if the second class is the negative one of binary labels."""
        return -1.0 if self._classes.is_binary and self._classes.positive == 0 else 1.0

    def _named(self, values: NDArray[np.float64]) -> dict[Hashable, float]:
        features = self._model.features
        known = values[: len(features)].tolist()
        if features.grows:
            return dict(zip(features.names, known, strict=True))
        return {features.name_of(column): value for column, value in enumerate(known) if value}

    @property
    def n_mistakes(self) -> int:
        """Number of learned rows for which another class was likelier when they came."""
        return int(self._model.memory[layout.MISTAKES])

    def state_dict(self) -> dict[str, Any]:
        """Return everything that was learned, as arrays and JSON."""
        return {**self._model.state_dict(), **join_parts({"classes": self._classes.state_dict()})}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` of a learner with the same parameters returned.

        Raises
        ------
        KeyError
            If something is missing.
        ValueError
            If the state does not fit. The learner is then unchanged.

        """
        classes = Classes()
        classes.load_state_dict(part_of(state, "classes"))
        learned, room = state["memory"][layout.ADAPTED], state["memory"][layout.OWN]
        if not learned <= len(classes) <= max(2.0, room):
            raise ValueError(f"labels must be those of {learned:g} classes, got {classes.labels!r:.100}")
        self._model.load_state_dict({key: value for key, value in state.items() if not key.startswith("classes.")})
        self._model.make_classes(len(classes))
        self._classes = classes
