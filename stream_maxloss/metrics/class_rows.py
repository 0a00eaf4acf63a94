"""Feeding a metric many rows of several classes at once, with the result, to the bit, that one row at a time gives."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import metrics
from river.metrics.base import MeanMetric, Metrics
from river.utils.rolling import BaseRolling

from stream_maxloss.metrics.batch import CONFUSION_UPDATES
from stream_maxloss.metrics.loss_metric import LossMetric
from stream_maxloss.metrics.row_loss import ProbabilityLoss, ZeroOneLoss

__all__ = ["ClassRows", "update_classes_many"]

LEAST = 1e-15


class ClassRows:
    """Rows with the label that came, the one that was predicted, and the probability of each class.

    Parameters
    ----------
    y_true
        The labels, each one of `classes`.
    y_pred
        The predicted labels.
    probabilities
        (rows, K) probabilities; 0 for a class that the model did not know by then.
    classes
        The labels of the K columns.

    Examples
    --------
    >>> import numpy as np
    >>> from river import metrics
    >>> from stream_maxloss.metrics.class_rows import ClassRows, update_classes_many
    >>> said = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3]])
    >>> rows = ClassRows(["a", "c"], ["a", "b"], said, ("a", "b", "c"))
    >>> metric = metrics.Accuracy()
    >>> update_classes_many((metric,), rows)
    >>> metric
    Accuracy: 50.00%

    """

    def __init__(
        self,
        y_true: Sequence[Hashable],
        y_pred: Sequence[Hashable],
        probabilities: NDArray[np.float64],
        classes: Sequence[Hashable],
    ) -> None:
        self.y_true, self.y_pred = list(y_true), list(y_pred)
        self.probabilities, self.classes = probabilities, classes
        numbers = {label: number for number, label in enumerate(classes)}
        codes = np.array([numbers[label] for label in self.y_true], dtype=np.int64)
        # The probability that was given to what came.
        self.given: NDArray[np.float64] = probabilities[np.arange(len(codes)), codes]

    def __len__(self) -> int:
        return len(self.y_true)

    def part(self, rows: NDArray[np.int64]) -> ClassRows:
        """Return some of the rows."""
        picked = rows.tolist()
        y_true, y_pred = [self.y_true[row] for row in picked], [self.y_pred[row] for row in picked]
        return ClassRows(y_true, y_pred, self.probabilities[rows], self.classes)

    def answered(self) -> ClassRows:
        """Return the rows that the model had an answer for."""
        has_answer = self.probabilities.any(axis=1)
        return self if has_answer.all() else self.part(np.flatnonzero(has_answer))

    def said(self, row: int) -> dict[Hashable, float]:
        """Return the answer to a row as River's models give it: without classes that had not come by then."""
        return {label: p for label, p in zip(self.classes, self.probabilities[row].tolist(), strict=True) if p}


def update_classes_many(twins: Sequence[Any], rows: ClassRows) -> None:
    """Feed rows of several classes to metrics with the same parameters, as `update` with each row in order does."""
    metric = twins[0]
    update = type(metric).update
    if isinstance(metric, Metrics):
        for parts in zip(*twins, strict=True):
            update_classes_many(parts, rows)
    elif isinstance(metric, BaseRolling) or not len(rows):
        update_rows(twins, rows)
    elif isinstance(metric, LossMetric) and type(metric.loss) in (ProbabilityLoss, ZeroOneLoss):
        losses = losses_of(metric, rows)
        for twin in twins:
            twin.update_many(losses)
    elif update in CONFUSION_UPDATES:
        update_confusion(twins, rows)
    elif update is MeanMetric.update and type(metric)._eval is metrics.CrossEntropy._eval:
        # River adds nothing for a label without probability.
        values = [-math.log(min(max(p, LEAST), 1.0 - LEAST)) if p else 0.0 for p in rows.given.tolist()]
        for twin in twins:
            for value in values:
                twin._mean.update(value)
    else:
        update_rows(twins, rows)


def losses_of(metric: LossMetric, rows: ClassRows) -> NDArray[np.float64]:
    """Return the loss of each row."""
    if type(metric.loss) is ProbabilityLoss:
        return np.clip(1.0 - rows.given, 0.0, 1.0)
    pairs = zip(rows.y_true, rows.y_pred, strict=True)
    return np.array([float(label != prediction) for label, prediction in pairs])


def update_confusion(twins: Sequence[Any], rows: ClassRows) -> None:
    """Count pairs of labels, in the order in which they first occur: sums over classes then round alike."""
    counts: dict[tuple[Hashable, Hashable], int] = {}
    for pair in zip(rows.y_true, rows.y_pred, strict=True):
        counts[pair] = counts.get(pair, 0) + 1
    for metric in twins:
        matrix = metric if isinstance(metric, metrics.ConfusionMatrix) else metric.cm
        for (label, prediction), count in counts.items():
            metric.update(label, prediction, float(count))
            # River counts calls here, and its pair-counting metrics (Rand, mutual information) divide by it.
            matrix.n_samples += count - 1


def update_rows(twins: Sequence[Any], rows: ClassRows) -> None:
    """Feed each row as River's models would answer it."""
    wants_labels = getattr(twins[0], "requires_labels", True)
    for row, (label, prediction) in enumerate(zip(rows.y_true, rows.y_pred, strict=True)):
        answer = prediction if wants_labels else rows.said(row)
        for twin in twins:
            twin.update(label, answer)
