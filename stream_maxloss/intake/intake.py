"""`Intake`: columns as they come, turned into features that a learner takes."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from river import base

from stream_maxloss.errors import RowError
from stream_maxloss.intake.conversion import MUST, convert
from stream_maxloss.intake.dates import Clock
from stream_maxloss.intake.nested import flatten, flatten_row
from stream_maxloss.intake.numbers import is_counter, number_share
from stream_maxloss.intake.plan import KEY, ColumnPlan, is_text, plan_column
from stream_maxloss.intake.text import MOST_WORDS, Vocabulary
from stream_maxloss.intake.types import TYPES, Wish, parse_schema
from stream_maxloss.rows.dicts import frame_to_dicts
from stream_maxloss.rows.frame import to_record_batch

__all__ = ["Intake", "note_of"]

PANDAS_INDEX = re.compile(r"__index_level_\d+__")
"""How pandas calls an index without a name in the files that it writes."""

MOSTLY = 0.8
"""Share of numbers among texts from which on it is worth a word that they are taken as texts."""

NUMBERS = (int, float, np.number, np.bool_)


class Intake(base.Transformer):
    """Turns columns as they come into features: dates, free text, nested rows, lists, decimals, durations.

    What becomes of a column is decided once and never changes: from its type, from what `schema` says, and, where
    `settle` has seen the first rows, from their values. Then

    - a date is the hour, the weekday and the day of the year as sine and cosine, and the seconds since the last other
      time;
    - free text is its words, each a feature `column=word`, and its length;
    - objects inside objects are columns with dots in their names, `user.id`;
    - lists of texts are a feature for each text; lists of numbers one for each place, or length, mean, min and max
      where their lengths differ;
    - decimals and durations are numbers, a time of day is a cycle.

    Numbers, booleans and other text stay as they are. What nothing can learn from is left out; `notes` says it.

    Parameters
    ----------
    dates
        Columns that are dates, also where they come as text. None: all of a date's type, and those that `settle` finds;
        empty: none, and columns of dates are left out.
    text
        Columns of free text. None: those that `settle` finds; empty: none.
    schema
        Types by column, as `parse_schema` returns them, or as text for it.

    Examples
    --------
    >>> from datetime import datetime
    >>> from stream_maxloss.intake import Intake
    >>> from stream_maxloss.linear import Perceptron
    >>> model = Intake(text=["note"]) | Perceptron()
    >>> model.learn_one({"note": "Call NOW", "at": datetime(2026, 11, 17, 6), "user": {"age": 30}}, True)
    >>> model.predict_one({"note": "call me", "at": datetime(2026, 11, 18, 6), "user": {"age": 31}})
    True

    Both speeds give the same features:

    >>> intake = Intake(text=["note"])
    >>> intake.transform_one({"note": "Call NOW", "user": {"age": 30}})
    {'note': ['call', 'now'], 'note.length': 8.0, 'user.age': 30}

    """

    def __init__(
        self,
        dates: Sequence[str] | None = None,
        text: Sequence[str] | None = None,
        schema: Mapping[str, Wish] | str | None = None,
    ) -> None:
        self.dates = dates
        self.text = text
        self.schema = schema
        self._wishes = wishes_of(dates, text, schema)
        self._plans: dict[str, ColumnPlan] = {}
        self._states: dict[str, Clock | Vocabulary] = {}
        self._counters: list[str] = []
        self._odd: dict[str, float] = {}

    @property
    def plans(self) -> dict[str, ColumnPlan]:
        """What becomes of each column that was seen."""
        return dict(self._plans)

    @property
    def wishes(self) -> dict[str, Wish]:
        """What the user says of columns."""
        return dict(self._wishes)

    @property
    def notes(self) -> list[str]:
        """What a user should know of columns that are left out, and of those that look like keys."""
        left_out = [note_of(name, plan) for name, plan in self._plans.items() if plan.kind == "none"]
        return [*left_out, *map(counter_note, self._counters), *map(odd_note, self._odd, self._odd.values())]

    def settle(self, head: Any, find_text: bool = True) -> None:
        """Decide from the first rows what becomes of each column that is still undecided.

        Parameters
        ----------
        head
            A frame of the first rows.
        find_text
            Whether to look for free text.

        """
        rows = flatten(batch_of(head))
        undecided = [name for name in rows.schema.names if name not in self._plans and name not in self._wishes]
        self._decide(rows, True, find_text)
        self._counters = [
            name for name in undecided if self._plans[name].kind == "number" and is_counter(rows.column(name))
        ]
        texts = [name for name in undecided if is_text(rows.schema.field(name).type)]
        texts = [name for name in texts if self._plans[name].kind in ("category", "none", "text")]
        shares = {name: number_share(rows.column(name)) for name in texts}
        self._odd = {name: share for name, share in shares.items() if share >= MOSTLY}

    def _decide(self, batch: pa.RecordBatch, by_values: bool, find_text: bool = True) -> None:
        find_text, find_dates = find_text and self.text is None, self.dates is None
        for name, array in zip(batch.schema.names, batch.columns, strict=True):
            if name not in self._plans and (by_values or not pa.types.is_null(array.type)):
                wish = self._wishes.get(name)
                if wish is None and self.dates and pa.types.is_temporal(array.type):
                    # Others were chosen.
                    self._plans[name] = plan_column(array, None, False, False, name in self.dates)
                    continue
                if wish is None and (name == "" or PANDAS_INDEX.fullmatch(name)):
                    what = "it has no name, as the numbers of a frame's rows have none"
                    self._plans[name] = ColumnPlan("none", "it is the index of a pandas frame" if name else what)
                    continue
                self._plans[name] = plan_column(array, wish, by_values, find_text, find_dates, name)

    def _state_of(self, name: str, plan: ColumnPlan) -> Clock | Vocabulary | None:
        if plan.kind not in ("date", "text", "texts"):
            return None
        if name not in self._states:
            self._states[name] = Clock() if plan.kind == "date" else Vocabulary()
        return self._states[name]

    def apply(self, batch: pa.RecordBatch, learn: bool) -> tuple[pa.RecordBatch, dict[int, str]]:
        """Return the features of some rows, and what is wrong with each row that has a cell that does not fit.

        Parameters
        ----------
        batch
            The rows.
        learn
            Whether to go on from them: the times of the last rows, and words that were seen.

        """
        batch = flatten(batch)
        if any(name not in self._plans for name in batch.schema.names):
            self._decide(batch, False)
        plans = [self._plans.get(name, ColumnPlan("number")) for name in batch.schema.names]
        arrays: dict[str, Any] = {}
        wrong: dict[int, str] = {}
        for name, array, plan in zip(batch.schema.names, batch.columns, plans, strict=True):
            if plan.kind == "none":
                continue
            columns, bad = convert(name, array, plan, self._state_of(name, plan), learn)
            arrays.update((new, values) for new, values in columns.items() if new not in arrays)
            if bad is not None:
                for row in np.flatnonzero(bad).tolist():
                    wrong.setdefault(row, reason_for(name, plan, array[row].as_py()))
        if not arrays:
            return batch.select([]), wrong
        return pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays)), wrong

    def learn_one(self, x: dict[Hashable, Any]) -> None:
        """Take in a row: the time of the last row, and its words."""
        self._apply_one(x, learn=True)

    def transform_one(self, x: dict[Hashable, Any]) -> dict[Hashable, Any]:
        """Return the features of a row."""
        return self._apply_one(x, learn=False)

    def _stays(self, name: str, value: Any) -> bool:
        """Return whether a value is a feature as it is."""
        plan = self._plans.get(name)
        if plan is None:
            return name not in self._wishes and (value is None or isinstance(value, (str, *NUMBERS)))
        if plan.kind in ("number", "flag"):
            return value is None or isinstance(value, NUMBERS)
        return plan.kind == "category" and (value is None or isinstance(value, str))

    def _apply_one(self, x: dict[Hashable, Any], learn: bool) -> dict[Hashable, Any]:
        flat = flatten_row(x)
        mine = {name: value for name, value in flat.items() if isinstance(name, str) and not self._stays(name, value)}
        others = {name: value for name, value in flat.items() if name not in mine and value is not None}
        if not mine:
            return others
        try:
            batch = pa.RecordBatch.from_pylist([mine])
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
            raise TypeError(f"a row must hold values that Arrow knows, got {mine!r:.200}: {error}") from error
        features, wrong = self.apply(batch, learn)
        if wrong:
            raise ValueError(f"{wrong[0]}; convert it or leave it out")
        made = next(frame_to_dicts(features), {}) if features.num_columns else {}
        return in_order(flat, others, made)

    def learn_many(self, X: Any) -> None:
        """Take in the rows of a frame."""
        self.apply(batch_of(X), learn=True)

    def transform_many(self, X: Any) -> Any:
        """Return the features of the rows of a frame, as an Arrow record batch.

        Raises
        ------
        RowError
            If a cell does not fit its column.

        """
        features, wrong = self.apply(batch_of(X), learn=False)
        for row, reason in wrong.items():
            raise RowError(row, f"row {row}: {reason}; convert it or leave it out")
        return features

    def state_dict(self) -> dict[str, Any]:
        """Return plans, last times and words as JSON."""
        return {
            "wishes": {name: list(wish) for name, wish in self._wishes.items()},
            "plans": {name: plan.state_dict() for name, plan in self._plans.items()},
            "states": {name: state.state_dict() for name, state in self._states.items()},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned.

        Raises
        ------
        ValueError
            If it is no such state.

        """
        plans = {str(name): ColumnPlan.load(plan) for name, plan in state["plans"].items()}
        states = {name: load_state(plans[name].kind, saved) for name, saved in state["states"].items()}
        wishes = {str(name): checked_wish(wish) for name, wish in state["wishes"].items()}
        self._plans, self._states, self._wishes = plans, states, wishes


