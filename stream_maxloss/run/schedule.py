"""When to report and when to write a checkpoint."""

from __future__ import annotations

import time
from collections.abc import Callable

from stream_maxloss.errors import UsageError

__all__ = ["Schedule"]


class Schedule:
    """Something that happens every so many rows, at growing row counts, or every so many seconds.

    Parameters
    ----------
    text
        `10000` for every so many rows, `2x` for 1, 2, 4, 8, ... rows, `5s` for seconds.
    option
        The setting's name, for messages.
    clock
        Return the time in seconds.

    Examples
    --------
    >>> from stream_maxloss.run.schedule import Schedule
    >>> schedule = Schedule("2x", "report_every")
    >>> [schedule.next_row(rows) for rows in (0, 1, 2, 3, 4, 1000)]
    [1, 2, 4, 4, 8, 1024]
    >>> schedule.due(4, since=2), schedule.due(5, since=4)
    (True, False)

    """

    def __init__(self, text: str, option: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.text = text
        self._clock = clock
        self._last = clock()
        self.rows: int | None = None
        self.factor: float | None = None
        self.seconds: float | None = None
        try:
            if text.endswith("s"):
                self.seconds = positive(float(text[:-1]))
            elif text.endswith("x"):
                self.factor = float(text[:-1])
                positive(self.factor - 1.0)
            else:
                self.rows = int(positive(int(text)))
        except ValueError:
            raise UsageError(
                f"{option} must be a number of rows (10000), seconds (5s) or a growth (2x), got {text!r}"
            ) from None

    def next_row(self, rows: int) -> int | None:
        """Return the next row count at which it is due, or None where the clock decides."""
        if self.rows is not None:
            return (rows // self.rows + 1) * self.rows
        if self.factor is None:
            return None
        following = 1.0
        while int(following) <= rows:
            following = max(following * self.factor, following + 1.0)
        return int(following)

    def due(self, rows: int, since: int) -> bool:
        """Return whether it is due at a row count, having been done at the row count `since`."""
        if self.seconds is not None:
            return self._clock() - self._last >= self.seconds
        following = self.next_row(since)
        return following is not None and rows >= following

    def done(self) -> None:
        """Count the seconds from now."""
        self._last = self._clock()


def positive(value: float) -> float:
    """Return a value that is surely greater than 0."""
    if not value > 0.0:
        raise ValueError(value)
    return value
