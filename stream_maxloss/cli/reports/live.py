"""The live view of a session in a terminal."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TextIO

from stream_maxloss.cli.options.models import auto_part, focused_part
from stream_maxloss.cli.reports.base import Report
from stream_maxloss.cli.reports.hard_rows import find_scaler, unscale
from stream_maxloss.cli.reports.hard_rows import show as show_cell
from stream_maxloss.cli.reports.plain import show, summarise
from stream_maxloss.cli.reports.progress_line import fit_words, time_left
from stream_maxloss.cli.reports.text_table import format_table, shorten

if TYPE_CHECKING:
    from stream_maxloss.evaluate import Progress
    from stream_maxloss.run import Tail

__all__ = ["Details", "LiveReport", "look_at"]

SLICES, EXPERTS, ROWS = 30, 10, 30

BLOCKS = "▁▂▃▄▅▆▇█"
PLAIN = "_.-=+*%#"
MEANS = ("Accuracy", "CrossEntropy", "LogLoss", "MAE", "MAPE", "MSE")
"""Metrics that are means over rows, so that what the latest rows have follows from two moments."""
MOST_POINTS = 512

SECONDS = 0.25
DETAIL_SECONDS = 1.0
MOST_METRICS = 6
ROOMY = 60
"""Columns from which on words may stand further apart."""


@dataclass(frozen=True)
class Details:
    """What costs something to find out, and is looked at once a second.

    Parameters
    ----------
    slices
        A line of cells for each slice, the worst first: name, rows, value, interval.
    experts
        The experts of `auto` by weight, the largest first.
    hardest
        A line of cells for each of the hardest rows: weight, loss, age, label, origin, values.

    """

    slices: list[list[str]] = field(default_factory=list)
    experts: list[tuple[str, float]] = field(default_factory=list)
    hardest: list[list[str]] = field(default_factory=list)


class LiveReport(Report):
    """Redraws one screen while the session runs, and gives the screen back as it was.

    It uses the terminal's second screen and no thread: it is drawn by `tick`, between two batches. What there is to
    show is fitted to the screen: first the state of the run and its metrics, then slices, experts and the hardest rows.

    Parameters
    ----------
    title
        The source's name.
    look
        Return what is looked at once a second.
    summary
        Where the final lines go once the screen is restored.
    saves
        Whether there are checkpoints.

    """

    def __init__(self, title: str, look: Callable[[], Details], summary: TextIO, saves: bool = True) -> None:
        from rich.console import Console
        from rich.live import Live

        self.title = title
        self.look = look
        self.summary = summary
        self.saves = saves
        self.console = Console(stderr=True, highlight=False, markup=False)
        self._live = Live(console=self.console, screen=True, auto_refresh=False, transient=True)
        self._live.start()
        self._drawn = self._looked = float("-inf")
        self._details = Details()
        self._curves: dict[str, Curve] = {}

    def report(self, progress: Progress) -> None:
        """Draw at once, as at each report."""
        self.draw(progress)

    def tick(self, measure: Callable[[], Progress]) -> None:
        """Draw if the last drawing is old enough."""
        if time.monotonic() - self._drawn >= SECONDS:
            self.draw(measure())

    def draw(self, progress: Progress) -> None:
        """Draw the screen."""
        from rich.text import Text

        now = time.monotonic()
        if now - self._looked >= DETAIL_SECONDS:
            self._details, self._looked = self.look(), now
        for name, scores in progress.scores.items():
            self._curves.setdefault(name, Curve(name)).add(progress.rows, scores.total)
        size = self.console.size
        lines = self.lines(progress, size.width, size.height)
        text = Text("\n".join(lines), no_wrap=True, overflow="crop")
        text.stylize("bold", 0, len(lines[0]))
        text.stylize("dim", len(text) - len(lines[-1]))
        self._live.update(text, refresh=True)
        self._drawn = now

    def finish(self, progress: Progress, table: str | None) -> None:
        """Restore the screen and show how the run ended."""
        self.close()
        self.summary.write(summarise(progress, table) + "\n")
        self.summary.flush()

    def close(self) -> None:
        """Restore the screen. Closing twice is allowed."""
        self._live.stop()

    def leave_at_once(self) -> None:
        """Leave the second screen and show the cursor by hand, for a process that is about to end."""
        os.write(2, b"\x1b[?1049l\x1b[?25h")

    def lines(self, progress: Progress, width: int, height: int) -> list[str]:
        """Return what is on the screen: at most `height` lines of at most `width` characters."""
        head = [f"maxloss tail {self.title}", *status(progress, width)]
        foot = f"Ctrl-C: finish the batch, {'write a checkpoint, ' if self.saves else ''}leave"
        room = height - len(head) - 1
        metrics = self._metrics(progress, width)[:room]
        room -= len(metrics)
        blocks = [metrics, *fitted(self._blocks(progress, width), room)]
        spaced = room - sum(map(len, blocks[1:])) >= len(blocks) + 1
        lines = [*head]
        for block in blocks:
            lines += ["", *block] if spaced and block else block
        return [clip(line, width) for line in [*lines, *([""] if spaced else []), foot]]

    def _metrics(self, progress: Progress, width: int) -> list[str]:
        rows = []
        for name, scores in list(progress.scores.items())[:MOST_METRICS]:
            rows.append([name, *map(show, (scores.total, scores.since_last, scores.baseline))])
        table = format_table(["", "so far", "since last", "constant"], rows).splitlines()
        room = min(60, width - max(map(len, table)) - 3)
        if room < 8:
            return table
        blocks = BLOCKS if (self.console.encoding or "").lower().startswith("utf") else PLAIN
        width_of_table = max(map(len, table))
        curves = ["latest rows", *(sparkline(self._curves[row[0]].points, room, blocks) for row in rows)]
        return [f"{line:<{width_of_table}}   {curve}" for line, curve in zip(table, curves, strict=True)]

    def _blocks(self, progress: Progress, width: int) -> list[list[str]]:
        details, found = self._details, []
        if progress.alerts:
            found.append([f"ALERT  {'; '.join(progress.alerts)}"])
        if progress.no_better is not None:
            found.append([progress.no_better])
        if progress.worst is not None:
            name, rows, value = progress.worst
            found.append([f"worst slice  {name}  {show(value)} on {rows:,} rows"])
        if progress.labels:
            found.append(["labels  " + ", ".join(f"{count:,} {name}" for name, count in progress.labels.items())])
        if len(details.slices) > 1:
            found.append(format_table(["slice", "rows", "value", "interval"], details.slices).splitlines())
        if details.hardest:
            header = ["hardest", "loss", "age", "label", "origin", "row"]
            found.append(format_table(header, details.hardest, left=(4, 5)).splitlines())
        if details.experts:
            bar = max(5, min(30, width - 50))
            lines = [f"{share:6.1%} {'#' * round(share * bar):<{bar}} {name}" for name, share in details.experts]
            found.append(["experts of most weight", *lines])
        return found


def status(progress: Progress, width: int) -> list[str]:
    """Return how far the run is."""
    words = [f"{progress.rows:,} rows", f"{progress.recent_rate:,.0f} rows/s", f"{progress.seconds:,.0f} s"]
    if progress.bad:
        words.append(f"{progress.bad:,} bad")
    if progress.checkpoint is not None:
        words.append(f"checkpoint {progress.checkpoint}")
    if progress.lag is not None:
        words.append(f"{progress.lag:,} {progress.lag_unit} behind")
    bar = []
    if progress.done is not None:
        bar = [f"{draw_bar(progress.done, min(40, width - 8))}  {time_left(progress.seconds, progress.done)}"]
    return [*bar, fit_words(words, width, "   " if width >= ROOMY else "  ")]


def fitted(blocks: Sequence[list[str]], room: int) -> list[list[str]]:
    """Return blocks of lines cut so that they fit: each gets its first lines, and the rest is shared out in turn.

    A heading without a line below it says nothing, so it is left out.

    Examples
    --------
    >>> from stream_maxloss.cli.reports.live import fitted
    >>> fitted([["a", "1", "2", "3"], ["b", "1", "2"]], 5)
    [['a', '1', '2'], ['b', '1']]

    """
    counts = [0] * len(blocks)
    for number, block in enumerate(blocks):
        first = min(2, len(block))
        if sum(counts) + first <= room:
            counts[number] = first
    growing = True
    while growing:
        growing = False
        for number, block in enumerate(blocks):
            if 0 < counts[number] < len(block) and sum(counts) < room:
                counts[number] += 1
                growing = True
    return [block[:count] for block, count in zip(blocks, counts, strict=True) if count]


def draw_bar(done: float, width: int) -> str:
    """Return a bar of text."""
    full = round(done * width)
    return f"{'#' * full}{'.' * (width - full)} {done:4.0%}"


def clip(text: str, width: int) -> str:
    """Return a text that fits on one line."""
    return shorten(text, width) if len(text) > width and not text.startswith(" ") else text[:width]


class Curve:
    """How a metric went: of a mean what the rows between two moments have, of any other what all rows have by then.

    Parameters
    ----------
    name
        The metric.

    Examples
    --------
    >>> from stream_maxloss.cli.reports.live import Curve
    >>> curve = Curve("Accuracy")
    >>> for rows, value in ((100, 0.5), (200, 0.7), (300, 0.8)):
    ...     curve.add(rows, value)
    >>> [round(point, 6) for point in curve.points]
    [0.5, 0.9, 1.0]

    """

    def __init__(self, name: str) -> None:
        self.is_mean = name in MEANS
        self.points: list[float] = []
        self._rows = 0
        self._total = 0.0

    def add(self, rows: int, value: float) -> None:
        """Note a value over so many rows; nothing if there are no new ones, or the metric has no value."""
        if rows <= self._rows or value != value:
            return
        total = value * rows
        self.points.append((total - self._total) / (rows - self._rows) if self.is_mean else value)
        self._rows, self._total = rows, total
        if len(self.points) > MOST_POINTS:
            self.points = averages(self.points, MOST_POINTS // 2)


def sparkline(points: Sequence[float], width: int, blocks: str = BLOCKS) -> str:
    """Return points as a line of blocks, the lowest and the highest point as the lowest and the highest block.

    Examples
    --------
    >>> from stream_maxloss.cli.reports.live import sparkline
    >>> sparkline([0.1, 0.5, 0.9, 0.9], 4)
    '▁▅██'

    """
    shown = averages(points, width) if len(points) > width else list(points)
    if not shown or width < 1:
        return ""
    low, high = min(shown), max(shown)
    scale = (len(blocks) - 1) / (high - low) if high > low else 0.0
    return "".join(blocks[round((point - low) * scale)] for point in shown)


def averages(points: Sequence[float], count: int) -> list[float]:
    """Return so many means over neighbouring points."""
    borders = [len(points) * i // count for i in range(count + 1)]
    groups = [points[first:last] for first, last in pairwise(borders)]
    return [sum(group) / len(group) for group in groups if group]


def look_at(run: Tail) -> Details:
    """Return the worst slices, the experts and the hardest rows of a run as it stands."""
    return Details(slices_of(run), experts_of(run), hardest_of(run))


def slices_of(run: Tail) -> list[list[str]]:
    """Return a line of cells for each slice, the worst first."""
    report = run.session.board.slices()
    if report is None:
        return []
    lines = []
    for name, found in list(report["slices"].items())[:SLICES]:
        value = found[report["worst_by"]]
        interval = report["intervals"][name]
        shown = "" if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}"
        lines.append([name, f"{found['rows']:,}", "undefined" if value is None else show(value), shown])
    return lines


def experts_of(run: Tail) -> list[tuple[str, float]]:
    """Return the experts of `auto`, those of most weight first."""
    auto = auto_part(run.model)
    weights = {} if auto is None or not hasattr(auto, "weights") else auto.weights()
    return sorted(weights.items(), key=lambda item: -item[1])[:EXPERTS]


def hardest_of(run: Tail) -> list[list[str]]:
    """Return a line of cells for each of the hardest rows, with their values as they were read."""
    part = focused_part(run.model)
    if part is None:
        return []
    origins, scaler = run.session.origins, find_scaler(run.model)
    lines = []
    for row in part.hardest(ROWS):
        origin = None if origins is None else origins.find(run.session.learned - 1 - row.age)
        values: dict[Any, Any] = row.x if scaler is None else unscale(row.x, scaler)
        values = values if origin is None else origin.row
        text = " ".join(f"{name}={show_cell(value)}" for name, value in values.items())
        place = "" if origin is None else origin.key or origin.address.rpartition("/")[2]
        lines.append([f"{row.weight:.2%}", f"{row.loss:.2f}", f"{row.age:,}", str(row.y), place, text])
    return lines
