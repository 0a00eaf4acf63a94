"""Details of the linear learners that a looser test would let slip, against formulas written out here."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from stream_maxloss.linear import BalancedWinnow, MarginPursuit, Pegasos, Winnow
from stream_maxloss.linear import memory as layout
from stream_maxloss.metrics import catoni_scale


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("w", [0.5, 1.0, 3.0])
def test_winnow_promotes_by_beta_to_the_power_of_the_sample_weight(w: float, sparse: bool) -> None:
    model = Winnow(beta=1.5, theta=10.0)
    model.learn_one({"a": 0.0, "b": 0.0}, False)
    model.learn_one({"b": 0.4} if sparse else {"a": 0.0, "b": 0.4}, True, w=w)
    assert model.weights["b"] == pytest.approx(1.5 ** (0.4 * w), rel=1e-12)
    assert model.weights["a"] == 1.0


@pytest.mark.parametrize("w", [0.5, 1.0, 3.0])
def test_winnow_promotes_the_constant_feature_too(w: float) -> None:
    model = Winnow(beta=1.5, theta=10.0, intercept=True)
    model.learn_one({"a": 0.4}, True, w=w)
    assert model.intercept == pytest.approx(1.5**w, rel=1e-12)


@pytest.mark.parametrize("w", [0.5, 1.0, 3.0])
def test_balanced_winnow_moves_both_vectors_by_the_sample_weight(w: float) -> None:
    model = BalancedWinnow(beta=1.5, intercept=False)
    # Of nothing learned the score is 0, which says True.
    model.learn_one({"a": 0.4}, False, w=w)
    assert model.weights["a"] == pytest.approx(1.5 ** (-0.4 * w) - 1.5 ** (0.4 * w), rel=1e-12)


@pytest.mark.parametrize("learner", [Pegasos(l2=0.01), MarginPursuit(l2=0.01, step="sqrt")], ids=["pegasos", "margin"])
def test_the_length_of_the_weights_is_true_after_it_was_computed_anew(learner: Pegasos | MarginPursuit) -> None:
    chance = np.random.default_rng(0)
    X = chance.normal(size=(70_000, 3))
    y = X[:, 0] + chance.normal(size=len(X)) > 0
    # Each row is a step that changes the weights: none is beyond the margin.
    learner.learn_many(pd.DataFrame(0.01 * X, columns=["a", "b", "c"]), y)
    memory = learner._model.memory
    assert memory[layout.UPDATES] > 65_536
    assert memory[layout.SCALE] != 1.0
    length = sum(weight**2 for weight in learner.weights.values()) + learner.intercept**2
    assert memory[layout.NORM] == pytest.approx(length, rel=1e-9)


def test_a_row_on_the_margin_only_shrinks_the_weights_of_pegasos() -> None:
    model = Pegasos(l2=1.0, intercept=False)
    model.learn_one({"a": 1.0}, True)
    # w = 1/(l2 t) = 1, so the margin is 1 exactly.
    assert model.weights["a"] == 1.0
    model.learn_one({"a": 1.0}, True)
    assert model.weights["a"] == 0.5


@pytest.mark.parametrize("delta", [0.05, 0.5])
def test_the_scale_of_lemma_6_has_two_over_delta(delta: float) -> None:
    values = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    assert catoni_scale(values, delta) == pytest.approx(np.sqrt(5 * 2.0 / (2 * np.log(2 / delta))), rel=1e-12)


def test_sparse_rows_with_a_chaotic_step_give_the_same_bits_at_both_speeds() -> None:
    # With this seed a length that is summed in another order shows.
    chance = np.random.default_rng(3)
    X = chance.normal(size=(2000, 20)) * (chance.uniform(size=(2000, 20)) < 0.5)
    y = X @ chance.normal(size=20) > 0
    X[X == 0.0] = np.nan
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(20)])
    one, many = (MarginPursuit(step="sqrt", scale=0.3) for _ in range(2))
    for x, label in zip(frame.to_dict("records"), y, strict=True):
        one.learn_one({name: value for name, value in x.items() if value == value}, label)
    many.learn_many(frame, y)
    assert one.weights == many.weights


@pytest.mark.parametrize(("step", "power"), [("sqrt", 0.5), ("printed", 1.0)])
def test_the_papers_step_is_had_with_both_readings_of_its_root(step: str, power: float) -> None:
    model = MarginPursuit(l2=4.0, step=step, scale=2.0, intercept=False)
    model.learn_one({"a": 0.1}, True)
    alpha = min(1.0 / (2.0 * 2.0 * 2.0**power), 0.25)
    u = 1.0 / 2.0
    assert model.weights["a"] == pytest.approx(alpha * 2.0 * (u - u**3 / 6.0) * 0.1, rel=1e-12)
