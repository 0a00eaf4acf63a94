"""The library's own estimators go through a checkpoint and on as if nothing had happened."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from river import linear_model

from stream_maxloss import linear
from stream_maxloss.checkpoint import Content, build, describe, put_model, take_model
from stream_maxloss.errors import CheckpointError
from stream_maxloss.focus import ClassQuota, FocusedClassifier, FocusedRegressor, Slack, SubSample

MODELS = {
    "bare": lambda: linear.HingeOGD(averaged=True),
    "adaptive": lambda: linear.MarginPursuit(),
    "scaled": lambda: linear.Scaler() | linear.LLD(),
    "clipped": lambda: linear.Scaler(clip=1.5) | linear.LLD(),
    "focused": lambda: FocusedClassifier(linear.Pegasos(), window=60, replays=3, seed=5),
    "scaled and focused": lambda: linear.Scaler() | FocusedClassifier(linear.HingeOGD(), window=60, replays=3, seed=5),
    "forgiving": lambda: FocusedClassifier(
        linear.HingeOGD(), window=60, replays=3, slack=Slack(2.0), admission=SubSample(0.5), seed=5
    ),
    "by quota": lambda: FocusedClassifier(linear.HingeOGD(), window=60, replays=3, admission=ClassQuota(20), seed=5),
    "average": lambda: FocusedClassifier(linear.HingeOGD(), window=60, replays=3, output="average", seed=5),
    "regressor": lambda: linear.Scaler() | FocusedRegressor(linear.AbsoluteOGD(), window=60, replays=3, seed=5),
}


def rows_for(model, first: int, last: int):
    generator = np.random.default_rng(3)
    X = generator.normal(size=(400, 4))
    texts = generator.choice(["red", "green", "blue"], size=400)
    frame = pa.record_batch({**{f"x{j}": X[first:last, j] for j in range(4)}, "colour": texts[first:last]})
    values = X @ np.array([1.0, -1.0, 0.5, 0.0])
    return frame, (values if "Regressor" in repr(model) or "AbsoluteOGD" in repr(model) else values > 0.0)[first:last]


def content_of(model) -> Content:
    content = Content()
    put_model(content, model)
    return content


@pytest.mark.parametrize("name", MODELS)
def test_a_restored_model_continues_bit_for_bit(name):
    model = MODELS[name]()
    model.learn_many(*rows_for(model, 0, 200))
    restored = take_model(content_of(model))
    assert repr(restored) == repr(model)
    for each in (model, restored):
        each.learn_many(*rows_for(each, 200, 400))
    before, after = content_of(model), content_of(restored)
    assert after.values == before.values
    assert {k: a.tobytes() for k, a in after.arrays.items()} == {k: a.tobytes() for k, a in before.arrays.items()}


@pytest.mark.parametrize("name", MODELS)
def test_a_description_builds_an_equal_fresh_model(name):
    model = MODELS[name]()
    assert describe(build(describe(model))) == describe(model)


def test_a_focus_over_a_foreign_model_needs_pickle():
    model = FocusedClassifier(linear_model.LogisticRegression(), window=10)
    with pytest.raises(CheckpointError, match="allow_pickle"):
        put_model(Content(), model)


def test_the_kind_of_pipeline_is_kept():
    model = linear.Scaler() | linear.Perceptron()
    assert type(build(describe(model))) is linear.RowPipeline
