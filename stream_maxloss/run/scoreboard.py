"""Scores of one model: so far, since the last report, of the constant prediction, and by slice."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.described import ArrayOf, check_state
from stream_maxloss.evaluate.engine import as_list
from stream_maxloss.evaluate.progress import Scores
from stream_maxloss.metrics import SliceReport, metric_state, restore_metric, update_metric_many, update_twins_many
from stream_maxloss.metrics.class_rows import ClassRows, update_classes_many
from stream_maxloss.metrics.standing import value_of
from stream_maxloss.run.baseline import Baseline, LastLabel
from stream_maxloss.run.metrics import metric_names
from stream_maxloss.state import join_parts, part_of

if TYPE_CHECKING:
    from stream_maxloss.evaluate import Scored

__all__ = ["BLOCK_ROWS", "Scoreboard"]

BLOCK_ROWS = 16384
"""Rows that the metrics take at once. Their sums then round alike however the rows came."""

FEWEST_ROWS = 100
"""Rows below which nothing is said about the model being no better than what ignores the features."""

COLUMNS = ("y_true", "y_pred", "probabilities")


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
    >>> from stream_maxloss.run.scoreboard import Scoreboard
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
        takes_labels = getattr(metrics[0], "requires_labels", True)
        self._last = LastLabel(copy.deepcopy(metrics[0])) if takes_labels else None

    @property
    def asks_labels(self) -> bool:
        """Whether the metrics want labels rather than probabilities."""
        return self._asks_labels

    @property
    def slice_by(self) -> str | None:
        """The slice column."""
        return None if self._slices is None else self._slices.by

    def add(self, scored: Scored, slices: Any = None) -> None:
        """Take in a batch of rows."""
        self.rows += len(scored.y_true)
        if scored.classes is not None and set(truth := as_list(scored.y_true)) <= set(scored.classes):
            self._add_classes(truth, scored, slices)
            return
        if scored.answers is not None:
            for row, (label, answer) in enumerate(zip(as_list(scored.y_true), scored.answers, strict=True)):
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

    def _add_classes(self, truth: list[Any], scored: Scored, slices: Any) -> None:
        """Take in rows of several classes, to the bit as `_add_row` would, so that no row has to wait."""
        if self._last is not None:
            for label in truth:
                self._last.take_one(label)
        update_classes_many((self._constant,), self._baseline.predict_classes(truth).answered())
        said, classes = np.asarray(scored.probabilities), scored.classes or ()
        rows = ClassRows(truth, as_list(scored.y_pred), said, classes)
        has_answer = np.flatnonzero(said.any(axis=1)) if said.shape[1] else np.empty(0, dtype=np.int64)
        answered = rows if len(has_answer) == len(rows) else rows.part(has_answer)
        update_classes_many((self._total, self._since), answered)
        if self._slices is not None:
            self._slices.update_classes([slices[row] for row in has_answer.tolist()], answered)

    def _add_row(self, label: Any, answer: Any, slice_value: Any) -> None:
        if self._last is not None:
            self._last.take_one(label)
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
            parts = (self._total, self._since, self._constant, self._baseline, self._slices, self._last)
            feed(*parts, block, self._reported_rows)
            self._reported_rows = max(0, self._reported_rows - BLOCK_ROWS)
            first += BLOCK_ROWS
        self._waiting_rows -= first
        rest = {name: cut(column, first, None) for name, column in columns.items()}
        self._waiting = {name: [] if c is None or not len(c) else [c] for name, c in rest.items()}

    def _current(self) -> tuple[Any, Any, Any, Baseline, SliceReport | None, LastLabel | None]:
        """Return all metrics with the waiting rows taken in, without changing them."""
        parts = (self._total, self._since, self._constant, self._baseline, self._slices, self._last)
        if not self._waiting_rows:
            return parts
        parts = copy.deepcopy(parts)
        feed(*parts, self._joined(), self._reported_rows)
        return parts

    def scores(self) -> dict[str, Scores]:
        """Return the value of each metric by name."""
        return self.summary()[0]

    def slices(self) -> dict[str, Any] | None:
        """Return the report by slice, or None."""
        return self.summary()[1]

    def summary(self) -> tuple[dict[str, Scores], dict[str, Any] | None]:
        """Return what `scores` and `slices` do, at the price of one."""
        return self.standing()[:2]

    def standing(self) -> tuple[dict[str, Scores], dict[str, Any] | None, str | None]:
        """Return scores, slices and, where the model is no better than what ignores the features, a line about it."""
        total, since, constant, _, report, last = self._current()
        values = zip(self.names, total, since, constant, strict=True)
        scores = {name: Scores(*(value_of(part) for part in parts)) for name, *parts in values}
        line = self._no_better(scores[self.names[0]], None if last is None else last.get())
        return scores, None if report is None else report.get(), line

    def totals(self) -> dict[str, Any]:
        """Return the state of the metrics over all rows, of the constant prediction, and of the slices or None."""
        total, _, constant, _, report, _ = self._current()
        slices = None if report is None else report.state_dict()
        return {"total": metric_state(total), "constant": metric_state(constant), "slices": slices}

    def slice_table(self, most: int | None = None) -> str | None:
        """Return the report by slice as a table with the rule that names the worst, or None."""
        report = self._current()[4]
        return None if report is None else "\n".join([report.table(most), report.rule, *report.verdict()])

    def _no_better(self, score: Scores, last: float | None) -> str | None:
        others = {"the same prediction for every row": score.baseline}
        if last is not None:
            others["the label of the row before"] = last
        sign = 1.0 if self._blank[0].bigger_is_better else -1.0
        if self.rows < FEWEST_ROWS or score.total != score.total:
            return None
        found = [(sign * value, what, value) for what, value in others.items() if sign * value >= sign * score.total]
        if not found:
            return None
        _, what, value = max(found)
        return f"no better than {what}: {self.names[0]} {score.total:.4f}, against {value:.4f} for that"

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
        if self._last is not None:
            parts["last"] = self._last.state_dict()
        if self._slices is not None:
            parts["slices"] = self._slices.state_dict()
        waiting = self._joined()
        names = waiting.pop("slices")
        parts["waiting"] = {name: column for name, column in waiting.items() if column is not None}
        state["waiting_slices"] = None if names is None else names.tolist()
        state["waiting_columns"] = sorted(parts["waiting"])
        return state | join_parts(parts)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over what `state_dict` of an equally configured board returned."""
        self.rows, self._waiting_rows = int(state["rows"]), int(state["waiting_rows"])
        self._reported_rows = int(state["reported_rows"])
        for prefix, metric in (("total", self._total), ("since", self._since), ("constant", self._constant)):
            restore_metric(metric, part_of(state, prefix))
        self._baseline.load_state_dict(part_of(state, "baseline"))
        last = part_of(state, "last")
        if not last:  # of before there was one: it could not know the rows that it has missed
            self._last = None
        elif self._last is not None:
            self._last.load_state_dict(last)
        if self._slices is not None:
            self._slices.load_state_dict(part_of(state, "slices"))
        waiting = part_of(state, "waiting")
        if sorted(waiting) != state.get("waiting_columns", sorted(waiting)):
            raise ValueError(f"waiting rows must have {state['waiting_columns']}, got {sorted(waiting)}")
        self._take_waiting(waiting, state["waiting_slices"])

    def _take_waiting(self, waiting: dict[str, Any], slices: list[Any] | None) -> None:
        rows, kind = self._waiting_rows, "bool" if self._baseline.is_classifier else "float64"
        if not 0 <= self._reported_rows <= rows:
            raise ValueError(f"reported_rows must be at most the {rows} that wait, got {self._reported_rows}")
        if rows:
            expected = {name: ArrayOf(kind, (rows,), finite=False) for name in ("y_true", "y_pred")}
            if "probabilities" in waiting:
                expected["probabilities"] = ArrayOf("float64", (rows,), finite=False)
            check_state(waiting, expected)
        if len(slices or ()) != (rows if self._slices is not None else 0):
            raise ValueError(f"waiting_slices must be of the {rows} rows that wait, got {len(slices or ())}")
        self._waiting = {name: [waiting[name]] if rows and name in waiting else [] for name in COLUMNS}
        self._waiting["slices"] = [np.array(slices, dtype=object)] if slices else []


def feed(
    total: Any,
    since: Any,
    constant: Any,
    baseline: Baseline,
    slices: SliceReport | None,
    last: LastLabel | None,
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
    if last is not None:
        last.take_many(truth)
    if slices is not None:
        slices.update_many(block["slices"], truth, guess, shares)


def cut(column: NDArray[Any] | None, first: int, last: int | None) -> NDArray[Any] | None:
    """Return some rows of a column that may be missing."""
    return None if column is None else column[first:last]
