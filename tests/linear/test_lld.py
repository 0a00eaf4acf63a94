from __future__ import annotations

import pytest

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


def test_the_step_is_bounded_by_the_length_of_the_row() -> None:
    small, large = LLD(lr=1e3, intercept=False), LLD(lr=1e6, intercept=False)
    for model in (small, large):
        model.learn_one({"a": 3.0}, True)
    assert small.weights == pytest.approx(large.weights)
