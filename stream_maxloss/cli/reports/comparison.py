"""Models that are compared: their scores, what they cost, and how both are shown."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stream_maxloss.cli.reports.curve_plot import plot_curves
from stream_maxloss.cli.reports.text_table import format_bytes, format_table
from stream_maxloss.errors import DecodeError
from stream_maxloss.evaluate import Engine, Loop, RowBatch
from stream_maxloss.machine.compiled import notice
from stream_maxloss.run import Scoreboard, make_metrics

__all__ = ["Contender", "draw", "make_table", "plain"]

PLOTTED_SLICES = 3


@dataclass(frozen=True)
class Point:
    """How a model stood after some rows: the first metric over all rows, and by slice."""

    rows: int
    value: float
    slices: dict[str, float]


class Contender:
    """A model that predicts, is scored and learns.

    Parameters
    ----------
    name
        What the user called it.
    model
        A fresh model.
    metrics
        Texts of `--metric`.
    slice_by
        Column of slices, or None.
    task
        What the target is, or None for what the model takes.

    """

    def __init__(
        self, name: str, model: Any, metrics: tuple[str, ...], slice_by: str | None, task: str | None = None
    ) -> None:
        self.name = name
        self.model = model
        engine = Engine(model, by_class=task == "class")
        self.board = Scoreboard(make_metrics(metrics, model), engine.is_classifier, slice_by)
        engine.labels = self.board.asks_labels
        self.loop = Loop(engine, self.board)
        self.memory_bytes: int | None = None
        self.seconds = 0.0
        self.compiling = 0.0
        self.points: list[Point] = []

    def learn(self, batch: RowBatch, refuse: Callable[[DecodeError], None]) -> RowBatch:
        """Predict, score and learn some rows; return them without those that the model refuses."""
        # Of this thread: others decode meanwhile, and other processes have the cores, too.
        started, compiled = time.thread_time(), notice.waited
        batch, _ = self.loop.run(batch, refuse)
        compiling = notice.waited - compiled
        self.compiling += compiling
        self.seconds += max(0.0, time.thread_time() - started - compiling)
        return batch

    def mark(self) -> None:
        """Note how it stands, for the plot."""
        first = self.board.names[0]
        scores, report = self.board.summary()
        known = {} if report is None else report["slices"]
        slices = {name: values[first] for name, values in known.items() if values[first] is not None}
        self.points.append(Point(self.board.rows, scores[first].total, slices))

    def summary(self) -> dict[str, Any]:
        """Return everything that is reported of it, as plain values."""
        scores, report = self.board.summary()
        found: dict[str, Any] = {
            "model": self.name,
            "rows": self.board.rows,
            "metrics": {name: plain(score.total) for name, score in scores.items()},
        }
        if report is not None:
            worst = report["worst"]
            found["worst_slice"] = worst
            found["worst_metrics"] = {} if worst is None else report["slices"][worst]
        found["seconds"] = self.seconds
        found["compiling_seconds"] = self.compiling
        found["memory_bytes"] = memory_of(self.model) if self.memory_bytes is None else self.memory_bytes
        return found

    def settle(self) -> Contender:
        """Return a copy without the model, which may be large and is not wanted any more."""
        found = copy.copy(self)
        found.memory_bytes = memory_of(self.model)
        found.model = found.loop = None  # type: ignore[assignment]
        return found


def memory_of(model: Any) -> int:
    """Return the bytes that a model holds, by its own count where it has one."""
    own = getattr(model, "memory_bytes", None) if hasattr(model, "answer_many") else None
    return int(model._raw_memory_usage if own is None else own)


def plain(value: float) -> float | None:
    """Return a number that JSON can express."""
    return value if math.isfinite(value) else None


def make_table(found: list[dict[str, Any]], constant: dict[str, float | None], slice_by: str | None) -> str:
    """Return one line for each model and one for the constant prediction."""
    names = list(constant)
    header = ["model", *names]
    if slice_by is not None:
        header += [f"worst {slice_by}", f"its {names[0]}"]
    lines = []
    for summary in found:
        line = [summary["model"], *(number(summary["metrics"][name]) for name in names)]
        if slice_by is not None:
            line += [summary["worst_slice"] or "", number(summary["worst_metrics"].get(names[0]))]
        lines.append([*line, f"{summary['seconds']:.2f}", format_bytes(summary["memory_bytes"])])
    blanks = [""] * (len(header) - len(names) + 1)
    lines.append(["(constant)", *(number(constant[name]) for name in names), *blanks])
    return format_table([*header, "seconds", "memory"], lines, left=(0, len(names) + 1) if slice_by else (0,))


def number(value: float | None) -> str:
    """Return a metric's value as text."""
    return "" if value is None else f"{value:.4f}"


def draw(contenders: list[Contender], path: Path, slice_by: str | None) -> None:
    """Draw the first metric over the rows: of all rows, and of the slices that are worst for some model."""
    panels = {"all rows": {c.name: trim([(p.rows, p.value) for p in c.points]) for c in contenders}}
    worst = dict.fromkeys(report["worst"] for c in contenders if (report := c.board.slices()) is not None)
    for name in [name for name in worst if name is not None][:PLOTTED_SLICES]:
        curves = {}
        for contender in contenders:
            curves[contender.name] = trim([(p.rows, p.slices[name]) for p in contender.points if name in p.slices])
        panels[f"{slice_by} = {name}"] = curves
    metric = contenders[0].board.names[0]
    plot_curves(path, panels, f"{metric} so far, each row predicted before it is learned", f"{metric} so far")


def trim(points: list[tuple[int, float]]) -> tuple[list[int], list[float]]:
    """Return rows and values without the first of many points: scores of a handful of rows jump and hide the rest."""
    shown = points[len(points) // 20 :]
    return [rows for rows, _ in shown], [value for _, value in shown]
