"""What learners estimate of their stream, they estimate from rows that are new: a replayed row is no news."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from stream_maxloss import FocusedClassifier
from stream_maxloss.linear import LLM, MarginPursuit


def flipped_rows(rows: int = 2000, share: float = 0.05) -> tuple[pd.DataFrame, np.ndarray]:
    chance = np.random.default_rng(4)
    X = chance.normal(size=(rows, 3))
    y = (X @ [2.0, -1.0, 0.5] > 0) ^ (chance.uniform(size=rows) < share)
    return pd.DataFrame(X, columns=["a", "b", "c"]), y


def estimate(learner: LLM | MarginPursuit) -> float:
    return learner.estimated_epsilon if isinstance(learner, LLM) else learner.current_scale


@pytest.mark.parametrize("policy", ["exponential", "uniform"])
def test_a_game_leaves_the_estimated_noise_near_the_true_one(policy: str) -> None:
    X, y = flipped_rows()
    learner = LLM(epsilon=0.1, update_epsilon=True)
    FocusedClassifier(learner, window=500, policy=policy, seed=1).learn_many(X, y)
    # 2,000 labels flipped at 5 % have a standard deviation of .5 %; the estimate also counts rows near the boundary.
    assert 0.03 < learner.estimated_epsilon < 0.09


@pytest.mark.parametrize("warm_up", [LLM(update_epsilon=True), MarginPursuit(scale="data", warmup=40)], ids=repr)
def test_what_replays_change_besides_the_weights_is_nothing(warm_up: LLM | MarginPursuit) -> None:
    X, y = flipped_rows(60)
    learner = warm_up.clone()
    focused = FocusedClassifier(learner, window=30, replays=0, seed=1)
    focused.learn_many(X, y)
    before = estimate(learner)
    focused.replay(500)
    assert estimate(learner) == before
    assert learner.n_rows == 560


def test_the_warm_up_ends_after_so_many_arrivals_whatever_is_replayed_between_them() -> None:
    X, y = flipped_rows(60)
    learner = MarginPursuit(scale="data", step="sqrt", l2=0.01, warmup=40)
    focused = FocusedClassifier(learner, window=30, replays=5, seed=1)
    focused.learn_many(X.iloc[:39], y[:39])
    assert learner.current_scale == 1.0
    focused.learn_many(X.iloc[39:40], y[39:40])
    assert learner.current_scale != 1.0


@pytest.mark.parametrize("learner", [LLM(update_epsilon=True), MarginPursuit(scale="data", warmup=40)], ids=repr)
def test_a_loss_of_ones_own_in_python_teaches_the_same_estimates(learner: LLM | MarginPursuit) -> None:
    def loss(y: bool, probabilities: dict[bool, float]) -> float:
        return 1.0 - probabilities[y]

    X, y = flipped_rows(150)
    native, slow = learner.clone(), learner.clone()
    FocusedClassifier(native, window=50, replays=3, loss="probability", seed=2).learn_many(X, y)
    by_hand = FocusedClassifier(slow, window=50, replays=3, loss=loss, seed=2)
    for x, label in zip(X.to_dict("records"), y, strict=True):
        by_hand.learn_one(x, label)
    assert estimate(slow) == pytest.approx(estimate(native), rel=1e-9)
    assert slow.weights == pytest.approx(native.weights, rel=1e-7)
