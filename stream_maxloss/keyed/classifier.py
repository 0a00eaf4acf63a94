"""`KeyedClassifier`: a classifier for each key."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_maxloss.classes import Classes
from stream_maxloss.keyed.groups import split_rows
from stream_maxloss.keyed.keyed import MEMORY, Keyed
from stream_maxloss.keyed.opinions import BinaryOpinions, ClassOpinions, Opinions
from stream_maxloss.linear.grouped import linear_parts
from stream_maxloss.linear.native import native_frame, native_series
from stream_maxloss.protocol import Answers
from stream_maxloss.state import join_parts, part_of

__all__ = ["KeyedClassifier"]


class KeyedClassifier(Keyed, base.MiniBatchClassifier):
    """One classifier for each value of a column: a customer, a sensor, a region.

    A row is predicted and learned by the model of its key alone, so what a key's model has learned depends on the rows
    of this key and on nothing else: not on the others, not on how rows are cut into batches, not on how many workers
    share the keys. Models that were used last are in memory, up to a bound; the others lie in files, from which they
    come back to the bit.

    Parameters
    ----------
    classifier
        What a new key begins with: a copy of this model with what it has learned. Untrained by default; a trained one
        is a shared prior. It does not learn any more: one that did would depend on which keys share a worker.
    key
        Name of the column. Its value is text, a number or a boolean; models do not see it. A row without is refused.
    memory
        Bytes of models to hold in memory. Beside them a batch of rows holds on to those of its own keys, and each key
        takes some 300 bytes.

    Raises
    ------
    ValueError
        If `memory` is not positive, or the classifier is itself one of many keys.

    Notes
    -----
    A batch is sorted by key and read once; linear learners take their rows as they lie. The cost of a row is that of
    the model, and some microseconds for each key in the batch.

    Examples
    --------
    >>> from stream_maxloss import HingeOGD, KeyedClassifier, Scaler
    >>> model = KeyedClassifier(Scaler() | HingeOGD(), key="region")
    >>> for size in (1.0, 2.0, 3.0, 4.0):
    ...     model.learn_one({"region": "north", "size": size}, size > 2)
    ...     model.learn_one({"region": "south", "size": size}, size < 3)
    >>> model.predict_one({"region": "north", "size": 4.0}), model.predict_one({"region": "south", "size": 4.0})
    (True, False)
    >>> model.keys
    ['north', 'south']

    """

    _template_name = "classifier"

    def __init__(self, classifier: base.Classifier, key: str, memory: int = MEMORY) -> None:
        self.classifier = classifier
        self.key = key
        self.memory = memory
        self._classes = Classes()
        self._begin()

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        from stream_maxloss.linear import Perceptron

        yield {"classifier": Perceptron(), "key": "key"}

    @property
    def template(self) -> Any:
        """The model that a new key begins with a copy of."""
        return self.classifier

    @property
    def _multiclass(self) -> bool:
        return bool(self.classifier._multiclass)

    @property
    def classes(self) -> list[Hashable]:
        """The labels of all keys, in the order in which they were first seen."""
        return self._classes.labels

    @property
    def _is_binary(self) -> bool:
        """Whether answers are about true and false; those of a model that takes any classes, while all labels are."""
        return not self._multiclass or all(isinstance(label, bool) for label in self.classes)

    def _begin(self) -> None:
        super()._begin()
        self._engine.by_class = False

    def _opinions(self, rows: int) -> Opinions:
        self._engine.by_class = not self._is_binary
        if not self._is_binary:
            return ClassOpinions(rows, self._classes)
        parts = linear_parts(self.classifier)
        return BinaryOpinions(rows, None if parts is None else parts[1]._answers_of)

    def learn_one(self, x: dict[Hashable, Any], y: Any, w: float = 1.0) -> None:
        """Learn one row with the model of its key. `w` is its sample weight, for models that take one.

        Raises
        ------
        ValueError
            If the row has no key, or the model refuses it. Nothing is then learned.

        """
        known = len(self._classes)
        if self._multiclass:
            self._classes.add(y)
        try:
            super().learn_one(x, y, w)
        except Exception:
            self._classes.truncate(known)
            raise

    def answer_learn_many(self, X: Any, y: Any, w: Any = 1.0) -> Answers:
        """Predict each row of a frame, then learn it, row after row; return what was said before learning it.

        Raises
        ------
        RowError
            If a row is refused. None of the rows is then learned.

        """
        known = len(self._classes)
        if self._multiclass:
            self._classes.add_many(y)
        try:
            return super().answer_learn_many(X, y, w)
        except Exception:
            self._classes.truncate(known)
            raise

    def predict_proba_one(self, x: dict[Hashable, Any]) -> dict[Hashable, float]:
        """Return what the model of the row's key says; for a key that never came, what the prior does."""
        model, rest = self._model_for(x)
        return model.predict_proba_one(rest)

    def predict_many(self, X: Any) -> Any:
        """Return a series of labels like `X`: pandas for pandas, Arrow for Arrow, and so on."""
        labels = self.answer_many(X).labels
        return native_series(plain_labels(labels), X)

    def predict_proba_many(self, X: Any) -> Any:
        """Return a frame like `X` with a column for each class that came of any key."""
        rows = split_rows(X, self.key)
        answers = self._ask(rows).answers(rows.order)
        said = np.asarray(answers.probabilities)
        if answers.classes is None:
            return native_frame({False: 1.0 - said, True: said}, X)
        return native_frame({label: said[:, k].copy() for k, label in enumerate(answers.classes)}, X)

    def state_dict(self) -> dict[str, Any]:
        """Return everything that was learned, the models of all keys among it, as arrays and JSON."""
        return {**super().state_dict(), **join_parts({"classes": self._classes.state_dict()})}

    def put_files(self, files: Any) -> dict[str, Any]:
        """Write all models that have learned, add the files that hold them, and return the rest of what was learned."""
        return {**super().put_files(files), **join_parts({"classes": self._classes.state_dict()})}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` or `put_files` of a model with the same parameters returned."""
        classes = Classes()
        classes.load_state_dict(part_of(state, "classes"))
        super().load_state_dict(state)
        self._classes = classes

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._classes = Classes()
        super().__setstate__(state)


def plain_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels as whole numbers if all are."""
    if labels.dtype == object and len(labels) and all(type(label) is int for label in labels.tolist()):
        return labels.astype(np.int64)
    return labels
