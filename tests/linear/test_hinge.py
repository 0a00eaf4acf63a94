from __future__ import annotations

import math

import pytest

from stream_maxloss.linear import HingeOGD


def test_the_step_decays_with_the_square_root_of_the_rows() -> None:
    model = HingeOGD(lr=1.0, margin=100.0, intercept=False)
    for t in range(1, 5):
        before = model.weights.get("a", 0.0)
        model.learn_one({"a": 1.0}, True)
        assert model.weights["a"] - before == pytest.approx(0.01 / math.sqrt(t))


def test_a_row_at_the_margin_is_taught_and_beyond_it_not() -> None:
    model = HingeOGD(lr=0.5, schedule="constant", intercept=False)
    model.learn_one({"a": 1.0}, True)
    model.learn_one({"a": 2.0}, True)
    assert model.weights == {"a": 1.5}
    model.learn_one({"a": 1.0}, True)
    assert model.weights == {"a": 1.5}


def test_the_ball_holds_weights_and_intercept_together() -> None:
    model = HingeOGD(lr=10.0, radius=2.0)
    model.learn_one({"a": 1.0}, True)
    assert math.hypot(model.weights["a"], model.intercept) == pytest.approx(2.0)
