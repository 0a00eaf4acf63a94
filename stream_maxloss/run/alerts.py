"""Conditions on how a run stands, and when they have held for long enough."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from stream_maxloss.described import UNFIT, check_count
from stream_maxloss.errors import CheckpointError, UsageError
from stream_maxloss.run.closest import closest

if TYPE_CHECKING:
    from stream_maxloss.evaluate import Progress

__all__ = ["Alert", "Alerts", "Condition", "parse_condition"]

COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
FORM = re.compile(r"\s*(?P<subject>.+?)\s*(?P<how><=|>=|<|>)\s*(?P<bound>[^\s<>=]+)(?:\s+for\s+(?P<rows>\d+))?\s*")
NUMBERS = ("bad", "lag", "rate", "waiting", "expired", "unknown", "doubled")
LOOK_ROWS = 1000
"""Conditions are looked at after so many rows, or more often where they are to hold for fewer."""


@dataclass(frozen=True)
class Condition:
    """Something that should not be.

    Parameters
    ----------
    text
        As the user wrote it.
    place
        `total`, `since_last`, `worst_slice`, `slice` or `run`.
    name
        The metric, or what of the run.
    slice
        The slice, where the place is one.
    how, bound
        The comparison.
    rows
        For how many rows it must have held.

    """

    text: str
    place: str
    name: str
    slice: str | None
    how: str
    bound: float
    rows: int

    def holds(self, progress: Progress, report: dict[str, Any] | None) -> tuple[bool, float | None]:
        """Return whether it holds, and the value; a value that is not defined fulfils nothing."""
        value = self._value(progress, report)
        return value is not None and value == value and bool(COMPARISONS[self.how](value, self.bound)), value

    def _value(self, progress: Progress, report: dict[str, Any] | None) -> float | None:
        if self.place == "run":
            own = {"bad": progress.bad, "lag": progress.lag, "rate": progress.recent_rate, **progress.labels}
            found = own.get(self.name)
            return None if found is None else float(found)
        if self.place in ("total", "since_last"):
            return float(getattr(progress.scores[self.name], self.place))
        if report is None:
            return None
        name = report["worst"] if self.place == "worst_slice" else self.slice
        value = report["slices"].get(name, {}).get(self.name)
        return None if value is None else float(value)


def parse_condition(text: str, metrics: Sequence[str], has_slices: bool) -> Condition:
    """Return the condition that a text stands for.

    Parameters
    ----------
    text
        For instance `worst_slice.Recall<0.5 for 10000`. On its left: a metric (`Accuracy`), over the rows since the
        last report (`since_last.Accuracy`), on the worst slice or on one by name (`slice.web.Accuracy`); or of the run
        `bad`, `lag`, `rate`, and with labels that come later `waiting`, `expired`, `unknown`, `doubled`.
    metrics
        Names of the metrics of the run.
    has_slices
        Whether there are slices.

    Raises
    ------
    UsageError
        If it stands for none.

    Examples
    --------
    >>> from stream_maxloss.run.alerts import parse_condition
    >>> found = parse_condition("worst_slice.recall < 0.5 for 10000", ["Recall"], True)
    >>> found.place, found.name, found.how, found.bound, found.rows
    ('worst_slice', 'Recall', '<', 0.5, 10000)

    """
    match = FORM.fullmatch(text)
    try:
        bound = float(match["bound"].rstrip("%")) / (100.0 if match["bound"].endswith("%") else 1.0) if match else None
    except ValueError:
        bound = None
    if match is None or bound is None or bound != bound:  # nothing is less or more than NaN
        raise UsageError(f"--alert must be like 'worst_slice.Recall<0.5 for 10000', got {text!r}")
    subject, how, rows = match["subject"], match["how"], int(match["rows"] or 0)
    if subject in NUMBERS:
        return Condition(text, "run", subject, None, how, bound, rows)
    first, dot, rest = subject.partition(".")
    place = first if dot and first in ("since_last", "worst_slice", "slice") else "total"
    named, metric = rest.rpartition(".")[::2] if place == "slice" else (None, rest if place != "total" else subject)
    known = {name.lower(): name for name in metrics}
    if metric.lower() not in known:
        raise UsageError(f"--alert {text!r} must name a metric of the run, got {metric!r}; {closest(metric, metrics)}")
    if place in ("worst_slice", "slice") and not has_slices:
        raise UsageError(f"--alert {text!r} must come with --slice-by COLUMN; there are no slices without")
    return Condition(text, place, known[metric.lower()], named, how, bound, rows)


@dataclass(frozen=True)
class Alert:
    """A condition that has come to hold for long enough, or does so no longer.

    Parameters
    ----------
    condition, value
        What, and what was measured.
    rows, since
        Rows of the run by now, and by when it began to hold.
    is_over
        Whether it has stopped to hold.

    """

    condition: Condition
    value: float | None
    rows: int
    since: int
    is_over: bool = False

    @property
    def line(self) -> str:
        """What to say."""
        shown = "undefined" if self.value is None or self.value != self.value else f"{self.value:.4f}"
        if self.is_over:
            return f"alert over: {self.condition.text}: {shown} at row {self.rows:,}"
        return f"alert: {self.condition.text}: {shown} at row {self.rows:,}, so since row {self.since:,}"


@dataclass
class Alerts:
    """Watches conditions: each one raises an alert once, when it has held for its rows, and is over when it ends."""

    conditions: Sequence[Condition]
    _since: dict[str, int] = field(default_factory=dict)
    _raised: set[str] = field(default_factory=set)
    _looked_at: int = 0

    def next_row(self) -> int | None:
        """Return the row count at which conditions are to be looked at next; None where there are none."""
        spans = [max(1, condition.rows // 10) for condition in self.conditions if condition.rows]
        return self._looked_at + min([LOOK_ROWS, *spans]) if self.conditions else None

    def is_due(self, rows: int) -> bool:
        """Return whether conditions are to be looked at, at a row count."""
        due = self.next_row()
        return due is not None and rows >= due

    @property
    def active(self) -> list[str]:
        """The conditions that hold, and have for long enough."""
        return [condition.text for condition in self.conditions if condition.text in self._raised]

    def check(self, progress: Progress, report: dict[str, Any] | None) -> list[Alert]:
        """Return the alerts that begin or end."""
        self._looked_at = progress.rows
        found = []
        for condition in self.conditions:
            holds, value = condition.holds(progress, report)
            if holds:
                since = self._since.setdefault(condition.text, progress.rows)
                if progress.rows - since >= condition.rows and condition.text not in self._raised:
                    self._raised.add(condition.text)
                    found.append(Alert(condition, value, progress.rows, since))
            else:
                since = self._since.pop(condition.text, progress.rows)
                if condition.text in self._raised:
                    self._raised.discard(condition.text)
                    found.append(Alert(condition, value, progress.rows, since, is_over=True))
        return found

    def state_dict(self) -> dict[str, Any]:
        """Return the state as plain values."""
        return {"since": dict(self._since), "raised": sorted(self._raised), "looked_at": self._looked_at}

    def load_state_dict(self, state: Any) -> None:
        """Take over what `state_dict` returned, or nothing from a checkpoint without; conditions may come and go.

        Raises
        ------
        CheckpointError
            If it is something else.

        """
        if state is None:
            return
        known = {condition.text for condition in self.conditions}
        try:
            since = {str(text): check_count(row) for text, row in state["since"].items()}
            self._since = {text: row for text, row in since.items() if text in known}
            self._raised = {text for text in map(str, state["raised"]) if text in known}
            self._looked_at = check_count(state["looked_at"])
        except UNFIT as error:
            raise CheckpointError(f"the alerts of a checkpoint must be ones, got {error!r}; use another one") from error
