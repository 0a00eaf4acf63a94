"""The calculators of the theorems against the formulas of the appendix, written out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from stream_maxloss import FocusedClassifier, Perceptron
from stream_maxloss.focus.theorems import rounds_needed, sample_size, snapshots_needed


@pytest.mark.parametrize(("rows", "epsilon", "delta"), [(10, 0.49, 0.05), (5000, 0.1, 0.001)])
def test_rounds_satisfy_both_steps_of_the_proof(rows: int, epsilon: float, delta: float) -> None:
    rounds = rounds_needed(rows, epsilon, delta)
    for enough, count in ((True, rounds), (False, rounds - 2)):
        concentrated = count >= 6 * rows * math.log(rows / delta) / (epsilon / 8) ** 2
        regret = math.log(rows) / (count / (2 * rows)) <= epsilon / 8
        assert (concentrated and regret) is enough


@pytest.mark.parametrize(("rows", "epsilon", "delta"), [(10, 0.49, 0.05), (5000, 0.1, 0.001)])
def test_snapshots_satisfy_bernsteins_inequality_over_all_rows(rows: int, epsilon: float, delta: float) -> None:
    def failing(count: int) -> float:
        step, variance = epsilon / 4, 3 * epsilon / 4
        return rows * math.exp(-count * step**2 / 2 / (variance + step / 3))

    count = snapshots_needed(rows, epsilon, delta)
    assert failing(count) <= delta * (1 + 1e-9) < failing(count - 1)


def test_so_many_snapshots_of_random_losses_keep_every_mean_below_epsilon() -> None:
    rows, epsilon, chance = 50, 0.4, np.random.default_rng(0)
    losses = chance.uniform(size=(20_000, rows)) < 0.75 * epsilon
    failed = 0
    for _ in range(40):
        drawn = losses[chance.integers(0, len(losses), snapshots_needed(rows, epsilon, 0.1))]
        failed += drawn.mean(axis=0).max() > epsilon
    # Each fails with probability at most 0.1; 12 of 40 would be four deviations more.
    assert failed <= 12


def test_rare_rows_are_few_where_the_gap_is_wide() -> None:
    expected = (8 * math.log(50) + math.log(20)) / 0.02 + (2 * math.log(4) + math.log(20)) / (0.25 * 0.01)
    assert sample_size(0.02, 0.05, 8, 0.01, rare_dimension=2, gap=0.25) == math.ceil(expected)
    assert sample_size(0.02, 0.05, 8, 0.01, rare_dimension=2, gap=0.25, constant=3.0) == math.ceil(3 * expected)


def test_a_focused_learner_keeps_as_many_snapshots_as_the_theorem_asks_for() -> None:
    focused = FocusedClassifier(Perceptron(), window=20, output="majority", snapshots=None, seed=1)
    for k in range(120):
        focused.learn_one({"a": float(k % 7) - 3.0}, k % 7 > 3)
    assert focused._native.snapshots == snapshots_needed(20) == 327


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rounds_needed(0), "rows must be at least 1, got 0"),
        (lambda: snapshots_needed(10, epsilon=1.0), r"epsilon must lie in \(0, 1\), got 1.0"),
        (lambda: sample_size(0.1, 0.1, 3, 0.7), r"rare_share must lie in \(0, 0.5\), got 0.7"),
        (lambda: sample_size(0.1, 0.1, 3, 0.1, gap=0.05), r"gap must lie in \[0.1, 1\), got 0.05"),
    ],
    ids=["rows", "epsilon", "share", "gap"],
)
def test_a_wrong_argument_is_refused(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
