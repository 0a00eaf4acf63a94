"""Dates and times as features: cycles of the day, the week and the year, and the time since the row before."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

__all__ = [
    "EPOCHS",
    "FORMATS",
    "TIMES",
    "Clock",
    "cycles_of",
    "find_epoch",
    "find_format",
    "find_time_format",
    "from_epoch",
    "is_named_like_a_time",
    "microseconds",
    "parse_dates",
]

DAY = 86_400_000_000
"""Microseconds of a day."""

YEAR = 365.25

DAYS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y", "%d.%m.%y", "%d/%m/%y", "%m/%d/%y")
NAMED_DAYS = ("%d %b %Y", "%d-%b-%Y", "%b %d, %Y", "%d %B %Y", "%B %d, %Y", "%d. %B %Y")
TIMES = ("%H:%M", "%H:%M:%S", "%I:%M %p", "%I:%M:%S %p")
"""Forms of a time of day."""

FORMATS = (
    *(f"{day}{time}" for day in (*DAYS, *NAMED_DAYS) for time in ("", *(f" {time}" for time in TIMES))),
    # E-mail and HTTP, web server logs, ctime.
    *("%a, %d %b %Y %H:%M:%S GMT", "%a, %d %b %Y %H:%M:%S %z", "%d/%b/%Y:%H:%M:%S %z", "%a %b %d %H:%M:%S %Y"),
)
"""Forms of dates besides ISO 8601 that are found by themselves."""

ISO = r"^\s*\d{4}-\d{2}"
ODD_SHARE, LEAST_TEXTS, FIRST_TEXTS = 0.01, 20, 20

EPOCHS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
"""How often each unit, in which times since 1970 are counted, fits into a second."""

OF_TIME = re.compile(
    r"(^|[^a-z])(ts|time|date|datetime|timestamp|epoch|at|when|created|updated|modified)([^a-z]|$)|(time|date|stamp)$"
)
EARLIEST, LATEST = 946_684_800, 4_102_444_800  # 2000 and 2100


class Clock:
    """The time since the last row with another time.

    Rows of the same instant share their gap, so that it does not matter how often a row is asked about before it is
    learned.

    Examples
    --------
    >>> import numpy as np
    >>> from stream_maxloss.intake.dates import Clock
    >>> clock = Clock()
    >>> clock.gaps(np.array([1_000_000, 4_000_000, 4_000_000]), learn=True)
    array([nan,  3.,  3.])
    >>> clock.gaps(np.array([9_000_000]), learn=False)
    array([5.])

    """

    def __init__(self, last: int | None = None, before: int | None = None) -> None:
        self.last, self.before = last, before

    def gaps(self, times: NDArray[np.int64], learn: bool) -> NDArray[np.float64]:
        """Return the seconds since the last other time for each of some times in microseconds."""
        if not len(times):
            return np.empty(0)
        known = [] if self.last is None else [self.last]
        all_times = np.concatenate((np.array(known, dtype=np.int64), times))
        starts = np.concatenate(([True], all_times[1:] != all_times[:-1]))
        runs = np.cumsum(starts) - 1
        values = all_times[starts]
        earlier = np.concatenate(([np.nan if self.before is None else float(self.before)], values[:-1].astype(float)))
        gaps: NDArray[np.float64] = (all_times - earlier[runs])[len(known) :] / 1e6
        if learn:
            self.before = int(values[-2]) if len(values) > 1 else self.before
            self.last = int(values[-1])
        return gaps

    def state_dict(self) -> list[int | None]:
        """Return the two last times."""
        return [self.last, self.before]


def microseconds(array: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return times as microseconds since 1970 in their own time zone, and which of them are there.

    Parameters
    ----------
    array
        Timestamps or dates. Those with a time zone count as its clocks show it.

    """
    if pa.types.is_timestamp(array.type) and array.type.tz not in (None, "UTC", "+00:00"):
        array = local(array)
    kind = pa.timestamp("us") if getattr(array.type, "tz", None) is None else pa.timestamp("us", array.type.tz)
    whole = array.cast(kind, safe=False).cast(pa.int64())
    import pyarrow.compute as pc

    present = np.asarray(pc.is_valid(array).to_numpy(zero_copy_only=False), dtype=np.bool_)
    return np.asarray(whole.fill_null(0).to_numpy(zero_copy_only=False), dtype=np.int64), present


def local(array: Any) -> Any:
    """Return times as the clocks of their zone show them; as those of UTC where the system does not know the zone."""
    import pyarrow.compute as pc

    try:
        return pc.local_timestamp(array)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return array


