"""By which rows experts are weighed: against a few lines of numpy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from streams import frame_of, mixed_stream, same_state

from stream_maxloss.mixture import AutoClassifier, AutoRegressor

PARTS = {"mean": 1.0, "tail": 0.1, "max": 0.01}


@pytest.mark.parametrize("objective", PARTS)
def test_weights_follow_the_hardest_part_of_the_rows(objective: str) -> None:
    x, y = mixed_stream(400)
    model = AutoClassifier(seed=1, compute="least", objective=objective)
    start = np.array([0.44 / 8] * 8 + [0.08, 0.08, 0.4])
    prior, border, counted = start, 0.5, 0
    for row, label in zip(x, y, strict=True):
        model._model.answer_one(row)
        said = model._model.memory["answer"][:12, 0].copy()
        said = np.maximum(said if label else 1.0 - said, 1e-6)
        model.learn_one(row, label)
        is_hard = objective == "mean" or 1.0 - said[11] > border
        border *= math.exp(0.05 * (is_hard - PARTS[objective]))
        border = min(max(border, 1e-6), 1.0)
        counted += is_hard
        if is_hard:
            share = 0.003 * (1.0 - said[11])
            prior = (1.0 - share) * prior * said[:11] / (prior @ said[:11]) + share * start
        assert list(model.weights().values()) == pytest.approx(prior.tolist(), rel=1e-9)
    # The border follows the quantile from where it begins.
    assert counted == 400 if objective == "mean" else 0 < counted < 400 * (PARTS[objective] + 0.15)


def test_both_speeds_mix_alike_by_the_tail() -> None:
    x, y = mixed_stream(250)
    slow, fast = (AutoClassifier(seed=1, memory=100, objective="tail") for _ in range(2))
    for row, label in zip(x, y, strict=True):
        slow.learn_one(row, label)
    fast.learn_many(frame_of(x), y)
    assert same_state(slow.state_dict(), fast.state_dict())


def test_a_regressor_weighs_by_the_tail_too() -> None:
    draw = np.random.default_rng(1)
    mean, tail = (AutoRegressor(seed=1, compute="least", objective=objective) for objective in ("mean", "tail"))
    for _ in range(300):
        a = float(draw.normal())
        for model in (mean, tail):
            model.learn_one({"a": a}, a * a + (10.0 if draw.random() < 0.05 else 0.0))
    assert mean.weights() != tail.weights()
    assert sum(tail.weights().values()) == pytest.approx(1.0)


def test_another_objective_is_refused() -> None:
    with pytest.raises(ValueError, match="objective must be one of"):
        AutoClassifier(objective="median")
    x, y = mixed_stream(20)
    tail, mean = AutoClassifier(seed=1, objective="tail"), AutoClassifier(seed=1)
    tail.learn_many(frame_of(x), y)
    with pytest.raises(ValueError, match=r"its objective counts 0\.1 of the rows"):
        mean.load_state_dict(tail.state_dict())
