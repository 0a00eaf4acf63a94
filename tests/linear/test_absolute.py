from __future__ import annotations

import pytest

from stream_maxloss.linear import AbsoluteOGD


def test_the_step_is_the_sign_of_the_error() -> None:
    model = AbsoluteOGD(lr=0.5, schedule="constant", intercept=False)
    model.learn_one({"a": 1.0}, 100.0)
    assert model.weights == {"a": 0.5}
    model.learn_one({"a": 1.0}, -100.0, w=2.0)
    assert model.weights == {"a": -0.5}
    model.learn_one({"a": 1.0}, -0.5)
    assert model.weights == {"a": -0.5}


def test_predictions_are_clipped_and_steps_are_not() -> None:
    model = AbsoluteOGD(lr=10.0, low=-1.0, high=1.0, schedule="constant")
    model.learn_one({"a": 1.0}, 50.0)
    assert model.predict_one({"a": 1.0}) == 1.0
    model.learn_one({"a": 1.0}, 50.0)
    assert model.weights == {"a": pytest.approx(20.0)}
    assert model.predict_one({"a": -9.0}) == -1.0
