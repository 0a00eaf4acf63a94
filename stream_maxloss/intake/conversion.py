"""One column as its plan says, with the cells that do not fit it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream_maxloss.intake.dates import DAY, EPOCHS, Clock, cycles_of, from_epoch, microseconds, parse_dates
from stream_maxloss.intake.lists import is_number_list, spread_list, sum_up_list
from stream_maxloss.intake.numbers import parse_numbers
from stream_maxloss.intake.plan import ColumnPlan, is_number, is_text
from stream_maxloss.intake.text import Vocabulary, words_of
from stream_maxloss.rows.text_lists import is_text_list

__all__ = ["Converted", "convert"]

Converted = tuple[dict[str, Any], "NDArray[np.bool_] | None"]
"""The new columns by name, and which cells do not fit; None where all do."""

MUST = {
    "number": "a number",
    "flag": "true or false",
    "date": "a date",
    "time": "a time of day",
    "duration": "a duration",
    "numbers": "a list of numbers",
    "texts": "a list of texts",
    "sparse": "a map of names to numbers",
    "text": "text",
    "category": "text",
}
"""What a cell must be."""


def convert(name: str, array: Any, plan: ColumnPlan, state: Any, learn: bool) -> Converted:
    """Return what becomes of a column, cells that do not fit its plan as null.

    Parameters
    ----------
    name, array
        The column.
    plan
        What is to become of it.
    state
        The `Clock` of a date, the `Vocabulary` of texts; else None.
    learn
        Whether the state takes these rows in.

    """
    if pa.types.is_dictionary(array.type) and plan.kind != "category":
        array = array.dictionary_decode()
    if pa.types.is_null(array.type):
        array = array.cast(EMPTY.get(plan.kind, pa.float64()))
    match plan.kind:
        case "number":
            values, wrong = as_numbers(array, plan.detail or ".")
            return {name: values}, wrong
        case "flag":
            values, wrong = as_flags(array)
            return {name: values}, wrong
        case "category":
            return as_category(name, array)
        case "text":
            return as_words(name, array, state, learn)
        case "date":
            return as_date(name, array, plan, state, learn)
        case "time" | "duration":
            return as_seconds(name, array, plan)
        case "numbers":
            return as_places(name, array, plan)
        case "texts" if is_text_list(array.type):
            return {name: state.bound(array.cast(pa.list_(pa.string())), learn)}, None
        case "sparse" if pa.types.is_map(array.type):
            return {name: array}, None
    return {name: array}, None if plan.kind == "raw" else present(array)


EMPTY = {
    "category": pa.string(),
    "text": pa.string(),
    "date": pa.timestamp("us"),
    "time": pa.time64("us"),
    "duration": pa.duration("us"),
    "numbers": pa.list_(pa.float64()),
    "texts": pa.list_(pa.string()),
    "sparse": pa.map_(pa.string(), pa.float64()),
}
"""The type that a column without any value has."""


def present(array: Any) -> NDArray[np.bool_]:
    """Return which cells are not null."""
    import pyarrow.compute as pc

    return np.asarray(pc.is_valid(array).to_numpy(zero_copy_only=False), dtype=np.bool_)


def as_numbers(array: Any, mark: str = ".") -> tuple[Any, NDArray[np.bool_] | None]:
    """Return numbers as they are, decimals and texts as float64."""
    kind = array.type
    if pa.types.is_decimal(kind):
        # By way of text: Arrow's own cast rounds 8.2 and 8.20 differently.
        return array.cast(pa.string()).cast(pa.float64()), None
    if is_number(kind) or pa.types.is_boolean(kind):
        return array, None
    if not is_text(kind):
        return pa.nulls(len(array), pa.float64()), present(array)
    return parse_numbers(array, mark)


def as_flags(array: Any) -> tuple[Any, NDArray[np.bool_] | None]:
    """Return booleans; numbers 0 and 1 and the texts true and false are taken, too."""
    if pa.types.is_boolean(array.type):
        return array, None
    import pyarrow.compute as pc

    texts = pc.utf8_lower(array.cast(pa.string())) if is_text(array.type) else array.cast(pa.string())
    yes = pc.is_in(texts, pa.array(["true", "1", "1.0", "yes", "t", "y"]))
    no = pc.is_in(texts, pa.array(["false", "0", "0.0", "no", "f", "n"]))
    known = pc.or_(yes, no)
    wrong = present(array) & ~np.asarray(known.to_numpy(zero_copy_only=False), dtype=np.bool_)
    return pc.if_else(known, yes, pa.scalar(None, pa.bool_())), wrong if wrong.any() else None


def as_category(name: str, array: Any) -> Converted:
    """Return texts, of whole numbers without a fraction."""
    if is_text(array.type) or pa.types.is_dictionary(array.type):
        return {name: array}, None
    import pyarrow.compute as pc

    if pa.types.is_floating(array.type) and pc.all(pc.equal(pc.floor(array), array), min_count=0).as_py():
        array = array.cast(pa.int64(), safe=False)
    try:
        return {name: array.cast(pa.string())}, None
    except pa.ArrowNotImplementedError:
        return {name: pa.nulls(len(array), pa.string())}, present(array)


def as_words(name: str, array: Any, vocabulary: Vocabulary, learn: bool) -> Converted:
    """Return the words of texts, and how long each is."""
    if not is_text(array.type):
        return {name: pa.nulls(len(array), pa.list_(pa.string()))}, present(array)
    import pyarrow.compute as pc

    lengths = pc.utf8_length(array).cast(pa.float64())
    return {name: vocabulary.bound(words_of(array), learn), f"{name}.length": lengths}, None


def as_date(name: str, array: Any, plan: ColumnPlan, clock: Clock, learn: bool) -> Converted:
    """Return the cycles of dates and the seconds since the row before."""
    wrong = None
    import pyarrow.compute as pc

    epoch = plan.detail.removeprefix("epoch ") if plan.detail.startswith("epoch ") else None
    if epoch in EPOCHS and (is_number(array.type) or is_text(array.type)):
        numbers, wrong = as_numbers(array)
        array = from_epoch(numbers, epoch)
    elif is_text(array.type):
        texts = array.cast(pa.string())
        texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
        array = parse_dates(texts, plan.detail or None)
        wrong = present(texts) & ~present(array)
    elif not (pa.types.is_timestamp(array.type) or pa.types.is_date(array.type)):
        array, wrong = pa.nulls(len(array), pa.timestamp("us")), present(array)
    times, there = microseconds(array)
    cycles = ("hour", "weekday", "day") if plan.has_hours else ("weekday", "day")
    found = cycles_of(times, cycles)
    gaps = np.full(len(times), np.nan)
    gaps[there] = clock.gaps(times[there], learn)
    found["seconds_since"] = gaps
    complete = bool(there.all())
    for part, values in found.items():
        if not complete and part != "seconds_since":
            values[~there] = np.nan
    return {f"{name}.{part}": pa.array(values) for part, values in found.items()}, wrong


def as_seconds(name: str, array: Any, plan: ColumnPlan) -> Converted:
    """Return durations as seconds, times of day as a cycle."""
    types, kind, wrong = pa.types, plan.kind, None
    if kind == "time" and plan.detail and is_text(array.type):
        texts = array.cast(pa.string())
        array = parse_dates(texts, plan.detail).cast(pa.time64("us"))
        wrong = present(texts) & ~present(array)
    if not (types.is_duration(array.type) if kind == "duration" else types.is_time(array.type)):
        return {name: pa.nulls(len(array), pa.float64())}, present(array)
    goal = pa.duration("us") if kind == "duration" else pa.time64("us")
    whole = array.cast(goal, safe=False).cast(pa.int64())
    there = present(whole)
    values = np.asarray(whole.fill_null(0).to_numpy(zero_copy_only=False), dtype=np.float64)
    if kind == "duration":
        return {name: pa.array(np.where(there, values / 1e6, np.nan))}, None
    found = cycles_of((values % DAY).astype(np.int64), ("hour",))
    return {f"{name}.{part}": pa.array(np.where(there, cycle, np.nan)) for part, cycle in found.items()}, wrong


def as_places(name: str, array: Any, plan: ColumnPlan) -> Converted:
    """Return lists of numbers as one column for each place, or summed up."""
    if not is_number_list(array.type):
        names = [str(place) for place in range(int(plan.detail))] if plan.detail else ["length", "mean", "min", "max"]
        return {f"{name}.{part}": pa.nulls(len(array), pa.float64()) for part in names}, present(array)
    if not plan.detail:
        return {f"{name}.{part}": pa.array(values) for part, values in sum_up_list(array).items()}, None
    columns, wrong = spread_list(array, int(plan.detail))
    spread = {f"{name}.{place}": pa.array(values) for place, values in enumerate(columns)}
    return spread, wrong if wrong.any() else None
