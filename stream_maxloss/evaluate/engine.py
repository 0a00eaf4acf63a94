"""Predict, then learn, a batch of rows with any model: in one kernel where the model is ours, else row by row."""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_maxloss.labels import are_positive, as_array
from stream_maxloss.protocol import Answers
from stream_maxloss.rows.dicts import frame_to_dicts

__all__ = ["Engine", "Scored"]


@dataclass
class Scored:
    """What a model said of each row before it learned it.

    Parameters
    ----------
    y_true
        Labels as booleans for our binary learners, else as they came.
    y_pred
        Predicted labels or values; None where the model had none yet.
    probabilities
        The probability of True of each row, for models that give one; None otherwise. One column for each of `classes`
        where a kernel ran for several classes.
    answers
        Row by row, what the model returned, in the form that the metric wants. None where a kernel ran for two labels
        or for numbers.
    classes
        The classes of the columns of `probabilities`; None for one column.

    """

    y_true: NDArray[Any] | list[Any]
    y_pred: NDArray[Any] | None
    probabilities: NDArray[np.float64] | None
    answers: Sequence[Any] | None = None
    classes: tuple[Hashable, ...] | None = None


class Engine:
    """Runs one model over batches.

    Parameters
    ----------
    model
        Any River classifier or regressor. Ours (bare, behind `Scaler() |`, or focused) run as one kernel per batch.
    labels
        Whether to ask other models for labels (`predict_one`) rather than probabilities (`predict_proba_one`).
    by_class
        Whether a kernel's answers are always those of several classes, also as long as all labels seen were 0 and 1:
        right where others may come.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.evaluate import Engine
    >>> from stream_maxloss.linear import Perceptron
    >>> engine = Engine(Perceptron())
    >>> engine.is_native
    True
    >>> engine.learn(pa.table({"x": [1.0, -1.0, 1.0]}), [True, False, True]).y_pred
    array([ True,  True,  True])

    """

    def __init__(self, model: Any, labels: bool = True, by_class: bool = False) -> None:
        self.model = model
        self.labels = labels
        self.by_class = by_class
        self.is_native = runs_in_kernel(model)
        self.is_classifier = isinstance(model, base.Classifier)
        self.takes_weights = takes_weights(model)
        self.takes_slices = bool(getattr(model, "takes_slices", False))
        # Which row of a batch a model that is not ours is busy with, so that an error of its own can be told from ours.
        self.busy_with: int | None = None

    def learn(self, X: Any, y: Any, w: Any = None, slices: Any = None) -> Scored:
        """Predict each row of a frame or list of dicts, then learn it, with its slice if the model takes slices.

        Raises
        ------
        RowError
            If a model that takes whole batches refuses a row; it has then learned none of them.

        """
        if self.is_native and not isinstance(X, list):
            known = list(self.model.classes) if self.by_class and not leaves_out_unseen(self.model) else None
            named = {"slices": slices} if self.takes_slices and slices is not None else {}
            answers = self.model.answer_learn_many(X, y, 1.0 if w is None else w, **named)
            return self._scored(answers, y, known)
        labels = y if isinstance(y, list) else as_array(y)
        weights = None if w is None else np.full(len(labels), w) if np.isscalar(w) else w
        answers = []
        for row, (x, label) in enumerate(zip(self.dicts_of(X), as_list(labels), strict=True)):
            self.busy_with = row
            answers.append(self.ask(x))
            name = None if slices is None else slices[row]
            self.learn_row(x, label, None if weights is None else float(weights[row]), name)
            self.busy_with = None
        return Scored(labels, None, None, answers)

    def predict(self, X: Any, y: Any = None) -> Scored:
        """Predict each row of a frame or list of dicts and learn nothing; raises as `learn` does."""
        if self.is_native and not isinstance(X, list):
            return self._scored(self.model.answer_many(X), y)
        answers = []
        for row, x in enumerate(self.dicts_of(X)):
            self.busy_with = row
            answers.append(self.ask(x))
            self.busy_with = None
        return Scored(np.empty(0) if y is None else as_array(y), None, None, answers)

    def learn_row(self, x: dict[Any, Any], label: Any, w: float | None, slice_name: Any = None) -> None:
        """Learn one row, with its weight if the model takes weights, and its slice if it takes slices."""
        keywords: dict[str, Any] = {} if w is None or not self.takes_weights else {"w": w}
        if self.takes_slices:
            keywords["slice"] = slice_name
        self.model.learn_one(x, label, **keywords)

    def ask(self, x: dict[Any, Any]) -> Any:
        """Return what the model says of one row, in the form that the metrics want."""
        if self.labels or not self.is_classifier:
            return self.model.predict_one(x)
        return self.model.predict_proba_one(x)

    def dicts_of(self, X: Any) -> Iterable[dict[Any, Any]]:
        """Return the rows one by one."""
        return X if isinstance(X, list) else frame_to_dicts(X, spread=not self.is_native)

    def _scored(self, answers: Answers, y: Any, known: Sequence[Hashable] | None = None) -> Scored:
        if answers.classes is None and self.by_class:
            answers = split_by_class(answers, self.model.classes)
        if answers.classes is not None:
            if known is not None and len(known) < 2:
                answers = without_unseen(answers, known, as_list(as_array(y)))
            truth = np.empty(0) if y is None else as_array(y)
            return Scored(truth, answers.labels, answers.probabilities, self._said(answers), answers.classes)
        truth = np.empty(0)
        if y is not None:
            truth = are_positive(y) if self.is_classifier else as_array(y).astype(np.float64)
        return Scored(truth, answers.labels, answers.probabilities)

    def _said(self, answers: Answers) -> Sequence[Any]:
        """Return what `ask` would have returned of each row."""
        if answers.probabilities is None:
            return list(answers.labels.tolist())
        return SaidByClass(answers, self.labels)


