"""Details of the game that a looser test would let slip, against formulas written out here."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from river import linear_model

from stream_maxloss import FocusedClassifier, HingeOGD
from stream_maxloss.focus.admission import Reservoir, SubSample
from stream_maxloss.focus.gate import Gate
from stream_maxloss.focus.player import Player
from stream_maxloss.focus.slack import STEP, Slack, SlackBook

ROW = {"a": 1.0, "b": -0.5}


def test_a_snapshot_is_the_learner_before_the_step_of_its_round() -> None:
    bare = HingeOGD()
    bare.learn_one(ROW, True)
    focused = FocusedClassifier(HingeOGD(), window=5, replays=1, output="average", snapshots=1, seed=1)
    focused.learn_one(ROW, True)
    # One round was played; the learner itself has moved on since its snapshot.
    assert focused.predict_proba_one(ROW) == bare.predict_proba_one(ROW)
    assert focused.classifier.weights != bare.weights


def test_a_snapshot_of_another_librarys_learner_is_the_one_before_the_step_too() -> None:
    bare = linear_model.LogisticRegression()
    bare.learn_one(ROW, True)
    focused = FocusedClassifier(
        linear_model.LogisticRegression(), window=5, replays=1, output="average", snapshots=1, seed=1
    )
    focused.learn_one(ROW, True)
    assert focused.predict_proba_one(ROW) == bare.predict_proba_one(ROW)
    assert dict(focused.classifier.weights) != dict(bare.weights)


@pytest.mark.parametrize("by_batch", [False, True], ids=["learn_one", "learn_many"])
def test_a_replay_has_the_sample_weight_of_its_row(by_batch: bool) -> None:
    twice = HingeOGD(lr=0.01)
    for _ in range(2):
        twice.learn_one(ROW, True, w=3.0)
    focused = FocusedClassifier(HingeOGD(lr=0.01), window=1, replays=1, seed=1)
    if by_batch:
        focused.learn_many(pd.DataFrame([ROW]), [True], w=[3.0])
    else:
        focused.learn_one(ROW, True, w=3.0)
    assert focused.classifier.weights == twice.weights


def test_a_tie_among_the_snapshots_says_true() -> None:
    focused = FocusedClassifier(HingeOGD(lr=0.4, intercept=False), window=2, replays=0, output="majority", snapshots=2)
    focused.learn_one({"a": 1.0}, True)
    focused.replay(1)
    for _ in range(9):
        focused.learn_one({"a": 1.0}, False)
    focused.replay(1)
    assert focused.predict_proba_one({"a": 1.0}) == {False: 0.5, True: 0.5}
    assert focused.predict_one({"a": 1.0}) is True
    # Each snapshot scores what it does not know with 0, which says True.
    assert focused.predict_proba_one({"unknown": 1.0}) == {False: 0.0, True: 1.0}


@pytest.mark.parametrize(("rate", "outliers", "rare"), [(0.5, 0.3, 4.0), (0.01, 20.0, 300.0)])
def test_the_bound_on_a_bad_sub_sample_is_the_papers(rate: float, outliers: float, rare: float) -> None:
    expected = 0.01 + 0.99 * outliers * rate + math.exp(-rare * rate / 10)
    assert SubSample(rate=rate).failure_bound(outliers, rare) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("budget", "rounds"), [(8.0, 100), (0.5, 40)])
def test_slack_steps_by_the_root_of_twice_the_budget_over_the_rounds(budget: float, rounds: int) -> None:
    assert SlackBook(Slack(budget), 10, rounds).book[STEP] == pytest.approx(math.sqrt(2 * budget / rounds), rel=1e-12)


def nearest_in_box_and_ball(raised: np.ndarray, budget: float) -> np.ndarray:
    """Return the nearest point with entries in [0, 1] and squares that sum up to the budget, by bisection."""
    low, high = 0.0, 1.0
    if (np.minimum(1.0, raised) ** 2).sum() <= budget:
        return np.minimum(1.0, raised)
    for _ in range(200):
        middle = (low + high) / 2
        if (np.minimum(1.0, middle * raised) ** 2).sum() > budget:
            high = middle
        else:
            low = middle
    return np.minimum(1.0, low * raised)


@pytest.mark.parametrize("budget", [1.2, 2.5, 3.7])
def test_slack_under_l2_is_the_projection_also_where_a_row_is_forgiven_altogether(budget: float) -> None:
    book, expected, forgiven = SlackBook(Slack(budget, "l2", step=0.9), 6, 10), np.zeros(6), False
    for slot in [0, 1, 2, 0, 0, 3, 0, 4, 5, 0, 0, 1, 0]:
        expected[slot] += 0.9
        expected = nearest_in_box_and_ball(expected, budget)
        book.step(slot)
        assert [book.get(k) for k in range(6)] == pytest.approx(expected, abs=1e-9)
        forgiven = forgiven or expected.max() > 1.0 - 1e-9
    assert forgiven


def test_a_new_row_has_the_mean_weight_of_the_others() -> None:
    player = Player(4, seed=1)
    for slot in range(3):
        player.admit(slot)
    for _ in range(8):
        player.update(1, player.probabilities()[1], 1.0)
    before = player.weights()
    player.admit(3)
    assert player.weights()[3] == pytest.approx(before.mean(), rel=1e-12)
    player.admit(1)
    assert player.weights()[1] == pytest.approx(np.delete(before, 1).sum() / 3 + player.weights()[3] / 3, rel=1e-12)


def test_a_reservoir_of_one_takes_its_second_row_every_other_time() -> None:
    entered = 0
    for seed in range(400):
        gate = Gate(Reservoir(), capacity=1, seed=seed)
        gate.settle(None)
        entered += gate.settle(None) == 0
    # Binomial with p = 1/2: the standard deviation is 10.
    assert 150 < entered < 250
