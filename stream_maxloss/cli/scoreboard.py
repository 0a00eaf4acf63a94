"""Scores of one model: so far, since the last report, of the constant prediction, and by slice."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.cli.baseline import Baseline
from stream_maxloss.cli.metrics_option import metric_names
from stream_maxloss.metrics import SliceReport, metric_state, restore_metric, update_metric_many, update_twins_many

if TYPE_CHECKING:
    from stream_maxloss.evaluate import Scored

__all__ = ["BLOCK_ROWS", "Scoreboard", "Scores"]

BLOCK_ROWS = 16384
"""Rows that the metrics take at once. Their sums then round alike however the rows came."""

COLUMNS = ("y_true", "y_pred", "probabilities")


@dataclass(frozen=True)
class Scores:
    """The value of one metric.

    Parameters
    ----------
    total, since_last, baseline
        Over all rows, over those since the last report, and what the constant prediction scores over all rows.

    """

    total: float
    since_last: float
    baseline: float


class Scoreboard:
    """Takes in what a model said of each row.

    Rows that come as arrays are fed to the metrics in blocks of a fixed number of rows, counted from the first one;
    what is left over waits here, and is part of the state. So the scores of a run that was stopped and resumed are
    those of one that was not, bit for bit.

    Parameters
    ----------
    metrics
        A `river.metrics.base.Metrics`, not yet used.
    is_classifier
        Whether the model predicts labels.
    slice_by
        Name of the slice column, or None.
    min_support
        Rows that a slice needs to be called the worst.

    Examples
    --------
    >>> import numpy as np
    >>> from river import metrics
    >>> from river.metrics.base import Metrics
    >>> from stream_maxloss.cli.scoreboard import Scoreboard
    >>> from stream_maxloss.evaluate import Scored
    >>> board = Scoreboard(Metrics([metrics.Accuracy()]), is_classifier=True)
    >>> truth, guess = np.array([True, False, False]), np.array([True, False, True])
    >>> board.add(Scored(truth, guess, guess.astype(float)))
    >>> board.scores()
    {'Accuracy': Scores(total=0.66..., since_last=0.66..., baseline=0.33...)}

    """

    def __init__(self, metrics: Any, is_classifier: bool, slice_by: str | None = None, min_support: int = 30) -> None:
        self.names = metric_names(metrics)
        self.rows = 0
        self._blank = copy.deepcopy(metrics)
        self._total = metrics
        self._since = copy.deepcopy(metrics)
        self._constant = copy.deepcopy(metrics)
        self._baseline = Baseline(is_classifier)
        self._slices = None if slice_by is None else SliceReport(self._blank, slice_by, min_support=min_support)
        self._waiting: dict[str, list[NDArray[Any]]] = {name: [] for name in (*COLUMNS, "slices")}
        self._waiting_rows = 0
        self._reported_rows = 0  # how many of the waiting rows the last report has shown already
        # Metrics of regressors do not say, and take values.
        self._asks_labels = all(getattr(part, "requires_labels", True) for part in metrics)

    @property
    def asks_labels(self) -> bool:
        """Whether the metrics want labels rather than probabilities."""
        return self._asks_labels

    @property
    def slice_by(self) -> str | None:
        """The slice column."""
        return None if self._slices is None else self._slices.by

    def add(self, scored: Scored, slices: NDArray[np.object_] | None = None) -> None:
        """Take in a batch of rows."""
        self.rows += len(scored.y_true)
        if scored.answers is not None:
            for row, (label, answer) in enumerate(zip(scored.y_true.tolist(), scored.answers, strict=True)):
                self._add_row(label, answer, None if slices is None else slices[row])
            return
        for name in COLUMNS:
            if (column := getattr(scored, name)) is not None:
                self._waiting[name].append(column)
        if slices is not None:
            self._waiting["slices"].append(slices)
        self._waiting_rows += len(scored.y_true)
        if self._waiting_rows >= BLOCK_ROWS:
            self._feed_blocks()

    def add_row(self, label: Any, answer: Any, slice_value: Any = None) -> None:
        """Take in one row with what the model returned for it."""
        self.rows += 1
        self._add_row(label, answer, slice_value)

    def _add_row(self, label: Any, answer: Any, slice_value: Any) -> None:
        constant = self._baseline.predict_one(label, self._asks_labels)
        if constant is not None:
            self._constant.update(label, constant)
        if answer is None or answer == {}:
            return  # as in River: a model that has no answer yet is not scored
        self._total.update(label, answer)
        self._since.update(label, answer)
        if self._slices is not None:
            self._slices.update(slice_value, label, answer)

    def _joined(self) -> dict[str, NDArray[Any] | None]:
        return {
            name: None if not parts else parts[0] if len(parts) == 1 else np.concatenate(parts)
            for name, parts in self._waiting.items()
        }

    def _feed_blocks(self) -> None:
        columns = self._joined()
        first = 0
        while self._waiting_rows - first >= BLOCK_ROWS:
            block = {name: cut(column, first, first + BLOCK_ROWS) for name, column in columns.items()}
            feed(self._total, self._since, self._constant, self._baseline, self._slices, block, self._reported_rows)
            self._reported_rows = max(0, self._reported_rows - BLOCK_ROWS)
            first += BLOCK_ROWS
        self._waiting_rows -= first
        rest = {name: cut(column, first, None) for name, column in columns.items()}
        self._waiting = {name: [] if c is None or not len(c) else [c] for name, c in rest.items()}

    def _current(self) -> tuple[Any, Any, Any, SliceReport | None]:
        """Return all metrics with the waiting rows taken in, without changing them."""
        if not self._waiting_rows:
            return self._total, self._since, self._constant, self._slices
        parts = copy.deepcopy((self._total, self._since, self._constant, self._baseline, self._slices))
        feed(*parts, self._joined(), self._reported_rows)
        return parts[0], parts[1], parts[2], parts[4]

    def scores(self) -> dict[str, Scores]:
        """Return the value of each metric by name."""
        return self.summary()[0]

    def slices(self) -> dict[str, Any] | None:
        """Return the report by slice, or None."""
        return self.summary()[1]

    def summary(self) -> tuple[dict[str, Scores], dict[str, Any] | None]:
        """Return what `scores` and `slices` do, at the price of one."""
        total, since, constant, report = self._current()
        values = zip(self.names, total, since, constant, strict=True)
        scores = {name: Scores(*(float(part.get()) for part in parts)) for name, *parts in values}
        return scores, None if report is None else report.get()

    def slice_table(self) -> str | None:
        """Return the report by slice as a table, or None."""
        report = self._current()[3]
        return None if report is None else str(report)

    def restart_since(self) -> None:
        """Let 'since the last report' begin anew."""
        self._since = copy.deepcopy(self._blank)
        self._reported_rows = self._waiting_rows

    def state_dict(self) -> dict[str, Any]:
        """Return everything as arrays and plain values."""
        state: dict[str, Any] = {"rows": self.rows, "waiting_rows": self._waiting_rows}
        state["reported_rows"] = self._reported_rows
        parts = {"total": metric_state(self._total), "since": metric_state(self._since)}
        parts |= {"constant": metric_state(self._constant), "baseline": self._baseline.state_dict()}
        if self._slices is not None:
            parts["slices"] = self._slices.state_dict()
        waiting = self._joined()
        names = waiting.pop("slices")
        parts["waiting"] = {name: column for name, column in waiting.items() if column is not None}
        state["waiting_slices"] = None if names is None else names.tolist()
        for prefix, part in parts.items():
            state.update({f"{prefix}.{key}": value for key, value in part.items()})
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over what `state_dict` of an equally configured board returned."""
        self.rows, self._waiting_rows = int(state["rows"]), int(state["waiting_rows"])
        self._reported_rows = int(state["reported_rows"])
        for prefix, metric in (("total", self._total), ("since", self._since), ("constant", self._constant)):
            restore_metric(metric, part_of(state, prefix))
        self._baseline.load_state_dict(part_of(state, "baseline"))
        if self._slices is not None:
            self._slices.load_state_dict(part_of(state, "slices"))
        waiting = part_of(state, "waiting")
        self._waiting = {name: [waiting[name]] if name in waiting else [] for name in COLUMNS}
        names = state["waiting_slices"]
        self._waiting["slices"] = [] if names is None else [np.array(names, dtype=object)]


def feed(
    total: Any,
    since: Any,
    constant: Any,
    baseline: Baseline,
    slices: SliceReport | None,
    block: dict[str, Any],
    reported: int,
) -> None:
    """Feed one block of rows to all metrics; the first `reported` of them are not new since the last report."""
    truth, guess, shares = (block[name] for name in COLUMNS)
    if reported:
        update_metric_many(total, truth, guess, shares)
        update_metric_many(since, truth[reported:], cut(guess, reported, None), cut(shares, reported, None))
    else:
        update_twins_many((total, since), truth, guess, shares)
    update_metric_many(constant, truth, *baseline.predict_many(truth))
    if slices is not None:
        slices.update_many(block["slices"], truth, guess, shares)


def cut(column: NDArray[Any] | None, first: int, last: int | None) -> NDArray[Any] | None:
    """Return some rows of a column that may be missing."""
    return None if column is None else column[first:last]


def part_of(state: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Return the entries under a dotted prefix, without it."""
    start = f"{prefix}."
    return {key.removeprefix(start): value for key, value in state.items() if key.startswith(start)}
