"""The learned state of a metric as arrays and plain values, for checkpoints without pickle."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from river import metrics
from river.metrics.base import ClassificationMetric, MeanMetric, Metrics
from river.utils import Rolling
from river.utils.rolling import BaseRolling

from stream_maxloss.described import ArrayOf, check_state
from stream_maxloss.metrics.batch import CONFUSION_UPDATES
from stream_maxloss.state import join_parts, part_of

__all__ = ["metric_state", "restore_metric"]

State = dict[str, Any]

CONFUSION = {
    "counts": ArrayOf("float64", ("labels", "labels")),
    "row_sums": ArrayOf("float64", ("labels",)),
    "column_sums": ArrayOf("float64", ("labels",)),
    "totals": ArrayOf("float64", (2,)),
}
EMPTY = {**CONFUSION, "counts": ArrayOf("float64", (0,))}  # numpy's shape of no rows at all
ROUNDING = 1e-6
"""By how much sums of one kind may differ from those of another, relative to all that was counted."""


def metric_state(metric: Any) -> State:
    """Return the state of a metric as a flat dict of arrays and plain JSON values.

    Knows the metrics of this package, and of River those built on a confusion matrix, the averages (`LogLoss`, `MAE`,
    ...), `ROCAUC`, `R2`, sums of metrics, and `utils.Rolling` of any of these. Parameters are not part of the state:
    restore into a metric that was made with the same ones.

    Raises
    ------
    TypeError
        The metric, or a label in it, has no such representation; the message names it.

    Examples
    --------
    >>> from river import metrics
    >>> from stream_maxloss.metrics import metric_state, restore_metric

    >>> metric = metrics.Accuracy()
    >>> for y_true, y_pred in [(True, True), (False, True), (False, False)]:
    ...     metric.update(y_true, y_pred)
    >>> state = metric_state(metric)
    >>> state["cm.labels"], state["cm.counts"].tolist()
    ([True, False], [[1.0, 0.0], [1.0, 1.0]])

    >>> fresh = metrics.Accuracy()
    >>> restore_metric(fresh, state)
    >>> fresh.update(True, True)
    >>> fresh
    Accuracy: 75.00%

    """
    return {"type": _type_name(metric), **_state_of(metric)}


def restore_metric(metric: Any, state: State) -> None:
    """Replace the state of `metric` by one that `metric_state` returned for a metric of the same kind.

    Raises
    ------
    ValueError
        The state is that of another kind of metric.

    """
    name = _type_name(metric)
    if state.get("type") != name:
        raise ValueError(
            f"state must be that of {name}, got {state.get('type')!r}; restore into the metrics it was saved from"
        )
    try:
        _restore(metric, state)
    except KeyError as error:
        raise ValueError(f"state of {name} must have the entry {error}, got none; save it again") from error


def _restore(metric: Any, state: State) -> None:
    if isinstance(metric, Rolling):
        restore_metric(metric.obj, part_of(state, "obj"))
        metric.window.clear()
        for args, kwargs in state["window"]:
            metric.window.append((tuple(map(_decode, args)), {key: _decode(value) for key, value in kwargs.items()}))
    elif isinstance(metric, Metrics):
        for i, part in enumerate(metric):
            restore_metric(part, part_of(state, str(i)))
    elif hasattr(metric, "load_state_dict"):
        metric.load_state_dict(state)
    elif type(metric) is metrics.ROCAUC:
        for i, matrix in enumerate(metric.cms):
            _restore_confusion(matrix, part_of(state, f"cms.{i}"))
    elif isinstance(metric, MeanMetric):
        metric._mean.n, metric._mean._mean = (float(value) for value in state["mean"])
    elif type(metric) is metrics.R2:
        variance = metric._y_var
        numbers = (float(value) for value in state["sums"])
        variance.mean.n, variance.mean._mean, variance._S, metric._residual_sum_of_squares = numbers
    else:
        _restore_confusion(_confusion_of(metric), part_of(state, "cm"))


def _state_of(metric: Any) -> State:
    if isinstance(metric, Rolling):
        name = _type_name(metric)
        window = [
            [[_encode(value, name) for value in args], {key: _encode(value, name) for key, value in kwargs.items()}]
            for args, kwargs in metric.window
        ]
        return {"window": window, **join_parts({"obj": metric_state(metric.obj)})}
    if isinstance(metric, BaseRolling):
        raise _not_writable(metric)  # its attributes are those of the metric inside, which is not all it keeps
    if isinstance(metric, Metrics):
        return join_parts({str(i): metric_state(part) for i, part in enumerate(metric)})
    if hasattr(metric, "state_dict"):
        return metric.state_dict()
    if not type(metric).__module__.startswith("river."):
        raise _not_writable(metric)  # a subclass may keep more than its River base
    if type(metric) is metrics.ROCAUC:
        return join_parts({f"cms.{i}": _confusion_state(matrix, "ROCAUC") for i, matrix in enumerate(metric.cms)})
    if isinstance(metric, MeanMetric):
        return {"mean": np.array([metric._mean.n, metric._mean._mean])}
    if type(metric) is metrics.R2:
        variance = metric._y_var
        residuals = metric._residual_sum_of_squares
        return {"sums": np.array([variance.mean.n, variance.mean._mean, variance._S, residuals], dtype=np.float64)}
    return join_parts({"cm": _confusion_state(_confusion_of(metric), _type_name(metric))})


def _type_name(metric: Any) -> str:
    if isinstance(metric, Rolling):
        return f"Rolling({_type_name(metric.obj)}, {metric.window_size})"
    if isinstance(metric, Metrics):
        return " + ".join(_type_name(part) for part in metric)
    if type(metric) is metrics.ROCAUC:
        return f"ROCAUC({metric.n_thresholds})"
    return type(metric).__name__


def _confusion_of(metric: Any) -> Any:
    if isinstance(metric, metrics.ConfusionMatrix):
        return metric
    if isinstance(metric, ClassificationMetric) and type(metric).update in CONFUSION_UPDATES and hasattr(metric, "cm"):
        return metric.cm
    raise _not_writable(metric)


def _not_writable(metric: Any) -> TypeError:
    return TypeError(
        f"metric must be one whose state can be written without pickle, got {_type_name(metric)}; leave it out of "
        "what is saved, use a metric of a confusion matrix or an average, or give it state_dict and load_state_dict"
    )


def _confusion_state(matrix: Any, name: str) -> State:
    rows, columns = matrix.sum_row, matrix.sum_col
    labels = list(dict.fromkeys([*rows, *columns]))
    return {
        "labels": [_encode(label, name) for label in labels],
        # Read with get: indexing a defaultdict would add the label to the live metric.
        "counts": np.array([[matrix.data.get(i, {}).get(j, 0.0) for j in labels] for i in labels], dtype=np.float64),
        "row_sums": np.array([rows.get(label, 0.0) for label in labels], dtype=np.float64),
        "column_sums": np.array([columns.get(label, 0.0) for label in labels], dtype=np.float64),
        "totals": np.array([matrix.total_weight, matrix.total_true_positives], dtype=np.float64),
        "n_samples": int(matrix.n_samples),
    }


def _restore_confusion(matrix: Any, state: State) -> None:
    labels = [_decode(label) for label in state["labels"]]
    _check_confusion(state, len(labels))
    for store in (matrix.data, matrix.sum_row, matrix.sum_col):
        store.clear()
    for i, label in enumerate(labels):
        matrix.sum_row[label] = float(state["row_sums"][i])
        matrix.sum_col[label] = float(state["column_sums"][i])
        for j, other in enumerate(labels):
            matrix.data[label][other] = float(state["counts"][i][j])
    matrix.total_weight, matrix._total_true_positives = (float(total) for total in state["totals"])
    matrix.n_samples = int(state["n_samples"])


def _check_confusion(state: State, labels: int) -> None:
    """Raise ValueError unless the sums are those of the counts: a share of rows must come out between 0 and 1."""
    check_state(state, CONFUSION if labels else EMPTY, labels=labels)
    counts, totals = state["counts"].reshape(labels, labels), state["totals"]
    sums = {
        "row_sums": (state["row_sums"], counts.sum(axis=1)),
        "column_sums": (state["column_sums"], counts.sum(axis=0)),
        "totals": (totals, np.array([counts.sum(), counts.trace()])),
    }
    slack = ROUNDING * max(1.0, float(np.abs(counts).sum()))
    if (counts < -slack).any():
        raise ValueError(f"counts must not be negative, got {counts.min()}")
    for name, (found, wanted) in sums.items():
        if (np.abs(found - wanted) > slack).any():
            raise ValueError(f"{name} must be those of the counts, {wanted.tolist()}, got {found.tolist()}")
    if type(state["n_samples"]) is not int or not 0 <= state["n_samples"] < 1 << 62:
        raise ValueError("n_samples must be a number of rows")


def _encode(value: Any, name: str) -> Any:
    """Return a label or prediction as JSON keeps it; a dict of probabilities becomes a list of pairs."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, dict):
        return {"pairs": [[_encode(key, name), _encode(entry, name)] for key, entry in value.items()]}
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise TypeError(
        f"labels and predictions of {name} must be numbers, booleans or strings to be saved, got {value!r}; "
        "map them first"
    )


def _decode(value: Any) -> Any:
    if isinstance(value, dict):
        return {_decode(key): _decode(entry) for key, entry in value["pairs"]}
    return value
