"""Vowpal Wabbit over a text file: its default updates, plain and with all pairs of features."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.scores import sigmoid
from benchmarks.streams.stream import BINARY, NUMBER, Stream

__all__ = ["VOWPAL", "prepare"]

VOWPAL = {
    "VW": "`--loss_function logistic`, for more classes `--oaa --probabilities`, for numbers squared loss; numbers as "
    "`name:value`, text as `name=value`",
    "VW -q ::": "the same with all pairs of features, `-q :: -b 22`",
}
RESERVED = str.maketrans({":": "_", "|": "_", " ": "_"})


def line(label: str, row: dict[str, object]) -> str:
    """Return a row as VW reads it."""
    parts = []
    for name, value in row.items():
        safe = name.translate(RESERVED)
        if isinstance(value, str):
            parts.append(f"{safe}={value.translate(RESERVED)}")
        elif value:
            parts.append(f"{safe}:{value:.9g}")
    return f"{label} | {' '.join(parts)}\n"


def labels_of(stream: Stream) -> list[str]:
    """Return labels as VW reads them: 1 and -1, classes from 1, or numbers."""
    if stream.kind == NUMBER:
        return [f"{label:.9g}" for label in stream.labels.tolist()]
    if stream.kind == BINARY:
        return ["1" if label else "-1" for label in stream.labels.tolist()]
    return [str(code + 1) for code in stream.codes().tolist()]


def options(system: str, stream: Stream) -> str:
    """Return the options of the command line."""
    loss = "" if stream.kind == NUMBER else " --loss_function logistic"
    classes = "" if stream.kind in (BINARY, NUMBER) else f" --oaa {len(stream.classes)} --probabilities"
    return f"--quiet{loss}{classes}" + (" -q :: -b 22" if "-q" in system else "")


def answers_of(text: str, stream: Stream) -> NDArray[np.float64]:
    """Return the answers that VW wrote: a score or number a line, or `class:probability` for each class."""
    lines = [entry for entry in text.splitlines() if entry]
    if stream.kind in (BINARY, NUMBER):
        numbers = np.array([float(entry.split(" ", 1)[0]) for entry in lines])
        return numbers if stream.kind == NUMBER else sigmoid(numbers)
    shares = np.zeros((len(lines), len(stream.classes)))
    for row, entry in enumerate(lines):
        for pair in entry.split():
            place, _, share = pair.partition(":")
            shares[row, int(place) - 1] = float(share)
    return shares


def prepare(system: str, stream: Stream) -> Callable[[], NDArray[np.float64]]:
    """Return a run over a file, written beforehand, that collects the predictions made before each update."""
    from vowpalwabbit import Workspace

    folder = tempfile.TemporaryDirectory()
    rows, answers = Path(folder.name) / "rows.vw", Path(folder.name) / "answers"
    with rows.open("w", encoding="utf-8") as file:
        file.writelines(line(y, x) for y, x in zip(labels_of(stream), stream.dicts(), strict=True))
    written = "-r" if stream.kind == BINARY else "-p"

    def run() -> NDArray[np.float64]:
        with folder:
            Workspace(f"{options(system, stream)} -d {rows} {written} {answers}").finish()
            return answers_of(answers.read_text(encoding="utf-8"), stream)

    return run
