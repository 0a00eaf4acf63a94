"""What a model that ignores the features would have scored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.described import check_name
from stream_maxloss.metrics import metric_state, restore_metric, update_metric_many
from stream_maxloss.metrics.class_rows import ClassRows
from stream_maxloss.metrics.standing import value_of
from stream_maxloss.state import join_parts, part_of

__all__ = ["Baseline", "LastLabel"]


class Baseline:
    """The constant prediction, as far as it is known: the share of each label, or the mean value, of the rows so far.

    It is scored progressively like the model: each row is predicted from the rows before it.

    Parameters
    ----------
    is_classifier
        Whether labels or values are predicted.

    Examples
    --------
    >>> import numpy as np
    >>> from stream_maxloss.run.baseline import Baseline
    >>> labels, shares = Baseline(True).predict_many(np.array([True, False, False, False]))
    >>> labels, shares.round(2)
    (array([ True,  True,  True, False]), array([0.5 , 1.  , 0.5 , 0.33]))

    """

    def __init__(self, is_classifier: bool) -> None:
        self.is_classifier = is_classifier
        self.counts: Counter[Any] = Counter()
        self.rows = 0
        self.total = 0.0

    def predict_many(self, y_true: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
        """Return predictions (labels with the share of True, or values) for rows, and take them in."""
        before = np.arange(self.rows, self.rows + len(y_true), dtype=np.float64)
        sums = np.zeros(len(y_true) + 1)
        np.cumsum(y_true, dtype=np.float64, out=sums[1:])
        sums += self.total
        is_first = self.rows == 0 and len(y_true) > 0
        before[:is_first] = 1.0
        means = sums[:-1] / before
        means[:is_first] = 0.5 if self.is_classifier else 0.0
        self.rows += len(y_true)
        self.total = float(sums[-1])
        return (means >= 0.5, means) if self.is_classifier else (means, None)

    def predict_classes(self, y_true: Sequence[Hashable]) -> ClassRows:
        """Return the shares of several classes before each row, and take the rows in; the first row has none."""
        for label in y_true:
            self.counts[label] += 0
        classes = list(self.counts)
        numbers = {label: number for number, label in enumerate(classes)}
        codes = np.array([numbers[label] for label in y_true], dtype=np.int64)
        came = np.zeros((len(codes) + 1, len(classes)))
        came[0] = [self.counts[label] for label in classes]
        came[np.arange(1, len(codes) + 1), codes] = 1.0
        counts = np.cumsum(came, axis=0)
        before = np.maximum(self.rows + np.arange(len(codes)), 1)[:, np.newaxis]
        shares = counts[:-1] / before
        self.counts = Counter({label: int(count) for label, count in zip(classes, counts[-1].tolist(), strict=True)})
        self.rows += len(codes)
        return ClassRows(y_true, [classes[k] for k in counts[:-1].argmax(axis=1).tolist()], shares, classes)

    def predict_one(self, y_true: Any, labels: bool) -> Any:
        """Return the prediction for one row (a label, a dict of shares, or a value), and take the row in."""
        prediction = self._predict(labels)
        self.rows += 1
        if self.is_classifier:
            self.counts[y_true] += 1
        else:
            self.total += float(y_true)
        return prediction

    def _predict(self, labels: bool) -> Any:
        if not self.is_classifier:
            return self.total / self.rows if self.rows else 0.0
        if not self.counts:
            return None
        if labels:
            return self.counts.most_common(1)[0][0]
        return {label: count / self.rows for label, count in self.counts.items()}

    def state_dict(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        return {"rows": self.rows, "total": self.total, "counts": [list(pair) for pair in self.counts.items()]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over what `state_dict` returned; raise ValueError if it is something else."""
        counts = {check_name(label): count for label, count in state["counts"]}
        if not all(type(count) is int and 0 <= count < 1 << 62 for count in (state["rows"], *counts.values())):
            raise ValueError("rows and counts of the baseline must be numbers of rows")
        self.rows, self.total, self.counts = state["rows"], float(state["total"]), Counter(counts)


class LastLabel:
    """What predicting for each row the label of the row before it scores.

    Parameters
    ----------
    metric
        The metric, not yet used; one that wants labels or values.

    Examples
    --------
    >>> import numpy as np
    >>> from river import metrics
    >>> from stream_maxloss.run.baseline import LastLabel
    >>> last = LastLabel(metrics.Accuracy())
    >>> last.take_many(np.array([True, True, False, False]))
    >>> last.get()
    0.6666666666666666

    """

    def __init__(self, metric: Any) -> None:
        self.metric = metric
        self._before: list[Any] = []  # the label before, once there is one

    def take_many(self, y_true: NDArray[Any]) -> None:
        """Take in the labels of some rows."""
        if not len(y_true):
            return
        labels = np.concatenate([self._as_type_of(y_true), y_true])
        update_metric_many(self.metric, labels[1:], labels[:-1])
        self._before = y_true[-1:].tolist()

    def _as_type_of(self, y_true: NDArray[Any]) -> NDArray[Any]:
        """Return the label before, or none if a changed checkpoint has one that is none of these."""
        try:
            return np.array(self._before, dtype=y_true.dtype)
        except (TypeError, ValueError, OverflowError):
            return y_true[:0]

    def take_one(self, y_true: Any) -> None:
        """Take in the label of one row."""
        if self._before:
            self.metric.update(y_true, self._before[0])
        self._before = [y_true]

    def get(self) -> float:
        """Return the score."""
        return value_of(self.metric)

    def state_dict(self) -> dict[str, Any]:
        """Return the state as arrays and plain values."""
        return {"before": list(self._before), **join_parts({"metric": metric_state(self.metric)})}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self._before = [check_name(label) for label in list(state["before"])[-1:]]
        restore_metric(self.metric, part_of(state, "metric"))
