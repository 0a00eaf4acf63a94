from __future__ import annotations

import math
import random

import pytest

from stream_maxloss.linear import LLM


def test_epsilon_stays_as_given_unless_it_is_updated() -> None:
    model = LLM(epsilon=0.2)
    model.learn_one({"a": 1.0}, True)
    assert model.estimated_epsilon == 0.2


def test_epsilon_is_the_running_mean_of_the_noise_probabilities() -> None:
    model, generator, expected = LLM(epsilon=0.2, update_epsilon=True), random.Random(1), 0.2
    for t in range(1, 100):
        x, y = {"a": generator.uniform(-2.0, 2.0)}, generator.random() < 0.5
        z = model._model.score(x) * (1 if y else -1)
        alpha = expected / ((1.0 - expected) * math.exp(z) + expected)
        expected += (alpha - expected) / (t + 1)
        model.learn_one(x, y)
        assert model.estimated_epsilon == pytest.approx(expected)
