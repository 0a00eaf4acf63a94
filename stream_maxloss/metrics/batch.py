"""Feeding a metric many rows at once, with the result that one row at a time gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from river import metrics, utils
from river.metrics.base import BinaryMetric, ClassificationMetric, MeanMetric, Metrics
from river.utils.rolling import BaseRolling

from stream_maxloss.metrics.loss_metric import LossMetric
from stream_maxloss.metrics.margin_metric import MarginMetric, margins_of

__all__ = ["update_metric_many", "update_twins_many"]

Column = NDArray[Any]

# A metric is recognised by the very function that it updates with, so that a subclass which does more goes row by row.
CONFUSION_UPDATES = (ClassificationMetric.update, BinaryMetric.update, metrics.ConfusionMatrix.update)


class Rows(NamedTuple):
    """The columns of a batch, as `update_metric_many` takes them."""

    y_true: Column
    y_pred_labels: Column | None
    proba_true: Column | None
    weights: Column | None


def update_metric_many(
    metric: Any,
    y_true: Column,
    y_pred_labels: Column | None = None,
    proba_true: NDArray[np.float64] | None = None,
    weights: NDArray[np.float64] | None = None,
) -> None:
    """Feed many rows to any River metric or to one of ours.

    The result is that of `metric.update(y, y_pred, w)` for each row in order. Metrics of a confusion matrix take at
    most one weighted update for each pair of labels and `ROCAUC` one per threshold and pair (the same counts, exactly
    so for weights that are whole numbers). The averages `LogLoss`, `CrossEntropy`, `MAE`, `MSE`, `RMSE`, `MAPE` and
    `SMAPE` are computed on the arrays (the same to 1e-12 of the value); ours take the arrays and give the same bits. A
    sum of metrics is fed part by part; `river.utils.Rolling` and anything unknown row by row.

    Parameters
    ----------
    metric
        A River metric, a sum of them, a `river.utils.Rolling` of one, or a metric of this package.
    y_true
        The labels, or the true values for a regressor.
    y_pred_labels
        The predicted labels, or the predicted values of a regressor. May be left out where only probabilities are used.
    proba_true
        The probability of the label `True` of each row. May be left out where only labels are used.
    weights
        Sample weights; all 1 where left out.

    Notes
    -----
    In a sum of metrics of which some want labels and some probabilities, River derives the labels from the
    probabilities (a tie is `False`); so does this function, whatever `y_pred_labels` says.

    Examples
    --------
    >>> import numpy as np
    >>> from river import metrics
    >>> from stream_maxloss.metrics import MaxLoss, update_metric_many

    >>> metric = metrics.Accuracy() + metrics.LogLoss() + MaxLoss()
    >>> y_true = np.array([True, False, True, True])
    >>> update_metric_many(metric, y_true, proba_true=np.array([0.9, 0.2, 0.4, 0.8]))
    >>> metric
    Accuracy: 75.00%
    LogLoss: 0.3670
    MaxLoss: 0.6

    """
    update_twins_many((metric,), y_true, y_pred_labels, proba_true, weights)


def update_twins_many(
    twins: Sequence[Any],
    y_true: Column,
    y_pred_labels: Column | None = None,
    proba_true: NDArray[np.float64] | None = None,
    weights: NDArray[np.float64] | None = None,
) -> None:
    """Feed many rows to several metrics with the same parameters, as `update_metric_many` does to each.

    What follows from the rows alone, as their losses and the counts of their labels, is computed once for all.
    """
    rows = Rows(y_true, y_pred_labels, proba_true, weights)
    n_rows = len(y_true)
    for name, column in rows._asdict().items():
        if column is not None and column.shape != (n_rows,):
            raise ValueError(f"{name} must have one value per row ({n_rows}), got shape {column.shape!r}; pass columns")
    if n_rows:
        _update(twins, rows)


def _update(twins: Sequence[Any], rows: Rows) -> None:
    y_true, y_pred, proba_true, weights = rows
    metric = twins[0]
    update = type(metric).update
    if isinstance(metric, BaseRolling):
        _update_rows(twins, rows)
    elif isinstance(metric, Metrics):
        if _wants_proba(metric) and proba_true is not None:
            # River's argmax over {False: 1 - p, True: p}, where a tie goes to the first key.
            rows = rows._replace(y_pred_labels=proba_true > 1.0 - proba_true)
        for parts in zip(*twins, strict=True):
            _update(parts, rows)
    elif isinstance(metric, LossMetric):
        losses = metric.loss.many(y_true, y_pred, None if metric.requires_labels else proba_true)
        for twin in twins:
            twin.update_many(losses, weights)
    elif isinstance(metric, MarginMetric):
        margins = margins_of(y_true, _required(proba_true, "proba_true", metric))
        for twin in twins:
            twin.update_many(margins)
    elif update in CONFUSION_UPDATES:
        _update_confusion(twins, y_true, _required(y_pred, "y_pred_labels", metric), weights)
    elif update is metrics.ROCAUC.update:
        _update_roc(twins, y_true, _required(proba_true, "proba_true", metric), weights)
    elif update is MeanMetric.update and type(metric)._eval in EVALUATIONS:
        predictions, name = (proba_true, "proba_true") if _wants_proba(metric) else (y_pred, "y_pred_labels")
        values = EVALUATIONS[type(metric)._eval](y_true, _required(predictions, name, metric))
        for twin in twins:
            _update_mean(twin._mean, values, weights)
    else:
        _update_rows(twins, rows)


def _update_confusion(twins: Sequence[Any], y_true: Column, y_pred: Column, weights: Column | None) -> None:
    try:
        pairs = list(_counted_pairs(y_true, y_pred, weights))
    except TypeError:  # labels of several types have no order
        _update_rows(twins, Rows(y_true, y_pred, None, weights))
        return
    for metric in twins:
        matrix = metric if isinstance(metric, metrics.ConfusionMatrix) else metric.cm
        for label, prediction, count, total in pairs:
            metric.update(label, prediction, total)
            # River counts calls here, and its pair-counting metrics (Rand, mutual information) divide by it.
            matrix.n_samples += count - 1


def _counted_pairs(y_true: Column, y_pred: Column, weights: Column | None) -> Iterator[tuple[Any, Any, int, float]]:
    """Yield each pair of labels that occurs, with its number of rows and their weight."""
    if y_true.dtype == np.bool_ and y_pred.dtype == np.bool_:  # ten times faster than sorting
        codes: Column = y_true.view(np.uint8) * np.uint8(2) + y_pred.view(np.uint8)
        true_list = pred_list = [False, True]
        counts = _count_binary(y_true, y_pred)
    else:
        true_labels, true_codes = np.unique(y_true, return_inverse=True)
        pred_labels, pred_codes = np.unique(y_pred, return_inverse=True)
        true_list, pred_list = true_labels.tolist(), pred_labels.tolist()
        codes = true_codes * len(pred_list) + pred_codes
        counts = np.bincount(codes)
    totals = counts if weights is None else np.bincount(codes, weights=weights)
    for code in np.flatnonzero(counts).tolist():
        i, j = divmod(code, len(pred_list))
        yield true_list[i], pred_list[j], int(counts[code]), float(totals[code])


def _count_binary(y_true: Column, y_pred: Column) -> NDArray[np.int64]:
    """Return how often each pair of booleans occurs, (False, False) first; many times faster than by codes."""
    both, true, predicted = (np.count_nonzero(part) for part in (y_true & y_pred, y_true, y_pred))
    return np.array([len(y_true) - true - predicted + both, predicted - both, true - both, both])


def _update_roc(twins: Sequence[Any], y_true: Column, proba_true: Column, weights: Column | None) -> None:
    positive = np.asarray(y_true == twins[0].pos_val)
    for threshold, *matrices in zip(twins[0].thresholds, *(metric.cms for metric in twins), strict=True):
        _update_confusion(matrices, positive, proba_true > threshold, weights)


def _update_mean(mean: Any, values: NDArray[np.float64], weights: Column | None) -> None:
    """Add values to a `river.stats.Mean`: its own step, with the batch as one observation."""
    total = float(values.size) if weights is None else float(weights.sum())
    if total == 0.0:
        return  # River divides by zero where such a row comes first
    deviations = values - mean._mean
    mean.n += total
    mean._mean += float(deviations.sum() if weights is None else (weights * deviations).sum()) / mean.n


def _update_rows(twins: Sequence[Any], rows: Rows) -> None:
    metric = twins[0]
    if isinstance(metric, utils.TimeRolling):
        raise TypeError(
            "metric must not be a TimeRolling, got one; it needs the time of each row: update it row by row"
        )
    predictions: list[Any]
    if _wants_proba(metric):
        predictions = [{False: 1.0 - p, True: p} for p in _required(rows.proba_true, "proba_true", metric).tolist()]
    else:
        predictions = _required(rows.y_pred_labels, "y_pred_labels", metric).tolist()
    columns = [rows.y_true.tolist(), predictions]
    if rows.weights is not None and metric.works_with_weights:
        columns.append(rows.weights.tolist())
    for twin in twins:
        for row in zip(*columns, strict=True):
            twin.update(*row)


def _wants_proba(metric: Any) -> bool:
    """Return whether a metric reads probabilities; metrics of regressors do not say, and read values."""
    return not getattr(metric, "requires_labels", True)


def _required(column: Column | None, name: str, metric: Any) -> Column:
    if column is None:
        kind = type(getattr(metric, "obj", metric)).__name__
        raise ValueError(f"{name} must be given, got None; {kind} is computed from it")
    return column


def _log_loss(y_true: Column, proba_true: Column) -> NDArray[np.float64]:
    clamped = np.clip(proba_true, 1e-15, 1.0 - 1e-15)
    return -np.log(np.where(y_true.astype(np.bool_), clamped, 1.0 - clamped))


def _cross_entropy(y_true: Column, proba_true: Column) -> NDArray[np.float64]:
    given = np.where(y_true == 1, proba_true, 1.0 - proba_true)
    logs = -np.log(np.clip(given, 1e-15, 1.0 - 1e-15))
    return np.where((y_true == 1) | (y_true == 0), logs, 0.0)  # River adds nothing for a label without probability


def _absolute(y_true: Column, y_pred: Column) -> NDArray[np.float64]:
    return np.abs(y_true.astype(np.float64) - y_pred)


def _squared(y_true: Column, y_pred: Column) -> NDArray[np.float64]:
    return (y_true.astype(np.float64) - y_pred) ** 2


def _absolute_share(y_true: Column, y_pred: Column) -> NDArray[np.float64]:
    size = np.abs(y_true.astype(np.float64))
    return np.divide(_absolute(y_true, y_pred), size, out=np.zeros(size.size), where=size != 0.0)


def _symmetric_share(y_true: Column, y_pred: Column) -> NDArray[np.float64]:
    size = np.abs(y_true.astype(np.float64)) + np.abs(y_pred)
    return np.divide(2.0 * _absolute(y_true, y_pred), size, out=np.zeros(size.size), where=size != 0.0)


EVALUATIONS: dict[Any, Callable[[Column, Column], NDArray[np.float64]]] = {
    metrics.LogLoss._eval: _log_loss,
    metrics.CrossEntropy._eval: _cross_entropy,
    metrics.MAE._eval: _absolute,
    metrics.MSE._eval: _squared,
    metrics.MAPE._eval: _absolute_share,
    metrics.SMAPE._eval: _symmetric_share,
}
