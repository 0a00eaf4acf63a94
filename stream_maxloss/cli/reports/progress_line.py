"""One line on a terminal that says how far a command is."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from stream_maxloss_connectors import Source

__all__ = ["ProgressLine", "fit_words", "time_left"]

SECONDS = 0.5
FIRST = 1.0
"""Seconds before anything is shown: what ends sooner needs no line."""

WIDTH = 80
"""Characters of a line where the terminal does not say."""


class ProgressLine:
    """Rows, rate and time left, on standard error if that is a terminal; the line is taken away at the end.

    Parameters
    ----------
    source
        What is read.
    quiet
        Whether to show nothing.
    stream
        Where to write to.
    clock
        Return the time in seconds.

    """

    def __init__(
        self,
        source: Source,
        quiet: bool = False,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.stream = sys.stderr if stream is None else stream
        dumb = os.environ.get("TERM", "dumb") in ("dumb", "unknown")
        self.shows = not quiet and not dumb and self.stream.isatty()
        self._source = source
        self._clock = clock
        self._started = clock()
        self._drawn = self._started + FIRST - SECONDS
        self._first_lag: int | None = None
        self._width = 0

    def begin(self) -> None:
        """Note what is left to read, once the source is open."""
        self._first_lag = self._source.lag() if self.shows else None

    def show(self, rows: int) -> None:
        """Draw the line anew if the last one is old enough."""
        now = self._clock()
        if not self.shows or now - self._drawn < SECONDS:
            return
        self._drawn = now
        seconds = now - self._started
        words = [f"{rows:,} rows", f"{rows / max(seconds, 1e-9):,.0f} rows/s", f"{seconds:,.0f} s"]
        lag = self._source.lag()
        if self._first_lag and lag is not None and not self._source.waits:
            done = min(1.0, max(0.0, 1.0 - lag / self._first_lag))
            words = [f"{done:.0%}", *words, time_left(seconds, done)]
        self._write(fit_words([word for word in words if word], self._columns() - 1))

    def close(self) -> None:
        """Take the line away."""
        if self._width:
            self._write("")
            self.stream.write("\r")
            self.stream.flush()
            self._width = 0

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def _columns(self) -> int:
        """Return how wide the terminal is: a line that wraps could not be drawn over."""
        try:
            return os.get_terminal_size(self.stream.fileno()).columns or WIDTH
        except (OSError, ValueError):
            return WIDTH

    def _write(self, text: str) -> None:
        self.stream.write(f"\r{text:<{self._width}}")
        self.stream.flush()
        self._width = len(text)


def fit_words(words: Sequence[str], width: int, gap: str = "  ") -> str:
    """Return as many of the words as fit on a line, the first ones first.

    Examples
    --------
    >>> from stream_maxloss.cli.reports.progress_line import fit_words
    >>> fit_words(["500 rows", "20 rows/s", "25 s"], 20)
    '500 rows  20 rows/s'

    """
    line = words[0][:width]
    for word in words[1:]:
        if len(line) + len(gap) + len(word) > width:
            break
        line += gap + word
    return line


def time_left(seconds: float, done: float) -> str:
    """Return how long it will still take, from how long it took so far; nothing while that is a guess.

    Examples
    --------
    >>> from stream_maxloss.cli.reports.progress_line import time_left
    >>> time_left(10.0, 0.25), time_left(600.0, 0.1), time_left(1.0, 0.001)
    ('30 s left', '1 h 30 min left', '')

    """
    if done < 0.01:
        return ""
    left = round(seconds * (1.0 - done) / done)
    hours, minutes = left // 3600, left // 60 % 60
    if hours:
        return f"{hours} h {minutes:02} min left"
    return f"{minutes} min {left % 60:02} s left" if minutes else f"{left} s left"
