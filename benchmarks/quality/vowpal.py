"""Vowpal Wabbit over a text file, with its defaults: adaptive, normalised, invariant updates and 18 bits of hash."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.scores import sigmoid
from benchmarks.streams import Stream

__all__ = ["VOWPAL", "prepare"]

# As many replays a row as our window of 10,000 gives. With a buffer as long as that window VW does worse: a row is not
# learned when it comes, but when it is drawn or makes room.
REPLAY = " --replay_b 1000 --replay_b_count 13"
VOWPAL = {
    "VW hinge": "--loss_function hinge",
    "VW logistic": "--loss_function logistic",
    "VW hinge, replay": "--loss_function hinge" + REPLAY,
    "VW logistic, replay": "--loss_function logistic" + REPLAY,
}


def line(label: bool, row: dict[str, object]) -> str:
    """Return a row as VW reads it: numbers by name, text as name=value."""
    parts = []
    for name, value in row.items():
        if isinstance(value, str):
            parts.append(f"{name}={value}")
        elif value:
            parts.append(f"{name}:{value:.9g}")
    return f"{'1' if label else '-1'} | {' '.join(parts)}\n"


def prepare(system: str, stream: Stream) -> Callable[[], NDArray[np.float64]]:
    """Return a run over a file, written beforehand, that collects the predictions made before each update."""
    from vowpalwabbit import Workspace

    folder = tempfile.TemporaryDirectory()
    rows, answers = Path(folder.name) / "rows.vw", Path(folder.name) / "answers"
    with rows.open("w", encoding="utf-8") as file:
        file.writelines(line(y, x) for y, x in zip(stream.labels.tolist(), stream.dicts(), strict=True))

    def run() -> NDArray[np.float64]:
        with folder:
            Workspace(f"{VOWPAL[system]} --quiet -d {rows} -r {answers}").finish()
            scores = np.array([float(text.split(" ", 1)[0]) for text in answers.read_text().splitlines() if text])
        return sigmoid(scores)

    return run