def counter_note(name: str) -> str:
    """Return what a user should know of a column that counts the rows."""
    return f"column {name!r} counts the rows; if it is a key, --key {name} keeps it from being learned"


def odd_note(name: str, share: float) -> str:
    """Return what a user should know of texts that are numbers but for a few."""
    return (
        f"column {name!r} is text, though {share:.0%} of its values are numbers; "
        f"--schema {name}:number learns it as such, and the rest are bad records"
    )


def note_of(name: str, plan: ColumnPlan) -> str:
    """Return what a user should know of a column that is left out."""
    if not name:
        return f"a column is left out: {plan.detail}; a name in the header takes it in"
    if plan.detail == KEY:
        return f"column {name!r} is left out: {plan.detail}; --key {name} keeps it, --schema {name}:category learns it"
    remedy = f"--dates {name}" if "date" in plan.detail else f"--schema {name}:TYPE"
    return f"column {name!r} is left out: {plan.detail or 'as you say'}; {remedy} takes it in"


def wishes_of(
    dates: Sequence[str] | None, text: Sequence[str] | None, schema: Mapping[str, Wish] | str | None
) -> dict[str, Wish]:
    """Return what the user says of each column."""
    found = parse_schema(schema) if isinstance(schema, str) else dict(schema or {})
    for kind, names in (("date", dates), ("text", text)):
        for name in names or ():
            found.setdefault(name, (kind, None))
    return found


