"""The focused learner whose rounds run in kernels: its state, its faults and what it shows."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from reference_game import SETTINGS, as_dicts, numbers, sparse_numbers
from stream_maxloss.focus import ClassQuota, FocusedClassifier, FocusedRegressor
from stream_maxloss.linear import (
    AbsoluteOGD,
    HingeOGD,
    Perceptron,
    Scaler,
)
from stream_maxloss.linear.memory import vector_v


@pytest.mark.parametrize("style", ["pickle", "state_dict", "deepcopy"])
@pytest.mark.parametrize("data", [numbers, sparse_numbers], ids=["dense", "sparse"])
def test_half_saved_loaded_and_the_other_half_is_the_whole(style, data):
    frame, labels = data()
    settings = SETTINGS | {"slack": 1.0, "output": "average", "snapshots": 3, "admission": ClassQuota()}
    whole = FocusedClassifier(HingeOGD(), **settings)
    whole.learn_many(frame.iloc[:80], labels.iloc[:80])
    if style == "state_dict":
        half = FocusedClassifier(HingeOGD(), **settings)
        half.classifier.load_state_dict(whole.classifier.state_dict())
        half.load_state_dict(whole.state_dict())
    else:
        half = pickle.loads(pickle.dumps(whole)) if style == "pickle" else copy.deepcopy(whole)
    for part in (whole, half):
        part.learn_many(frame.iloc[80:], labels.iloc[80:])
    assert (
        whole.answer_learn_many(frame, labels).probabilities.tolist()
        == half.answer_learn_many(frame, labels).probabilities.tolist()
    )
    first, second = whole.state_dict(), half.state_dict()
    assert first.keys() == second.keys()
    for key, value in first.items():
        np.testing.assert_array_equal(value, second[key])


def test_a_refused_batch_leaves_everything_as_it_was():
    frame, labels = numbers()
    focused = FocusedClassifier(HingeOGD(), **SETTINGS)
    focused.learn_many(frame, labels)
    before, learned = focused.state_dict(), focused.classifier.state_dict()
    bad = frame.copy()
    bad.iloc[50, 2] = np.inf
    with pytest.raises(ValueError, match="feature 'f2' of row 50 must be finite, got inf"):
        focused.learn_many(bad, labels)
    with pytest.raises(ValueError, match="one label per row of X, got 10 for 150"):
        focused.learn_many(frame, labels.iloc[:10])
    with pytest.raises(ValueError, match="must be a bool, 0/1 or -1/\\+1, got 7"):
        focused.learn_one({"f0": 1.0}, 7)
    with pytest.raises(ValueError, match="must be finite"):
        focused.learn_one({"f0": np.inf}, True)
    for key, value in before.items():
        np.testing.assert_array_equal(value, focused.state_dict()[key])
    assert learned["memory"].tolist() == focused.classifier.state_dict()["memory"].tolist()


def test_a_diverging_learner_is_named():
    focused = FocusedClassifier(Perceptron(), window=10, seed=1)
    labels = np.arange(100) % 3 == 0
    with pytest.raises(ValueError, match="overflow; "):
        focused.learn_many(pd.DataFrame({"a": 1e160 * (-1.0) ** np.arange(100), "b": 1e160}), labels)


def test_a_million_row_window_costs_little_more_than_its_rows():
    focused = FocusedClassifier(HingeOGD(), window=1_000_000, replays=0)
    focused.learn_many(pd.DataFrame(np.ones((2, 20)), columns=list(range(20))), pd.Series([True, False]))
    assert focused.memory_bytes <= 1.3 * 8 * 20 * 1_000_000


def test_a_learner_that_diverges_while_it_replays_is_named_and_replays_go_back_to_their_number():
    focused = FocusedClassifier(Perceptron(), window=10, replays=0, seed=1)
    focused.learn_many(pd.DataFrame({"a": [10.0], "b": [10.0]}), [True])
    vector_v(focused.classifier._model.memory)[:2] = 1e308
    with pytest.raises(ValueError, match="overflow; "):
        focused.replay(100)
    assert focused._native._setup[0] == 0


def test_hardest_names_the_features_and_describes_the_game():
    frame, labels = numbers()
    focused = FocusedClassifier(HingeOGD(), **SETTINGS)
    assert focused.hardest() == []
    focused.learn_many(frame, labels)
    rows = focused.hardest(5)
    assert [row.weight for row in rows] == sorted((row.weight for row in rows), reverse=True)
    for row in rows:
        place = len(frame) - 1 - row.age
        assert row.x == frame.iloc[place].to_dict()
        assert row.y == labels.iloc[place]
        z = (2 * row.y - 1) * focused.classifier._model.score(row.x)
        assert row.loss == pytest.approx(min(1, max(0, 1 - z)))
    summary = focused.describe()
    assert summary["replays"] == 4 * len(frame)
    assert summary["rows"] == summary["window"] == 40
    assert 1 <= summary["effective_rows"] <= 40


def test_other_keywords_are_refused():
    focused = FocusedClassifier(HingeOGD(), **SETTINGS)
    with pytest.raises(TypeError, match="keyword w only, got"):
        focused.learn_one({"a": 1.0}, True, t=3)


def test_a_function_as_loss_takes_the_slow_way():
    focused = FocusedClassifier(HingeOGD(), loss=lambda y, p: 1 - p[y], window=10)
    focused.learn_one({"a": 1.0}, True)
    assert focused._native is None


@pytest.mark.parametrize(("output", "clip"), [("last", None), ("average", None), ("last", 0.8)])
def test_a_scaler_before_it_gives_the_pipeline_s_scores_at_both_speeds(output, clip):
    frame, labels = numbers(rows=700)
    text = frame.assign(kind=np.random.default_rng(6).choice(["a", "b"], size=len(frame)))
    for data in (frame, text, sparse_numbers(rows=400)[0]):
        settings = SETTINGS | {"output": output, "snapshots": 3}
        one, many = (Scaler(clip) | FocusedClassifier(HingeOGD(), **settings) for _ in range(2))
        expected = []
        for x, y in zip(as_dicts(data), labels[: len(data)], strict=True):
            expected.append(one.predict_proba_one(x)[True])
            one.learn_one(x, y)
        said = []
        for start in range(0, len(data), 300):
            part = slice(start, start + 300)
            said.extend(many.answer_learn_many(data.iloc[part], labels[: len(data)].iloc[part]).probabilities)
        np.testing.assert_allclose(said, expected, rtol=1e-9, atol=1e-12)
        first, second = (model["FocusedClassifier"]._game for model in (one, many))
        assert first.player.generator.tolist() == second.player.generator.tolist()
        np.testing.assert_allclose(first.player.weights(), second.player.weights(), rtol=1e-9)


def test_a_pipeline_of_ours_takes_the_slow_way():
    for focused in (FocusedClassifier(Scaler() | HingeOGD()), FocusedRegressor(Scaler() | AbsoluteOGD())):
        assert focused._native is None
