"""What is said without looking at the row: against plain Python, and models from before anything was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from streams import frame_of, mixed_stream, same_state

from stream_maxloss.mixture import AutoClassifier, AutoRegressor


@pytest.mark.parametrize(("classes", "seen"), [(2, 2), (5, 4)])
def test_the_constant_counts_each_class_from_one_half_on(classes: int, seen: int) -> None:
    x, y = mixed_stream(250, classes=classes)
    model, came = AutoClassifier(seed=1, compute="least"), {}
    for row, label in zip(x, y, strict=True):
        model.predict_one(row)
        if len(model.classes) > 1:
            answer = model._model.memory["answer"][10]
            said = answer if len(answer) > 1 else [1.0 - answer[0], answer[0]]
            total = sum(came.values()) + 0.5 * len(model.classes)
            assert list(said) == pytest.approx([(came.get(name, 0) + 0.5) / total for name in model.classes])
        model.learn_one(row, label)
        came[label] = came.get(label, 0) + 1
    assert len(came) == seen


@pytest.mark.parametrize(("loss", "level"), [("absolute", 0.5), ("quantile", 0.9), ("squared", 0.5)])
def test_of_numbers_it_is_the_quantile_of_the_window_or_the_mean_and_what_came_last(loss: str, level: float) -> None:
    draw = np.random.default_rng(1)
    y = np.where(draw.random(640) < 0.6, 0.0, draw.exponential(size=640)).tolist()
    model = AutoRegressor(loss=loss, level=level, seed=1)
    lately = y[0]
    for i, target in enumerate(y):
        model.learn_one({"a": float(draw.normal())}, target)
        lately += (target - lately) * max(0.05, 1.0 / (i + 1.0))
    scale = model._model.memory["scale"]
    model.predict_one({})
    usual = scale[1] + model._model.memory["answer"][18:21, 0] * np.sqrt(scale[2] / scale[0])
    expected = np.mean(y) if loss == "squared" else np.quantile(y, level, method="inverted_cdf")
    # Not one number of this stream is far enough away to be cut off.
    assert usual == pytest.approx([expected, y[-1], lately], rel=1e-6, abs=1e-9)


def test_a_constant_target_is_predicted_from_the_second_row_on() -> None:
    draw = np.random.default_rng(1)
    model = AutoRegressor(seed=1)
    for i in range(300):
        row = {name: float(draw.normal()) for name in "abc"}
        assert model.predict_one(row) == (1e9 if i else 0.0)
        model.learn_one(row, 1e9)


def test_a_number_that_walks_is_predicted_from_where_it_stands() -> None:
    draw = np.random.default_rng(1)
    y = np.cumsum(draw.normal(size=1500))
    model, errors = AutoRegressor(seed=1), []
    for target in y.tolist():
        row = {name: float(draw.normal()) for name in "abc"}
        errors.append(abs(model.predict_one(row) - target))
        model.learn_one(row, target)
    steps = np.abs(np.diff(y, prepend=0.0))
    assert np.mean(errors) < 1.1 * np.mean(steps)


@pytest.mark.parametrize("order", ["sorted", "in turns"])
def test_labels_that_come_in_an_order_are_not_predicted_by_it(order: str) -> None:
    draw = np.random.default_rng(1)
    model = AutoClassifier(seed=1)
    for i in range(600):
        label = i >= 300 if order == "sorted" else i % 2 == 1
        model.learn_one({"a": 2.0 * label + 0.4 * float(draw.normal()), "b": float(draw.normal())}, label)
    assert model.predict_proba_one({"a": -0.5, "b": 0.0})[True] < 0.1
    assert model.predict_proba_one({"a": 2.5, "b": 0.0})[True] > 0.9


def older(state: dict[str, Any], experts: int) -> dict[str, Any]:
    """Return a state as models had it that knew nothing of what is usual."""
    state = {name: value for name, value in state.items() if name != "seen"}
    state["prior"] = np.full(experts, 1.0 / experts)
    state["history.weights"] = np.full((len(state["history.rows"]), experts), 1.0 / experts)
    return {**state, "trust": np.full(4, 0.5)}


@pytest.mark.parametrize("classes", [2, 4])
def test_a_state_from_before_there_was_a_constant_goes_on_with_its_fixed_share(classes: int) -> None:
    x, y = mixed_stream(300, classes=classes)
    model = AutoClassifier(seed=1, compute="least")
    model.learn_many(frame_of(x[:200]), y[:200])
    again = AutoClassifier(compute="least")
    again.load_state_dict(older(model.state_dict(), experts=10))
    assert list(again.weights())[-1] == "fast stack"
    prior, trust = np.full(10, 0.1), np.full(4, 0.5)
    for row, label in zip(x[200:], y[200:], strict=True):
        again.learn_one(row, label)
        answer = again._model.memory["answer"]
        number = again.classes.index(label)
        said = answer[:, 0] if number else 1.0 - answer[:, 0]
        said = np.maximum(answer[:, number] if classes > 2 else said, 1e-6)
        prior = 0.999 * prior * said[:10] / (prior @ said[:10]) + 0.001 / 10
        for pair in (slice(0, 2), slice(2, 4)):
            of_pair = said[10:][pair]
            trust[pair] = 0.999 * trust[pair] * of_pair / (trust[pair] @ of_pair) + 0.0005
        assert list(again.weights().values()) == pytest.approx(prior.tolist(), rel=1e-9)
        assert again._model.memory["trust"] == pytest.approx(trust, rel=1e-9)
    resumed = AutoClassifier(compute="least")
    resumed.load_state_dict(again.state_dict())
    assert same_state(resumed.state_dict(), again.state_dict())


def test_an_older_regressor_goes_on_without_what_is_usual() -> None:
    x, _ = mixed_stream(300)
    y = [3.0 * row["size"] for row in x]
    model, again = AutoRegressor(seed=1), AutoRegressor()
    model.learn_many(frame_of(x[:200]), y[:200])
    again.load_state_dict(older(model.state_dict(), experts=18))
    for row, target in zip(x[200:], y[200:], strict=True):
        again.learn_one(row, target)
    assert list(again.weights())[-1] == "fast stack"
    assert min(again.weights().values()) >= 0.999e-3 / 18


def test_a_state_with_other_counts_of_labels_is_refused() -> None:
    x, y = mixed_stream(200)
    model = AutoClassifier(seed=1, compute="least")
    model.learn_many(frame_of(x), y)
    state = model.state_dict()
    with pytest.raises(ValueError, match="state must fit the learner: its labels"):
        model.load_state_dict({**state, "seen": np.ones(3)})
    with pytest.raises(KeyError):
        model.load_state_dict({name: value for name, value in state.items() if name != "seen"})
