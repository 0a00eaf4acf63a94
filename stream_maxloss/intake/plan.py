"""What becomes of a column: decided once, from its type, its first values and what the user says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from stream_maxloss.intake.dates import EPOCHS, find_epoch, find_format, find_time_format, is_named_like_a_time
from stream_maxloss.intake.lists import LONGEST, common_length, is_list, is_number_list
from stream_maxloss.intake.numbers import find_decimal_mark
from stream_maxloss.intake.text import is_prose
from stream_maxloss.intake.types import Wish
from stream_maxloss.rows.text_lists import is_text_list

__all__ = ["ColumnPlan", "is_number", "is_text", "plan_column"]

KINDS = ("number", "category", "text", "date", "time", "duration", "flag", "numbers", "texts", "sparse", "raw", "none")


@dataclass(frozen=True)
class ColumnPlan:
    """What becomes of a column.

    Parameters
    ----------
    kind
        `number`, `flag`, `category`, `text`, `date` (of a day or an instant), `time` (of day), `duration`, `numbers`
        and `texts` (lists), `sparse` (a map of names to numbers), `raw`, or `none`.
    detail
        The format of a date or time that comes as text, the unit of one that comes as a number (`epoch ms`); the
        decimal mark of numbers that come as text; the length of lists of numbers; why a column is left out.
    has_hours
        Whether a date has a time of day.

    """

    kind: str
    detail: str = ""
    has_hours: bool = False

    def describe(self) -> str:
        """Return what a learner gets, in a few words."""
        if self.kind == "date":
            return ("hour, " if self.has_hours else "") + "weekday, day, gap"
        if self.kind == "numbers":
            return f"{self.detail} numbers" if self.detail else "length, mean, min, max"
        words = {
            "category": "one per text",
            "text": "words",
            "time": "hour",
            "duration": "seconds",
            "flag": "yes or no",
            "texts": "one per text in the list",
            "sparse": "one per name",
            "raw": "as it comes",
            "none": "left out",
        }
        return words.get(self.kind, self.kind)

    def state_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return asdict(self)

    @classmethod
    def load(cls, state: Mapping[str, Any]) -> ColumnPlan:
        """Return the plan that `state_dict` wrote; a checkpoint may say anything.

        Raises
        ------
        ValueError
            If it is none.

        """
        kind, detail, hours = state["kind"], state["detail"], state["has_hours"]
        wrong_size = kind == "numbers" and detail and not (detail.isdecimal() and 0 < int(detail[:9]) <= LONGEST)
        if kind not in KINDS or not isinstance(detail, str) or not isinstance(hours, bool) or wrong_size:
            raise ValueError(f"a plan of a column must name its kind, got {kind!r:.50}")
        return cls(kind, detail, hours)


def plan_column(
    array: Any, wish: Wish | None, by_values: bool, find_text: bool, find_dates: bool, name: str = ""
) -> ColumnPlan:
    """Return what becomes of a column.

    Parameters
    ----------
    array
        The first values.
    wish
        What the user says, or None.
    by_values
        Whether texts may be found to be dates or prose. Without, the type alone decides.
    find_text, find_dates
        Whether to look for prose and for keys, and for dates.
    name
        The column's name: numbers are times where it says so, too.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.intake.plan import plan_column
    >>> plan_column(pa.array(["2026-11-17T08:00"]), None, True, True, True).describe()
    'hour, weekday, day, gap'
    >>> plan_column(pa.array([b"..."]), None, True, True, True)
    ColumnPlan(kind='none', detail='nothing learns from binary', has_hours=False)

    """
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if wish is not None:
        return plan_wish(array, *wish)
    kind, types = array.type, pa.types
    if is_text(kind):
        return plan_text(array, by_values, find_text, find_dates)
    if types.is_timestamp(kind) or types.is_date(kind):
        if not find_dates:
            return ColumnPlan("none", "it is a date, and --dates leaves it out")
        return ColumnPlan("date", "", types.is_timestamp(kind))
    if is_number_list(kind):
        return ColumnPlan("numbers", str(common_length(array) or ""))
    if by_values and find_dates and is_number(kind) and is_named_like_a_time(name):
        unit = find_epoch(array)
        if unit is not None:
            return ColumnPlan("date", f"epoch {unit}", True)
    return plan_type(kind)


def plan_type(kind: Any) -> ColumnPlan:
    """Return what becomes of a column whose type says all."""
    types = pa.types
    if types.is_boolean(kind):
        return ColumnPlan("flag")
    if is_number(kind) or types.is_null(kind):
        return ColumnPlan("number")
    if types.is_time(kind):
        return ColumnPlan("time")
    if types.is_duration(kind):
        return ColumnPlan("duration")
    if is_text_list(kind):
        return ColumnPlan("texts")
    if types.is_map(kind) and is_number(kind.item_type):
        return ColumnPlan("sparse")
    what = "lists of objects" if is_list(kind) else "objects nested so deep" if types.is_struct(kind) else str(kind)
    return ColumnPlan("none", f"nothing learns from {what}")


def plan_text(array: Any, by_values: bool, find_text: bool, find_dates: bool) -> ColumnPlan:
    """Return what becomes of texts."""
    array = array.cast(pa.string())
    if not by_values:
        return ColumnPlan("category")
    if find_dates:
        is_date, form = find_format(array)
        if is_date:
            return ColumnPlan("date", form or "", has_hours(array, form))
        form = find_time_format(array)
        if form is not None:
            return ColumnPlan("time", form)
    mark = find_decimal_mark(array)
    if mark is not None:
        return ColumnPlan("number", mark)
    if find_text and is_prose(array):
        return ColumnPlan("text")
    return ColumnPlan("none", KEY) if find_text and is_key(array) else ColumnPlan("category")


KEY = "every row has another value, as a key has"
LEAST_KEYS = 100


def is_key(array: Any) -> bool:
    """Tell whether texts name rows: there are many of them, and no two are equal.

    Each would be a feature that no other row has.
    """
    return len(array) - array.null_count >= LEAST_KEYS and len(array.unique()) == len(array)


def plan_wish(array: Any, kind: str, form: str | None) -> ColumnPlan:
    """Return what becomes of a column as the user says."""
    if kind == "number" and is_text(array.type):
        return ColumnPlan(kind, find_decimal_mark(array) or "")
    if kind != "date":
        return ColumnPlan("texts" if kind == "category" and is_text_list(array.type) else kind)
    if form in EPOCHS or is_number(array.type):
        unit = form if form in EPOCHS else find_epoch(array)
        return ColumnPlan("date", f"epoch {unit or 's'}", True)
    if not is_text(array.type):
        return ColumnPlan("date", "", not pa.types.is_date(array.type))
    form = form or find_format(array.cast(pa.string()))[1]
    if form is None:
        unit = find_epoch_text(array)
        if unit is not None:
            return ColumnPlan("date", f"epoch {unit}", True)
    return ColumnPlan("date", form or "", has_hours(array, form))


def find_epoch_text(array: Any) -> str | None:
    """Return the unit of texts that are numbers which count time since 1970: what CSV has, read as text."""
    try:
        return find_epoch(array.cast(pa.string()).cast(pa.float64()))
    except pa.ArrowInvalid:
        return None


def has_hours(array: Any, form: str | None) -> bool:
    """Return whether dates that come as text have a time of day."""
    if form is not None:
        return "%H" in form or "%I" in form or "%T" in form
    return any(len(text) > 10 for text in array.to_pylist() if text is not None)


def is_text(kind: Any) -> bool:
    """Return whether an Arrow type is text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_number(kind: Any) -> bool:
    """Return whether an Arrow type is a number."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
