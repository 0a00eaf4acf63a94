"""What knows no column: the labels so far, or the last one. A learner that loses to these has learned nothing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks.streams.stream import BINARY, NUMBER, Stream

__all__ = ["BASELINES", "prepare"]

BASELINES = {
    "constant": "the share of each label so far, each counted once before the first row; the mean so far of numbers",
    "last label": "the label before, as probable as labels were to repeat so far; the number before",
}


def prepare(system: str, stream: Stream) -> Callable[[], NDArray[np.float64]]:
    """Return a run over the labels alone."""
    if stream.kind == NUMBER:
        numbers = stream.labels
        return (lambda: mean_so_far(numbers)) if system == "constant" else (lambda: shifted(numbers))
    codes, classes = stream.codes(), len(stream.classes)
    answer = shares_so_far if system == "constant" else last_label

    def run() -> NDArray[np.float64]:
        shares = answer(codes, classes)
        return shares[:, 1] if stream.kind == BINARY else shares

    return run


def shifted(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each row the number before it, 0 for the first."""
    return np.concatenate([[0.0], numbers[:-1]])


def mean_so_far(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return for each row the mean of those before it, 0 for the first."""
    return shifted(np.cumsum(numbers)) / np.maximum(np.arange(len(numbers)), 1.0)


def shares_so_far(codes: NDArray[np.int64], classes: int) -> NDArray[np.float64]:
    """Return for each row the share of each class before it, with one row of each added."""
    seen = np.ones((len(codes), classes))
    seen[1:] += np.cumsum(np.eye(classes)[codes[:-1]], axis=0)
    return seen / seen.sum(axis=1, keepdims=True)


def last_label(codes: NDArray[np.int64], classes: int) -> NDArray[np.float64]:
    """Return for each row how probable each class is if labels go on to repeat as often as so far.

    What the last label leaves is shared among the others as often as they came.
    """
    shares = shares_so_far(codes, classes)
    before = codes[:-1]
    repeats = np.concatenate([[0.0], np.cumsum(codes[1:] == before)[:-1]])
    again = (1.0 + repeats) / (2.0 + np.arange(len(before)))
    rows = np.arange(1, len(codes))
    others = shares[1:].copy()
    others[rows - 1, before] = 0.0
    shares[1:] = others / others.sum(axis=1, keepdims=True) * (1.0 - again)[:, None]
    shares[rows, before] = again
    return shares
