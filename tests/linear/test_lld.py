from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from stream_maxloss import FocusedClassifier
from stream_maxloss.linear import LLD
from stream_maxloss.linear import memory as layout


def test_a_hopeless_row_hardly_pulls() -> None:
    model = LLD(mu=4.0, intercept=False)
    model.learn_one({"a": 1.0}, True)
    near = model.weights["a"]
    far = LLD(mu=4.0, intercept=False)
    far.learn_one({"a": 1.0}, True)
    layout.vector_v(far._model.memory)[0] = -50.0
    far.learn_one({"a": 1.0}, True)
    assert far.weights["a"] + 50.0 < 1e-6 < near


def difference(z: float, mu: float) -> float:
    return math.log1p(math.exp(-z)) - math.log1p(math.exp(-z - mu))


def moved(weight: float, lr: float, x: float, w: float = 1.0, mu: float = 4.0) -> float:
    model = LLD(mu=mu, lr=lr, intercept=False)
    model.learn_one({"a": x}, True)
    layout.vector_v(model._model.memory)[0] = weight
    model.learn_one({"a": x}, True, w=w)
    return model.weights["a"] - weight


@pytest.mark.parametrize("x", [0.1, 1.0, 6.5, 100.0])
def test_sample_weights_count_in_full_on_rows_of_any_length(x: float) -> None:
    plain = moved(0.0, 0.1, x)
    assert moved(0.0, 0.1, x, w=4.0) == pytest.approx(4.0 * plain)
    assert moved(0.0, 0.1, x, w=0.5) == pytest.approx(0.5 * plain)


@pytest.mark.parametrize("x", [0.1, 1.0, 6.5, 100.0])
def test_a_longer_step_size_is_a_longer_step_on_rows_of_any_length(x: float) -> None:
    steps = [moved(0.0, lr, x) for lr in (0.01, 0.1, 1.0)]
    assert all(later > 1.0001 * sooner for sooner, later in pairwise(steps))


@pytest.mark.parametrize("x", [0.1, 6.5])
@pytest.mark.parametrize("lr", [0.05, 3.0])
def test_the_step_is_the_implicit_one_on_the_parabola_above_the_loss(lr: float, x: float) -> None:
    pull = 1.0 / (1.0 + math.exp(0.7)) - 1.0 / (1.0 + math.exp(4.7))
    assert moved(0.7 / x, lr, x) == pytest.approx(lr / (1.0 + lr * x * x / 4.0) * pull * x, rel=1e-9)


@pytest.mark.parametrize("w", [1.0, 2.0])
@pytest.mark.parametrize("x", [0.1, 1.0, 6.5, 100.0])
@pytest.mark.parametrize("z", [-9.0, -2.0, -0.3, 0.0, 0.7, 5.0])
def test_one_step_never_raises_the_loss_of_its_row(z: float, x: float, w: float) -> None:
    for lr in (0.1, 1e3):
        after = z + x * moved(z / x, lr, x, w)
        assert difference(after, 4.0) <= difference(z, 4.0) + 1e-12


def test_a_game_does_not_make_it_run_away_where_labels_are_wrong() -> None:
    chance = np.random.default_rng(1)
    y = chance.uniform(size=8000) < 0.02
    X = chance.normal(size=(8000, 8)) + 2.5 * y[:, None] * (np.arange(8) < 3)
    labels = y ^ (chance.uniform(size=8000) < 0.02)
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(8)])
    bare, focused = LLD(), FocusedClassifier(LLD(), window=2000, policy="corrected", seed=1)
    errors = [np.mean(model.answer_learn_many(frame, labels).labels != labels) for model in (bare, focused)]
    assert errors[1] < 1.5 * errors[0]
