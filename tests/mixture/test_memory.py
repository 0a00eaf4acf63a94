"""Memory is bounded, and what is dropped to keep it so does no harm."""

from __future__ import annotations

import numpy as np
import pytest
from streams import mixed_stream

from stream_maxloss.mixture import AutoClassifier, memory
from stream_maxloss.mixture.names import BoundedFeatureMap


def test_a_long_stream_takes_no_more_than_a_short_one() -> None:
    x, y = mixed_stream(900)
    model = AutoClassifier(seed=1, memory=100)
    sizes = []
    for row, label in zip(x, y, strict=True):
        model.learn_one(row, label)
        sizes.append(model.memory_bytes)
    assert sizes[-1] == sizes[450]


def test_columns_beyond_the_limit_share() -> None:
    model = AutoClassifier(seed=1, compute="least")
    model._model.features = BoundedFeatureMap(limit=64)
    for i in range(300):
        model.learn_one({f"word {i % 200}": 1.0, f"kind {i % 2}": 1.0}, i % 2 == 1)
    assert len(model._model.features) == 64
    assert model.predict_one({"kind 1": 1.0})
    assert not model.predict_one({"kind 0": 1.0})


def test_a_map_that_was_full_for_a_refused_batch_grows_again() -> None:
    features = BoundedFeatureMap(limit=3)
    features.add(["1", "2", "3", "4"])
    assert features.find_numbers(np.array([4])).tolist() == [features.find("4")]
    features.truncate(1)
    assert features.find_numbers(np.array([4])).tolist() == [-1]
    assert features.grows


@pytest.mark.parametrize("limit", [1 << 15, 1 << 12])
def test_many_classes_cost_depth_and_not_memory(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST_CELLS", limit)
    model = AutoClassifier(seed=1, memory=200)
    draw = np.random.default_rng(1)
    right = 0
    for i in range(600):
        number = int(draw.integers(12))
        row = {"x": number + 0.1 * draw.random(), "y": float(draw.random())}
        right += i > 400 and model.predict_one(row) == f"class {number}"
        model.learn_one(row, f"class {number}")
    cells = model._model.memory["leaves"].shape[1] * 12
    assert cells <= max(limit, 128 * 12)
    assert right > 100


def test_rows_longer_than_the_window_keeps_are_learned() -> None:
    model = AutoClassifier(seed=1, memory=50)
    draw = np.random.default_rng(1)
    for i in range(150):
        row = {f"w{j}": 1.0 for j in draw.integers(0, 5000, 900)}
        row["sign"] = 1.0 if i % 2 else -1.0
        model.learn_one(row, i % 2 == 1)
    assert model.predict_one({"sign": 1.0})
    assert not model.predict_one({"sign": -1.0})


def test_one_wild_value_does_not_flatten_the_others() -> None:
    draw = np.random.default_rng(1)
    models = AutoClassifier(seed=1, compute="least"), AutoClassifier(seed=1, compute="least")
    right = [0, 0]
    for i in range(600):
        x = float(draw.normal())
        for k, model in enumerate(models):
            shown = 1e12 if k == 1 and i == 50 else x
            right[k] += i > 60 and model.predict_one({"x": shown}) == (x > 0)
            model.learn_one({"x": shown}, x > 0)
    assert right[1] > right[0] - 30
