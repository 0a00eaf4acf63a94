"""The live view of a session in a terminal."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from stream_maxloss.cli.report_plain import show, summarise

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

    from stream_maxloss.cli.progress import Progress

__all__ = ["LiveReport"]

SECONDS = 0.25
HARDEST_SECONDS = 1.0


class LiveReport:
    """Redraws one screen while the session runs, and gives the screen back as it was.

    It uses the terminal's second screen and no thread: it is drawn by `tick`, between two batches.

    Parameters
    ----------
    title
        The source's name.
    hardest
        Gives the hardest rows of the window, hardest first, or None where there is no focus.
    summary
        Where the last words go once the screen is given back.

    """

    def __init__(self, title: str, hardest: Callable[[int], Sequence[Any]] | None, summary: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live

        self.title = title
        self.hardest = hardest
        self.summary = summary
        self.console = Console(stderr=True, highlight=False)
        self._live = Live(console=self.console, screen=True, auto_refresh=False, transient=True)
        self._live.start()
        self._drawn = self._looked = float("-inf")
        self._hard: Sequence[Any] = ()

    def report(self, progress: Progress) -> None:
        """Draw at once, as at each report."""
        self.draw(progress)

    def tick(self, measure: Callable[[], Progress]) -> None:
        """Draw if the last drawing is old enough."""
        if time.monotonic() - self._drawn >= SECONDS:
            self.draw(measure())

    def draw(self, progress: Progress) -> None:
        """Draw the screen."""
        now = time.monotonic()
        if self.hardest is not None and now - self._looked >= HARDEST_SECONDS:
            self._hard, self._looked = self.hardest(5), now
        self._live.update(self.view(progress), refresh=True)
        self._drawn = now

    def finish(self, progress: Progress, table: str | None) -> None:
        """Give the screen back and say how it ended."""
        self.close()
        self.summary.write(summarise(progress, table) + "\n")
        self.summary.flush()

    def close(self) -> None:
        """Give the screen back. Closing twice is allowed."""
        self._live.stop()

    @staticmethod
    def leave_at_once() -> None:
        """Leave the second screen and show the cursor by hand, for a process that is about to end."""
        os.write(2, b"\x1b[?1049l\x1b[?25h")

    def view(self, progress: Progress) -> Group:
        """Return what is on the screen."""
        from rich.console import Group
        from rich.text import Text

        width = self.console.size.width
        parts: list[Any] = [Text(clip(f"maxloss tail {self.title}", width), style="bold"), self._status(progress), ""]
        parts += [self._metrics(progress), ""]
        if progress.worst is not None:
            name, rows, value = progress.worst
            parts += [Text(clip(f"worst slice  {name}  {show(value)} on {rows:,} rows", width)), ""]
        if self._hard:
            parts.append(self._hardest_table())
        parts.append(Text("Ctrl-C: finish the batch, write a checkpoint, leave", style="dim"))
        return Group(*parts)

    def _status(self, progress: Progress) -> Any:
        from rich.text import Text

        width = self.console.size.width
        words = [f"{progress.rows:,} rows", f"{progress.recent_rate:,.0f} rows/s", f"{progress.seconds:,.0f} s"]
        if progress.bad:
            words.append(f"{progress.bad:,} bad")
        if progress.checkpoint is not None:
            words.append(f"checkpoint {progress.checkpoint}")
        if progress.lag is not None:
            words.append(f"{progress.lag:,} {progress.lag_unit} behind")
        bar = "" if progress.done is None else draw_bar(progress.done, min(40, width - 8)) + "\n"
        return Text(bar + clip("   ".join(words), width))

    def _metrics(self, progress: Progress) -> Table:
        from rich.table import Table

        table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
        for word in ("", "so far", "since last", "constant"):
            table.add_column(word, justify="right" if word else "left", no_wrap=True)
        for name, scores in list(progress.scores.items())[:6]:
            table.add_row(name, *map(show, (scores.total, scores.since_last, scores.baseline)))
        return table

    def _hardest_table(self) -> Table:
        from rich.table import Table

        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), expand=True)
        for word in ("hardest", "loss", "age", "label"):
            table.add_column(word, justify="right", no_wrap=True)
        table.add_column("row", no_wrap=True, overflow="ellipsis", ratio=1)
        for row in self._hard:
            shown = " ".join(f"{name}={value:.3g}" for name, value in by_size(row.x)[:8])
            table.add_row(f"{row.weight:.2%}", f"{row.loss:.2f}", f"{row.age:,}", str(row.y), shown)
        return table


def by_size(x: dict[Any, Any]) -> list[tuple[Any, float]]:
    """Return the numbers of a row, the largest first: of scaled rows those that are unusual."""
    numbers = [(name, float(value)) for name, value in x.items() if isinstance(value, int | float)]
    return sorted(numbers, key=lambda pair: -abs(pair[1]))


def draw_bar(done: float, width: int) -> str:
    """Return a bar of text."""
    full = round(done * width)
    return f"{'#' * full}{'.' * (width - full)} {done:4.0%}"


def clip(text: str, width: int) -> str:
    """Return a text that fits on one line."""
    return text if len(text) <= width else text[: width - 3] + "..."
