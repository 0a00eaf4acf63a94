from __future__ import annotations

import math

import pytest

from stream_maxloss.linear import MarginPursuit


def test_margins_above_the_level_are_pulled_back() -> None:
    model = MarginPursuit(gamma=0.1, l2=0.01, intercept=False)
    for _ in range(200):
        model.learn_one({"a": 1.0}, True)
    assert model.weights["a"] == pytest.approx(0.1, rel=0.05)


def test_the_scale_is_set_once_from_the_warm_up() -> None:
    model, margins = MarginPursuit(scale="data", warmup=8, l2=0.1, delta=0.05), []
    for t in range(20):
        x = {"a": float(t % 5), "b": 1.0}
        margins.append(abs(model._model.score(x)))
        model.learn_one(x, t % 2 == 0)
        if t < 7:
            assert model.current_scale == 1.0
    spread = sorted(margins[:8])[6]
    assert model.current_scale == pytest.approx(max(1.0, math.sqrt(8 * spread / (0.2 * math.log(20.0)))))
