"""`learn_many` is `learn_one` row by row, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from streams import frame_of, mixed_stream, same_state

from stream_maxloss.mixture import AutoClassifier


def learned_one_by_one(x: list[dict[str, Any]], y: list[Any], **params: Any) -> AutoClassifier:
    model = AutoClassifier(seed=3, **params)
    for row, label in zip(x, y, strict=True):
        model.learn_one(row, label)
    return model


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(("compute", "memory"), [("normal", 10_000), ("normal", 150), ("least", 300), ("most", 200)])
def test_batches_learn_what_single_rows_learn(classes: int, compute: str, memory: int) -> None:
    x, y = mixed_stream(450, classes)
    slow = learned_one_by_one(x, y, compute=compute, memory=memory)
    fast = AutoClassifier(seed=3, compute=compute, memory=memory)
    frame, labels = frame_of(x), np.array(y)
    for first, last in ((0, 37), (37, 101), (101, 101), (101, 430), (430, 450)):
        if first < last:
            fast.learn_many(frame[first:last], labels[first:last])
    assert same_state(slow.state_dict(), fast.state_dict())


def test_predictions_before_learning_are_those_of_single_rows() -> None:
    x, y = mixed_stream(300)
    said = AutoClassifier(seed=3).answer_learn_many(frame_of(x), y).probabilities
    model = AutoClassifier(seed=3)
    for row, label, p in zip(x, y, said, strict=True):
        assert model.predict_proba_one(row).get(True, 0.5) == p
        model.learn_one(row, label)


def test_answers_leave_the_model_as_it_was() -> None:
    x, y = mixed_stream(250, classes=3)
    model = learned_one_by_one(x, y)
    before = model.state_dict()
    frame = frame_of(x)
    said = model.answer_many(frame)
    assert [model.predict_one(row) for row in x] == said.labels.tolist() == model.predict_many(frame).tolist()
    for row, p in zip(x, said.probabilities, strict=True):
        assert list(model.predict_proba_one(row).values()) == p.tolist()
    assert same_state(before, model.state_dict())


def test_the_order_of_keys_and_arrow_make_no_difference() -> None:
    x, y = mixed_stream(200)
    model = learned_one_by_one(x, y)
    turned = learned_one_by_one([dict(reversed(row.items())) for row in x], y)
    arrow = AutoClassifier(seed=3)
    arrow.learn_many(pa.Table.from_pandas(frame_of(x), preserve_index=False), y)
    assert same_state(model.state_dict(), turned.state_dict())
    assert model.predict_proba_one(x[0]) == turned.predict_proba_one(x[0]) == arrow.predict_proba_one(x[0])


def test_sample_weights_count_at_both_speeds() -> None:
    x, y = mixed_stream(200)
    w = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    slow, fast, even = (AutoClassifier(seed=3) for _ in range(3))
    for row, label, weight in zip(x, y, w, strict=True):
        slow.learn_one(row, label, w=float(weight))
    fast.learn_many(frame_of(x), y, w)
    even.learn_many(frame_of(x), y)
    assert same_state(slow.state_dict(), fast.state_dict())
    assert slow.predict_proba_one(x[0]) != even.predict_proba_one(x[0])