def cycles_of(times: NDArray[np.int64], cycles: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """Return sine and cosine of the place in each cycle: `hour` in the day, `weekday` in the week, `day` in the year.

    Examples
    --------
    >>> import numpy as np
    >>> from stream_maxloss.intake.dates import cycles_of
    >>> six = np.array([6 * 3600 * 1_000_000])
    >>> {name: float(value[0].round(3)) for name, value in cycles_of(six, ["hour"]).items()}
    {'hour_sin': 1.0, 'hour_cos': 0.0}

    """
    days = np.floor_divide(times, DAY)
    found: dict[str, NDArray[np.float64]] = {}
    for cycle in cycles:
        if cycle == "hour":
            part = (times - days * DAY) / DAY
        elif cycle == "weekday":
            part = (days + 3) % 7 / 7.0  # day 0 was a Thursday
        else:
            date = days.astype("datetime64[D]")
            part = (date - date.astype("datetime64[Y]")).astype(np.int64) / YEAR
        turn = 2.0 * np.pi * part
        found[f"{cycle}_sin"], found[f"{cycle}_cos"] = np.sin(turn), np.cos(turn)
    return found


def parse_dates(array: Any, form: str | None) -> Any:
    """Return texts as timestamps, null where one is none.

    Parameters
    ----------
    array
        Texts.
    form
        A format of `strptime`; None for ISO 8601.

    """
    import pyarrow.compute as pc

    if form is not None:
        found = pc.strptime(array, form, "us", error_is_null=True)
        if "%Y" not in form:
            return found
        # `%Y` reads 26 as the year 26.
        return pc.if_else(pc.match_substring_regex(array, r"\d{4}"), found, pa.scalar(None, found.type))
    for kind in (pa.timestamp("us"), pa.timestamp("us", "UTC")):
        try:
            return array.cast(kind)
        except pa.ArrowInvalid:
            continue
    return one_by_one(array)


def one_by_one(array: Any) -> Any:
    """Return ISO 8601 texts as timestamps of UTC, null where one is none: slow, for where some are wrong."""
    values: dict[str | None, Any] = {None: None}
    for text in array.unique().to_pylist():
        for kind in (pa.timestamp("us", "UTC"), pa.timestamp("us")):
            try:
                values[text] = pa.array([text]).cast(kind).cast(pa.timestamp("us", "UTC"))[0].as_py()
                break
            except pa.ArrowInvalid:
                values[text] = None
    return pa.array([values[text] for text in array.to_pylist()], pa.timestamp("us", "UTC"))


def find_format(array: Any) -> tuple[bool, str | None]:
    """Return whether all texts are dates, and their format: None for ISO 8601.

    Day and month that could be either are no date: only the user knows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.intake.dates import find_format
    >>> find_format(pa.array(["2026-11-17T08:15:00Z", None])), find_format(pa.array(["17.11.2026"]))
    ((True, None), (True, '%d.%m.%Y'))
    >>> find_format(pa.array(["01/02/2026"])), find_format(pa.array(["12"]))
    ((False, None), (False, None))

    """
    texts = array.drop_null()
    import pyarrow.compute as pc

    # The shortest date has six characters; plain numbers are none, though ISO 8601 knows some that are.
    if not len(texts) or pc.max(pc.utf8_length(texts)).as_py() < 6 or pc.all(pc.utf8_is_digit(texts)).as_py():
        return False, None
    odd = ODD_SHARE * len(texts) if len(texts) >= LEAST_TEXTS else 0
    if len(texts) - pc.sum(pc.match_substring_regex(texts, ISO)).as_py() <= odd:
        return parse_dates(texts, None).null_count <= odd, None
    fitting = fitting_forms(texts, FORMATS, odd)
    # `%H:%M` alone does not read seconds, so that what fits twice differs in the order of day and month.
    return (True, fitting[0]) if len(fitting) == 1 else (False, None)


def fitting_forms(texts: Any, forms: Sequence[str], odd: float) -> list[str]:
    """Return the formats that all but a few odd texts have, by a look at the first ones first."""
    first = texts.slice(0, FIRST_TEXTS)
    likely = [form for form in forms if parse_dates(first, form).null_count <= min(odd, 1)]
    return [form for form in likely if parse_dates(texts, form).null_count <= odd]


def find_time_format(array: Any) -> str | None:
    """Return the format of texts that are times of day; None where they are not.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.intake.dates import find_time_format
    >>> find_time_format(pa.array(["12:37 AM", "01:14 PM"])), find_time_format(pa.array(["noon"]))
    ('%I:%M %p', None)

    """
    texts = array.drop_null()
    found = fitting_forms(texts, TIMES, ODD_SHARE * len(texts)) if len(texts) else []
    return found[0] if found else None


def is_named_like_a_time(name: str) -> bool:
    """Tell whether a column's name says that it is a time: `ts`, `created_at`, `eventTime`, `start.date`."""
    return OF_TIME.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()) is not None


def find_epoch(array: Any) -> str | None:
    """Return the unit of numbers that count time since 1970: `s`, `ms`, `us` or `ns`; None where they do not.

    They do if all lie between the years 2000 and 2100 in one unit.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.intake.dates import find_epoch
    >>> find_epoch(pa.array([1767225600000, 1767225660000])), find_epoch(pa.array([12, 13]))
    ('ms', None)

    """
    import pyarrow.compute as pc

    limits = pc.min_max(array.drop_null()).as_py()
    if limits["min"] is None:
        return None
    for unit, times in EPOCHS.items():
        if EARLIEST * times <= limits["min"] and limits["max"] < LATEST * times:
            return unit
    return None


def from_epoch(array: Any, unit: str) -> Any:
    """Return numbers that count time since 1970 as timestamps."""
    import pyarrow.compute as pc

    counted = pc.multiply(pc.divide(array.cast(pa.float64()), float(EPOCHS[unit])), 1e6)
    return pc.round(counted).cast(pa.int64(), safe=False).cast(pa.timestamp("us"))
