"""How long a row waits for its label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream_maxloss.errors import UsageError

__all__ = ["Lifetime", "parse_lifetime", "seconds_of"]

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True)
class Lifetime:
    """A number of rows, or of seconds by the rows' own time; one of the two is None."""

    rows: int | None
    seconds: float | None


def parse_lifetime(text: str, time: str | None) -> Lifetime:
    """Return the lifetime that a text stands for.

    Parameters
    ----------
    text
        `100000` for rows; `45s`, `30m`, `12h` or `7d` for time.
    time
        The column of the rows' time, which a duration needs: a clock on the wall would give another run each time.

    Examples
    --------
    >>> from stream_maxloss.run.lifetime import parse_lifetime
    >>> parse_lifetime("100000", None), parse_lifetime("7d", "when")
    (Lifetime(rows=100000, seconds=None), Lifetime(rows=None, seconds=604800.0))

    """
    number, unit = (text[:-1], text[-1:]) if text[-1:] in UNITS else (text, "")
    try:
        value = float(number) if unit else int(number)
    except ValueError:
        value = 0
    if not 0 < value < 1e15:
        raise UsageError(f"--label-ttl must be rows (100000) or a duration (45s, 30m, 12h, 7d), got {text!r}")
    if not unit:
        return Lifetime(int(value), None)
    if time is None:
        raise UsageError(f"--label-ttl must come with --time COLUMN where it is a duration, got {text!r}; or give rows")
    return Lifetime(None, value * UNITS[unit])


def seconds_of(column: pa.Array, name: str) -> NDArray[np.float64]:
    """Return a column of times in seconds: numbers as they are, dates and times since 1970; NaN where there is none.

    Raises
    ------
    UsageError
        If it has neither.

    """
    try:
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            column = column.cast(pa.timestamp("us"))
        if pa.types.is_date(column.type):
            column = column.cast(pa.timestamp("us"))
        if pa.types.is_timestamp(column.type):
            micros = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64())
            return np.asarray(micros.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)) / 1e6
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"time must be a column of numbers, dates or times, got {name!r}: {reason}") from error
