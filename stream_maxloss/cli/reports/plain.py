"""Progress as lines of text, in the manner of Vowpal Wabbit."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from stream_maxloss.cli.reports.base import Report

if TYPE_CHECKING:
    from stream_maxloss.evaluate import Progress

__all__ = ["PlainReport", "show", "summarise"]

WIDTH = 11


class PlainReport(Report):
    """Writes a table line by line: the first metric so far, since the last line, and for the constant prediction.

    Parameters
    ----------
    stream
        Where to write to.
    slices
        Whether to name the worst slice on each line.

    Examples
    --------
    >>> import sys
    >>> from stream_maxloss.cli.reports.plain import PlainReport
    >>> from stream_maxloss.evaluate import Progress, Scores
    >>> scores = {"Accuracy": Scores(0.9, 0.95, 0.6)}
    >>> report = PlainReport(sys.stdout)
    >>> report.report(Progress(1024, {"Accuracy": 0.9}, 0.5, recent_rate=2048.0, scores=scores))
            rows   Accuracy since last   constant     rows/s
            1024     0.9000     0.9500     0.6000      2,048

    """

    def __init__(self, stream: TextIO, slices: bool = False) -> None:
        self.stream = stream
        self.slices = slices
        self._headed = False

    def report(self, progress: Progress) -> None:
        """Write one line."""
        names = list(progress.scores)
        if not self._headed:
            words = ["rows", names[0], "since last", "constant", *names[1:], "rows/s"]
            self._write([word[: WIDTH - 1] for word in words], "worst slice")
            self._headed = True
        first = progress.scores[names[0]]
        cells = [f"{progress.rows}", *map(show, (first.total, first.since_last, first.baseline))]
        cells += [show(progress.scores[name].total) for name in names[1:]] + [f"{progress.recent_rate:,.0f}"]
        self._write(cells, "" if progress.worst is None else f"{progress.worst[0]} ({show(progress.worst[2])})")

    def finish(self, progress: Progress, table: str | None) -> None:
        """Write the end of the story."""
        self.stream.write("\n" + summarise(progress, table) + "\n")
        self.stream.flush()

    def _write(self, cells: list[str], worst: str) -> None:
        line = "".join(f"{cell:>{WIDTH}}" for cell in cells)
        self.stream.write((f"{line}  {worst}" if self.slices else line).rstrip() + "\n")
        self.stream.flush()


def summarise(progress: Progress, table: str | None) -> str:
    """Return the lines that end a run."""
    bad = f", {progress.bad:,} bad" if progress.bad else ""
    pace = f"in {progress.seconds:.1f} s ({progress.rate:,.0f} rows/s)"
    if progress.run_rows == progress.rows:
        lines = [f"{progress.rows:,} rows{bad} {pace}"]
    else:
        lines = [f"{progress.rows:,} rows{bad} in all; this run: {progress.run_rows:,} {pace}"]
    width = max(map(len, progress.scores))
    for name, scores in progress.scores.items():
        lines.append(f"  {name:<{width}}  {show(scores.total)}   constant prediction {show(scores.baseline)}")
    if progress.labels:
        lines.append("  labels: " + ", ".join(f"{count:,} {name}" for name, count in progress.labels.items()))
    lines += [f"  alert: {text}" for text in progress.alerts]
    if progress.no_better is not None:
        lines.append(f"  {progress.no_better}")
    if table is not None:
        lines += ["", table]
    if progress.checkpoint is not None:
        lines.append(f"checkpoint {progress.checkpoint}")
    return "\n".join(lines)


def show(value: float) -> str:
    """Return a number with four digits behind the point, or fewer where it is large; NaN is undefined."""
    if value != value:
        return "undefined"
    return f"{value:.4f}" if abs(value) < 1e4 else f"{value:.3e}"
