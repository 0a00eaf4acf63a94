"""What `maxloss demo` does: write a file in the background, follow it, and score three learners on every row."""

from __future__ import annotations

import time
from pathlib import Path
from subprocess import Popen
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.cli.demo.kernels import compile_kernels, make_models
from stream_maxloss.cli.demo.stream import KINDS, FileWriter, make_connections
from stream_maxloss.cli.reports.curve_plot import can_plot, plot_curves
from stream_maxloss.cli.reports.messages import Messages
from stream_maxloss.cli.reports.text_table import format_table
from stream_maxloss.errors import SourceError, UsageError
from stream_maxloss.evaluate import Engine, Loop, RowBatch, Scored
from stream_maxloss.run import Columns, RowFeed, Target
from stream_maxloss_connectors import BadRecords, open_source

__all__ = ["run_demo"]

RARE = KINDS[-1]
CHUNK_ROWS = 4096


class Contest:
    """Several learners over the same rows, with what each got wrong.

    Parameters
    ----------
    models
        Name -> fresh model.

    """

    def __init__(self, models: dict[str, Any]) -> None:
        self.misses = {name: Misses() for name in models}
        self._loops = [Loop(Engine(model), self.misses[name]) for name, model in models.items()]
        self._kinds: list[NDArray[np.object_]] = []
        self.rows = 0

    def learn(self, batch: RowBatch) -> None:
        """Predict, score and learn some rows with each."""
        for loop in self._loops:
            loop.run(batch)
        self._kinds.append(np.asarray(batch.slices))
        self.rows += len(batch)

    @property
    def kinds(self) -> NDArray[np.object_]:
        """The kind of every row."""
        return np.concatenate(self._kinds)


class Misses:
    """Which rows a learner got wrong."""

    def __init__(self) -> None:
        self._parts: list[NDArray[np.bool_]] = []

    def add(self, scored: Scored, slices: Any = None) -> None:
        """Take in a batch of rows."""
        self._parts.append(np.not_equal(np.asarray(scored.y_pred), scored.y_true))

    @property
    def rows(self) -> NDArray[np.bool_]:
        """Whether each row's prediction was wrong."""
        return np.concatenate(self._parts)


def run_demo(rows: int, directory: Path, other: Popen[bytes]) -> None:
    """Run the demonstration and print its table; the other process compiles a part of the kernels."""
    messages = Messages()
    connections = make_connections(rows)
    path = prepare(directory, connections.column_names)
    contest = Contest(make_models())
    messages.say(f"writing {rows:,} connections to {path} in the background, and following it")
    messages.say(
        "the first run compiles kernels, which takes some ten seconds on two idle cores; later runs start at once"
    )
    compile_kernels(other)
    writer = FileWriter(connections, path)
    source = open_source(path, follow=True)
    source.open()
    started = time.perf_counter()
    writer.start()
    with source:
        feed = RowFeed(source, Columns("attack", slice_by="kind"), Target("attack", "binary"), BadRecords())
        follow(feed, writer, contest, rows, messages)
    writer.join()
    seconds = time.perf_counter() - started
    print(make_table(contest))  # noqa: T201
    messages.say(f"followed and learned {rows:,} rows with all three in {seconds:.1f} s")
    if can_plot():
        draw(contest, directory / "errors.png")
        messages.say(f"the error curves are in {directory / 'errors.png'}")
    else:
        messages.say("no plot: matplotlib is missing; pip install 'stream-maxloss[plot]'")
    messages.say(f"try it yourself: maxloss tail {path} --target attack --slice-by kind")


def prepare(directory: Path, columns: list[str]) -> Path:
    """Make the directory and return where the stream goes; a file of an earlier demonstration is removed."""
    path = directory / "connections.csv"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if path.exists() and not is_of_demonstration(path, columns):
            raise UsageError(
                "--directory must not hold a connections.csv that the demonstration did not write, "
                f"got {str(directory)!r}; choose another one"
            )
        path.unlink(missing_ok=True)
        path.touch()
        path.unlink()
    except OSError as error:
        raise UsageError(
            f"--directory must be a writable directory, got {str(directory)!r}: {error.strerror}; choose another one"
        ) from error
    return path


