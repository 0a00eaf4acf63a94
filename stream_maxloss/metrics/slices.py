"""Every metric by the value of a column, and the slice where it is worst."""

from __future__ import annotations

import collections
import copy
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from river.metrics import Accuracy, Precision, Recall
from river.metrics.base import Metrics
from river.utils import Rolling, pretty

from stream_maxloss.metrics.batch import update_metric_many
from stream_maxloss.metrics.class_rows import ClassRows, update_classes_many
from stream_maxloss.metrics.standing import interval_of, value_of
from stream_maxloss.metrics.state import metric_state, restore_metric
from stream_maxloss.state import join_parts, part_of

__all__ = ["SliceReport"]

MISSING = "(missing)"
OTHER = "(other)"
INTERVALS = (Accuracy, Precision, Recall)
"""Metrics that are shares of rows, and so have an interval."""


class SliceReport:
    """Scores of a model on each slice of a stream: on the rows that share a value of one column.

    Overall scores hide the rare slice a model fails on. The report keeps fresh copies of the metrics for every value,
    and for all rows together, and names the slice on which the first metric, or `worst_by`, is worst, by a rule that
    `rule` states: of the slices with enough rows on which the metric is defined (a recall needs positives), the worst
    value; of a metric that is a share of rows the worst end of its 95 % interval (Wilson), so that a slice is not
    called the worst for bad luck with few rows. Slices are named by the text of the value; null and NaN are
    `(missing)`.

    Parameters
    ----------
    metrics
        A River metric or one of ours, a sum of them, or a list. What they have counted so far is not used.
    by
        The column, read from the row where `update` gets one, and the heading of the table.
    max_slices
        How many values get a slice of their own, in order of appearance; the rest share the slice `(other)`, so that
        memory is bounded. Raise it for a column with more values.
    min_support
        How many rows a slice needs before it can be the worst. Raising it avoids alarms by small numbers.
    worst_by
        Name of the metric that decides which slice is worst: the first where `None`.

    Examples
    --------
    >>> from river import datasets, linear_model, metrics, preprocessing
    >>> from stream_maxloss.metrics import MaxLoss, SliceReport

    >>> model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> report = SliceReport(metrics.Accuracy() + MaxLoss(), by="age_of_domain")
    >>> for x, y in datasets.Phishing():
    ...     report.update(x, y, model.predict_proba_one(x))
    ...     model.learn_one(x, y)
    >>> print(report)
    age_of_domain   Rows    Accuracy   MaxLoss
       1 <- worst     750     89.33%   0.9612
                0     500     89.20%   0.9328
            (all)   1,250     89.28%   0.9612
    >>> report.worst()
    '1'
    >>> report.rule
    'worst: its 95 % interval (Wilson) of Accuracy ends lowest, of the slices with at least 30 rows'

    """

    def __init__(
        self, metrics: Any, by: str, max_slices: int = 100, min_support: int = 30, worst_by: str | None = None
    ) -> None:
        for name, value in (("max_slices", max_slices), ("min_support", min_support)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}; it counts")
        self.metrics = metrics
        self.by = by
        self.max_slices = max_slices
        self.min_support = min_support
        self.worst_by = worst_by
        self._blank = Metrics([_fresh(part) for part in _parts(metrics)])
        self._names = _unique_names(self._blank)
        if worst_by is not None and worst_by not in self._names:
            raise ValueError(f"worst_by must be one of {self._names}, got {worst_by!r}; or None for the first")
        self._overall = copy.deepcopy(self._blank)
        self._slices: dict[str, Metrics] = {}
        self._rows: dict[str, int] = {}

    def update(self, x: Any, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        """Take in one row.

        Parameters
        ----------
        x
            The row as a mapping, of which the column `by` is read (absent counts as missing), or the value itself.
        y_true, y_pred, w
            As River's metrics take them; where some metrics want labels and some probabilities, give probabilities.

        """
        value = x.get(self.by) if isinstance(x, Mapping) else x
        _update_one(self._overall, y_true, y_pred, w)
        name = self._admit(_name_of(value))
        _update_one(self._slices[name], y_true, y_pred, w)
        self._rows[name] += 1

    def update_many(
        self,
        slice_values: ArrayLike | Iterable[Any],
        y_true: NDArray[Any],
        y_pred_labels: NDArray[Any] | None = None,
        proba_true: NDArray[np.float64] | None = None,
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        """Take in many rows with the result that `update` gives row by row; see `update_metric_many`."""
        codes, names = _encode(slice_values)
        if codes.size != y_true.size:
            raise ValueError(
                f"slice_values must have one value per row ({y_true.size}), got {codes.size}; pass columns"
            )
        if y_pred_labels is None and proba_true is not None:
            y_pred_labels = proba_true > 1.0 - proba_true  # the argmax that `update` takes of a dict
        # The arguments are tried on a copy of the overall scores: where they are wrong, the report is unchanged.
        overall = copy.deepcopy(self._overall)
        update_metric_many(overall, y_true, y_pred_labels, proba_true, weights)
        self._overall = overall
        if codes.size == 0:
            return
        admitted = [self._admit(name) for name in names]
        slots = {name: slot for slot, name in enumerate(dict.fromkeys(admitted))}
        # Sixteen bits where they suffice: numpy then sorts by radix.
        kind = np.int16 if len(slots) < 2**15 else np.int64
        row_slots = np.array([slots[name] for name in admitted], dtype=kind)[codes]
        order = np.argsort(row_slots, kind="stable")
        borders = np.cumsum(np.bincount(row_slots, minlength=len(slots)))[:-1]
        for name, rows in zip(slots, np.split(order, borders), strict=True):
            labels, proba, w = (None if c is None else c[rows] for c in (y_pred_labels, proba_true, weights))
            update_metric_many(self._slices[name], y_true[rows], labels, proba, w)
            self._rows[name] += rows.size

    def update_classes(self, slice_values: ArrayLike | Iterable[Any], rows: ClassRows) -> None:
        """Take in many rows of several classes with the result that `update` gives row by row."""
        codes, names = _encode(slice_values)
        update_classes_many((self._overall,), rows)
        for code, name in enumerate(names):
            admitted = self._admit(name)
            part = np.flatnonzero(codes == code)
            update_classes_many((self._slices[admitted],), rows.part(part))
            self._rows[admitted] += len(part)

    def worst(self) -> str | None:
        """Return the name of the worst slice, or None while none has `min_support` rows and the metric defined.

        The shared slice `(other)` is not one value, and so never the worst. On a tie the slice seen first is named.
        """
        first = next(iter(self.ranked()), None)
        return first if first is not None and self._is_candidate(first) else None

    @property
    def rule(self) -> str:
        """How the worst slice is chosen, in one line."""
        index = self._deciding
        name, better = self._names[index], self._blank[index].bigger_is_better
        if isinstance(self._blank[index], INTERVALS):
            how = f"its 95 % interval (Wilson) of {name} ends lowest"
        else:
            how = f"{'lowest' if better else 'highest'} {name}"
        few = sum(n_rows < self.min_support for name, n_rows in self._rows.items() if name != OTHER)
        passed = f"; {few:,} with fewer passed over" if few else ""
        return f"worst: {how}, of the slices with at least {self.min_support} rows{passed}"

    def verdict(self) -> list[str]:
        """Return the worst slice's value with its interval in a line, or nothing where there is no interval."""
        name = self.worst()
        metric = None if name is None else self._slices[name][self._deciding]
        interval = None if metric is None else interval_of(metric)
        if interval is None:
            return []
        value, (low, high) = value_of(metric), interval
        return [f"{name}: {self._names[self._deciding]} {value:.4f}, interval {low:.4f} to {high:.4f}"]

    def ranked(self) -> list[str]:
        """Return the slices, the worst first; those with few rows, or without a value, come last."""
        return sorted(self._slices, key=lambda name: (not self._is_candidate(name), self._badness(name)))

    @property
    def _deciding(self) -> int:
        return 0 if self.worst_by is None else self._names.index(self.worst_by)

    def _is_candidate(self, name: str) -> bool:
        enough = self._rows[name] >= self.min_support and name != OTHER
        return enough and not math.isnan(value_of(self._slices[name][self._deciding]))

    def _badness(self, name: str) -> float:
        """Return what slices are sorted by: lower is worse, and no value at all comes last."""
        metric = self._slices[name][self._deciding]
        if not metric.bigger_is_better:
            value = -value_of(metric)
        else:
            interval = interval_of(metric)
            value = value_of(metric) if interval is None else interval[1]
        return math.inf if math.isnan(value) else value

    def get(self) -> dict[str, Any]:
        """Return the report as plain values, ready for JSON, slices sorted with the worst first; None is undefined."""
        worst = self.worst()
        return {
            "by": self.by,
            "overall": {"rows": sum(self._rows.values()), **self._scores(self._overall)},
            "slices": {name: {"rows": self._rows[name], **self._scores(self._slices[name])} for name in self.ranked()},
            "intervals": {name: self._interval(name) for name in self._slices},
            "worst": worst,
            "worst_interval": None if worst is None else self._interval(worst),
            "rule": self.rule,
            "worst_by": self.worst_by or self._names[0],
        }

    def state_dict(self) -> dict[str, Any]:
        """Return the learned state as arrays and plain JSON values."""
        groups = {"overall": self._overall, **{str(i): group for i, group in enumerate(self._slices.values())}}
        states = join_parts({name: metric_state(group) for name, group in groups.items()})
        return {"names": list(self._slices), "rows": list(self._rows.values()), **states}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over a state that `state_dict` of an equally configured report returned."""
        overall = self._restored(state, "overall")
        self._slices = {name: self._restored(state, str(i)) for i, name in enumerate(state["names"])}
        self._overall = overall
        self._rows = dict(zip(state["names"], map(int, state["rows"]), strict=True))

    def __repr__(self) -> str:
        return f"SliceReport(by={self.by!r}, metrics={self._names}, slices={len(self._slices)})"

    def __str__(self) -> str:
        return self.table()

    def table(self, most: int | None = None) -> str:
        """Return the report as a table, the worst slices first.

        Parameters
        ----------
        most
            How many slices to show; None for all. The rest is counted in a last line.

        """
        worst, names = self.worst(), self.ranked()
        shown = names if most is None else names[:most]
        groups = [*((name, self._slices[name]) for name in shown), ("(all)", self._overall)]
        rows = [*(self._rows[name] for name in shown), sum(self._rows.values())]
        columns = [[f"{name} <- worst" if name == worst else name for name, _ in groups], [f"{n:,}" for n in rows]]
        for i in range(len(self._names)):
            shape = getattr(self._blank[i], "_fmt", "") or ".6f"  # the averages of River say nothing
            values = [value_of(group[i]) for _, group in groups]
            columns.append(["undefined" if math.isnan(value) else f"{value:{shape}}" for value in values])
        table = str(pretty.print_table([self.by, "Rows", *self._names], columns))
        hidden = len(names) - len(shown)
        return table if not hidden else f"{table}\n{hidden:,} more slices"

    def _admit(self, name: str) -> str:
        """Return the slice a value belongs to, and make it if it is new and there is room."""
        if name not in self._slices and len(self._slices) - (OTHER in self._slices) >= self.max_slices:
            name = OTHER
        if name not in self._slices:
            self._slices[name] = copy.deepcopy(self._blank)
            self._rows[name] = 0
        return name

    def _interval(self, name: str) -> list[float] | None:
        interval = interval_of(self._slices[name][self._deciding])
        return None if interval is None else list(interval)

    def _scores(self, group: Metrics) -> dict[str, float | None]:
        values = {name: value_of(part) for name, part in zip(self._names, group, strict=True)}
        return {name: None if math.isnan(value) else value for name, value in values.items()}

    def _restored(self, state: dict[str, Any], prefix: str) -> Metrics:
        group = copy.deepcopy(self._blank)
        restore_metric(group, part_of(state, prefix))
        return group


def _parts(metrics: Any) -> list[Any]:
    parts = list(metrics) if isinstance(metrics, (Metrics, list, tuple)) else [metrics]
    if not parts:
        raise ValueError("metrics must hold at least one metric, got none; give for instance river.metrics.Accuracy()")
    return parts


def _fresh(metric: Any) -> Any:
    """Return an unused metric with the parameters of `metric`, which must yield a number."""
    if isinstance(metric, Rolling):
        # `Rolling.clone` would reach through to the metric inside and lose the window.
        fresh = copy.copy(metric)
        fresh.obj = metric.obj.clone()
        fresh.window = collections.deque(maxlen=metric.window_size)
    else:
        fresh = metric.clone()
    try:
        float(fresh.get())
    except (NotImplementedError, TypeError) as error:
        raise ValueError(f"metrics must yield one number each, got {type(metric).__name__}; report it apart") from error
    return fresh


def _unique_names(metrics: Metrics) -> list[str]:
    names: list[str] = []
    for metric in metrics:
        name = type(getattr(metric, "obj", metric)).__name__
        name = f"Rolling{name}" if isinstance(metric, Rolling) else name
        twins = sum(known == name or known.startswith(f"{name} ") for known in names)
        names.append(f"{name} {twins + 1}" if twins else name)
    return names


def _name_of(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or value != value:  # NaN alone differs from itself
        return MISSING
    return str(value)


def _encode(values: Any) -> tuple[NDArray[np.int64], list[str]]:
    """Return for each row the number of its slice name, and the names in order of first appearance."""
    array = values if isinstance(values, np.ndarray) else np.array(list(values), dtype=object)
    numbers: dict[str, int] = {}
    if array.dtype == object:
        codes = [numbers.setdefault(_name_of(value), len(numbers)) for value in array.tolist()]
        return np.array(codes, dtype=np.int64), list(numbers)
    distinct, first, inverse = np.unique(array, return_index=True, return_inverse=True)
    lookup = np.zeros(distinct.size, dtype=np.int64)
    for i in np.argsort(first).tolist():
        lookup[i] = numbers.setdefault(_name_of(distinct[i]), len(numbers))
    return lookup[inverse], list(numbers)


def _update_one(group: Metrics, y_true: Any, y_pred: Any, w: float) -> None:
    """Update each metric with what it wants, as River's `Metrics` does, but without a weight it cannot take."""
    for metric in group:
        wants_label = isinstance(y_pred, dict) and getattr(metric, "requires_labels", True)
        prediction = max(y_pred, key=y_pred.__getitem__) if wants_label else y_pred
        if metric.works_with_weights:
            metric.update(y_true, prediction, w)
        else:
            metric.update(y_true, prediction)
