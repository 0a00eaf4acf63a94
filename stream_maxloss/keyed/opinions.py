"""What the models of many keys say of the rows of one batch, put together."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.classes import Classes
from stream_maxloss.evaluate.engine import Scored
from stream_maxloss.keyed.groups import Group
from stream_maxloss.protocol import Answers

__all__ = ["BinaryOpinions", "ClassOpinions", "NumberOpinions", "Opinions"]

Floats = NDArray[np.float64]


class Opinions:
    """Takes what was said group by group; `answers` puts it in the order of the batch.

    Parameters
    ----------
    rows
        How many.
    answers_of
        Turns the scores of linear learners into answers.

    """

    def __init__(self, rows: int, answers_of: Callable[[Floats], Answers] | None = None) -> None:
        self.scores: Floats = np.empty(rows)
        self.is_scored = np.zeros(rows, dtype=np.bool_)
        self.answers_of = answers_of

    def take_scores(self, group: Group, scores: Floats) -> None:
        """Take the scores of a linear learner."""
        self.scores[group.first : group.last] = scores
        self.is_scored[group.first : group.last] = True

    def take_scored(self, group: Group, scored: Scored) -> None:
        """Take what an engine returned."""
        raise NotImplementedError

    def answers(self, order: NDArray[np.int64]) -> Answers:
        """Return all that was said, row by row; `order` has for each row the one of the batch that it was."""
        raise NotImplementedError

    def _linear(self) -> Answers | None:
        return None if self.answers_of is None or not self.is_scored.any() else self.answers_of(self.scores)


class NumberOpinions(Opinions):
    """Of regressors."""

    def __init__(self, rows: int, answers_of: Callable[[Floats], Answers] | None = None) -> None:
        super().__init__(rows, answers_of)
        self.values: Floats = np.zeros(rows)

    def take_scored(self, group: Group, scored: Scored) -> None:
        """Take what an engine returned."""
        said = scored.answers if scored.answers is not None else scored.y_pred
        self.values[group.first : group.last] = np.asarray(said, dtype=np.float64)

    def answers(self, order: NDArray[np.int64]) -> Answers:
        """Return the predicted values."""
        linear = self._linear()
        values = self.values if linear is None else np.where(self.is_scored, linear.labels, self.values)
        return Answers(unsorted(values, order), None)


class BinaryOpinions(Opinions):
    """Of classifiers of two labels, true and false."""

    def __init__(self, rows: int, answers_of: Callable[[Floats], Answers] | None = None) -> None:
        super().__init__(rows, answers_of)
        self.labels = np.zeros(rows, dtype=np.bool_)
        self.positive: Floats = np.empty(rows)

    def take_scored(self, group: Group, scored: Scored) -> None:
        """Take what an engine returned."""
        part = slice(group.first, group.last)
        if scored.answers is None:
            self.labels[part], self.positive[part] = scored.y_pred, scored.probabilities
            return
        # A model that has seen nothing yet holds both for as likely.
        self.positive[part] = [said.get(True, 0.0) if said else 0.5 for said in scored.answers]
        self.labels[part] = [max(said, key=said.__getitem__) if said else False for said in scored.answers]

    def answers(self, order: NDArray[np.int64]) -> Answers:
        """Return labels and the probabilities of True."""
        labels, positive, linear = self.labels, self.positive, self._linear()
        if linear is not None:
            labels = np.where(self.is_scored, linear.labels, labels)
            positive = np.where(self.is_scored, np.asarray(linear.probabilities), positive)
        return Answers(unsorted(labels, order), unsorted(positive, order))


class ClassOpinions(Opinions):
    """Of classifiers of any classes: each key has seen some of them.

    Parameters
    ----------
    rows
        How many.
    classes
        All that came so far, of any key.

    """

    def __init__(self, rows: int, classes: Classes) -> None:
        super().__init__(rows)
        self.classes = classes
        self.said: Floats = np.zeros((rows, len(classes)))

    def take_scored(self, group: Group, scored: Scored) -> None:
        """Take what an engine returned."""
        if scored.classes is not None and scored.probabilities is not None:
            columns = [self._column(label) for label in scored.classes]
            self.said[group.first : group.last, columns] = scored.probabilities
            return
        for row, said in enumerate(scored.answers or (), group.first):
            for label, probability in said.items():
                self.said[row, self._column(label)] = probability

    def _column(self, label: Hashable) -> int:
        number = self.classes.find(label)
        if number is None:
            raise RuntimeError(f"{label!r} must be among the classes of all keys, got one of a single key")
        return number

    def answers(self, order: NDArray[np.int64]) -> Answers:
        """Return labels, None where a model has seen no class yet, and the probability of each class."""
        said = unsorted(self.said, order)
        labels = np.full(len(said), None, dtype=object)
        if len(self.classes):
            named = np.empty(len(self.classes), dtype=object)
            named[:] = self.classes.labels
            known = said.any(axis=1)
            labels[known] = named[said.argmax(axis=1)][known]
        return Answers(labels, said, tuple(self.classes.labels))


def unsorted(values: NDArray[Any], order: NDArray[np.int64]) -> NDArray[Any]:
    """Return values in the order of the batch that they were sorted from."""
    found = np.empty_like(values)
    found[order] = values
    return found