def is_of_demonstration(path: Path, columns: list[str]) -> bool:
    """Return whether a file begins as the demonstration's does, or is empty, as one that was ended early leaves it."""
    header = ",".join(f'"{name}"' for name in columns).encode()
    with path.open("rb") as file:
        return file.read(len(header) + 1) in (b"", header + b"\n")


def follow(feed: RowFeed, writer: FileWriter, contest: Contest, rows: int, messages: Messages) -> None:
    """Learn what the writer writes until all of it was read, and say how it stands at each doubling of rows."""
    report_at = 1000
    while contest.rows < rows:
        batch = feed.next(min(CHUNK_ROWS, report_at - contest.rows, rows - contest.rows), 1.0, patient=False)
        if batch is not None:
            contest.learn(batch)
        elif writer.failure is not None:
            raise SourceError(f"{writer.path} must be writable, got: {writer.failure.strerror}; free some space")
        if contest.rows == report_at or (contest.rows == rows and batch is not None):
            report(contest, messages)
            report_at *= 2


def report(contest: Contest, messages: Messages) -> None:
    """Print what each learner missed so far."""
    rare = contest.kinds == RARE
    parts = []
    for name in contest.misses:
        wrong = contest.misses[name].rows
        parts.append(f"{name} {100 * wrong.mean():.2f} % wrong, {wrong[rare].sum()} of {rare.sum()} rare ones missed")
    messages.say(f"{contest.rows:,} rows: {'; '.join(parts)}")


def make_table(contest: Contest) -> str:
    """Return the share of wrong predictions by kind of row."""
    kinds = contest.kinds
    names = list(contest.misses)
    lines = []
    for kind in ("(all)", *KINDS):
        chosen = np.ones(len(kinds), dtype=np.bool_) if kind == "(all)" else kinds == kind
        count = int(chosen.sum())
        errors = [100 * contest.misses[name].rows[chosen].mean() if count else float("nan") for name in names]
        heading = f"{kind} <- rare" if kind == RARE else kind
        lines.append([heading, f"{count:,}", f"{100 * count / len(kinds):.2f} %", *(f"{e:.2f} %" for e in errors)])
    return format_table(["kind", "rows", "share", *(f"{name} errors" for name in names)], lines)


def draw(contest: Contest, path: Path) -> None:
    """Draw the error rate so far on all rows, on the rare kind and on the others."""
    kinds = contest.kinds
    panels = {}
    for heading, chosen in {
        "all rows": KINDS,
        "escalation, the rare attack": (RARE,),
        "normal": ("normal",),
        "flood and scan": ("flood", "scan"),
    }.items():
        places = np.flatnonzero(np.isin(kinds, chosen))
        if len(places):
            share = f" ({100 * len(places) / len(kinds):.1f} % of the rows)" if len(places) < len(kinds) else ""
            panels[heading + share] = {name: curve(contest.misses[name].rows, places) for name in contest.misses}
    plot_curves(path, panels, "Wrong predictions so far: hinge learner, bare and focused, and auto", "wrong so far (%)")


def curve(wrong: NDArray[np.bool_], places: NDArray[np.int64], points: int = 400) -> tuple[list[float], list[float]]:
    """Return row numbers and the percentage that was wrong up to each, of the rows at some places.

    The first rows are counted and not shown: a rate over a handful jumps between 0 and 100 and hides the rest.
    """
    so_far = 100 * np.cumsum(wrong[places]) / np.arange(1, len(places) + 1)
    first = min(max(5, len(places) // 50), len(places) - 1)
    shown = np.unique(np.linspace(first, len(places) - 1, points).astype(np.int64))
    return (places[shown] + 1.0).tolist(), so_far[shown].tolist()