class SaidByClass(Sequence[Any]):
    """What a model of several classes says of each row, put into River's form when it is looked at.

    Parameters
    ----------
    answers
        Of several classes.
    labels
        Whether a row is a label, or a dict of probabilities.

    """

    def __init__(self, answers: Answers, labels: bool) -> None:
        self.answers = answers
        self.labels = labels

    def __len__(self) -> int:
        return len(self.answers.labels)

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [self[k] for k in range(*row.indices(len(self)))]
        probabilities = np.asarray(self.answers.probabilities)[row].tolist()
        # A class that had not come by then has no probability.
        said = {label: p for label, p in zip(self.answers.classes or (), probabilities, strict=True) if p}
        if not self.labels:
            return said
        return self.answers.labels[row : row + 1].tolist()[0] if said else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


def split_by_class(answers: Answers, classes: Sequence[Hashable]) -> Answers:
    """Return answers about two labels as those of a model of several classes, of which at most two have come."""
    positive = np.asarray(answers.probabilities)
    if not classes:
        return Answers(np.full(len(positive), None, dtype=object), np.empty((len(positive), 0)), ())
    if len(classes) == 1:
        columns = [np.ones(len(positive))]
    else:
        columns = [positive if label == 1 else 1.0 - positive for label in classes]
    named = np.empty(len(classes), dtype=object)
    named[:] = classes
    said = np.column_stack(columns)
    return Answers(named[said.argmax(axis=1)], said, tuple(classes))


def without_unseen(answers: Answers, known: Sequence[Hashable], y: Sequence[Hashable]) -> Answers:
    """Return answers from before the first and the second class came as a model gives them row by row: none, certain.

    Parameters
    ----------
    answers
        Of several classes, in the order in which they came.
    known
        The classes that had come before the first row, at most one.
    y
        The labels.

    """
    classes = answers.classes or ()
    said, labels = np.array(answers.probabilities), answers.labels.astype(object)
    second = next((row for row, label in enumerate(y) if label != classes[0]), len(y) - 1) + 1
    said[:second] = 0.0
    said[:second, 0] = 1.0
    labels[:second] = classes[0]
    if not known:
        said[0] = 0.0
        labels[0] = None
    return Answers(labels, said, classes)


def as_list(labels: Any) -> list[Any]:
    """Return labels as Python objects."""
    return labels if isinstance(labels, list) else labels.tolist()


def runs_in_kernel(model: Any) -> bool:
    """Return whether a model learns and scores whole batches by itself."""
    return bool(getattr(model, "is_native", False))


def leaves_out_unseen(model: Any) -> bool:
    """Return whether a model says nothing of a class before it comes also within a batch, as one of many keys does."""
    return bool(getattr(model, "leaves_out_unseen", False))


def takes_weights(model: Any) -> bool:
    """Return whether `learn_one` takes a sample weight; a model that does not learns all rows alike, as in River."""
    parameters = inspect.signature(model.learn_one).parameters
    return "w" in parameters or any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