def checked_wish(wish: Any) -> Wish:
    """Return a wish as a checkpoint has it."""
    kind, form = wish
    if kind not in TYPES or not (form is None or isinstance(form, str)):
        raise ValueError(f"the type of a column must be one of {', '.join(TYPES)}, got {kind!r:.50}")
    return kind, form


def load_state(kind: str, saved: Any) -> Clock | Vocabulary:
    """Return the state of a column as a checkpoint has it."""
    if kind == "date":
        if len(saved) != 2 or not all(time is None or (type(time) is int and abs(time) < 1 << 62) for time in saved):
            raise ValueError(f"the last times of a column must be two numbers, got {saved!r:.50}")
        return Clock(*saved)
    if not isinstance(saved, list) or len(saved) > MOST_WORDS or not all(isinstance(word, str) for word in saved):
        raise ValueError(f"the words of a column must be at most {MOST_WORDS} texts")
    return Vocabulary(saved)


def in_order(flat: Mapping[Any, Any], others: Mapping[Any, Any], made: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return features in the order of the columns that they come from."""
    ordered: dict[Any, Any] = {}
    for name in flat:
        if name in others:
            ordered[name] = others[name]
        prefix = f"{name}."
        ordered.update((new, value) for new, value in made.items() if new == name or str(new).startswith(prefix))
    return ordered


def batch_of(frame: Any) -> pa.RecordBatch:
    """Return a frame as one record batch."""
    return to_record_batch(frame)[1]


def reason_for(name: str, plan: ColumnPlan, value: Any) -> str:
    """Return what is wrong with a cell."""
    must = (
        f"a list of {plan.detail} numbers" if plan.kind == "numbers" and plan.detail else MUST.get(plan.kind, plan.kind)
    )
    shown = repr(value)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    form = f" like {plan.detail}" if plan.kind in ("date", "time") and "%" in plan.detail else ""
    return f"column {name!r} must be {must}{form}, got {shown}"
