"""Several classes are scored whole, to the bit as row by row."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from river import metrics
from river.metrics.base import Metrics

from stream_maxloss.evaluate import Scored
from stream_maxloss.metrics import MaxLoss, RollingMaxLoss, TailLoss, ZeroOneLoss
from stream_maxloss.run.scoreboard import Scoreboard

CLASSES = ("red", "green", "blue", "grey")


def by_probability() -> Metrics:
    parts = [metrics.Accuracy(), metrics.CrossEntropy(), TailLoss(), MaxLoss(), metrics.MacroF1(), RollingMaxLoss(20)]
    return Metrics([*parts, metrics.CohenKappa()])


def by_label() -> Metrics:
    return Metrics([metrics.Accuracy(), metrics.WeightedF1(), MaxLoss(loss=ZeroOneLoss()), metrics.Rand()])


def stream(rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[str]]:
    """Return labels, predictions, probabilities and slices of a model that learns of its classes as they come."""
    draw = np.random.default_rng(3)
    said = draw.dirichlet(np.ones(4), size=rows)
    said[0] = 0.0
    said[1:30, 2:] = 0.0
    said[30:90, 3] = 0.0
    truth = np.array(CLASSES, dtype=object)[draw.integers(0, 4, rows)]
    guess = np.array(CLASSES, dtype=object)[said.argmax(axis=1)]
    return truth, guess, said, [f"slice {k}" for k in draw.integers(0, 3, rows)]


@pytest.mark.parametrize("make", [by_probability, by_label])
@pytest.mark.parametrize("cuts", [(0, 300), (0, 1, 2, 31, 200, 300)])
def test_blocks_of_rows_score_as_single_rows(make: object, cuts: tuple[int, ...]) -> None:
    truth, guess, said, slices = stream(300)
    whole, single = (Scoreboard(make(), is_classifier=True, slice_by="side") for _ in range(2))
    for first, last in pairwise(cuts):
        rows = slice(first, last)
        whole.add(Scored(truth[rows], guess[rows], said[rows], None, CLASSES), np.array(slices[rows], dtype=object))
    for row in range(300):
        shares = {label: float(p) for label, p in zip(CLASSES, said[row], strict=True) if p}
        answer = shares if make is by_probability else guess[row] if shares else None
        single.add(Scored(truth[row : row + 1], None, None, [answer]), [slices[row]])
    assert whole.summary() == single.summary()
    assert whole.rows == single.rows == 300


def test_a_label_that_the_model_does_not_know_goes_row_by_row() -> None:
    board = Scoreboard(Metrics([metrics.Accuracy()]), is_classifier=True)
    truth = np.array(["red", "pink"], dtype=object)
    said = np.array([[0.6, 0.4], [0.3, 0.7]])
    board.add(Scored(truth, np.array(["red", "green"]), said, ["red", "green"], ("red", "green")))
    assert board.scores()["Accuracy"].total == 0.5
