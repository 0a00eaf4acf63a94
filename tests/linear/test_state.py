"""States and pickles: N rows straight are N/2, saved, loaded into a fresh object, and N/2 more, bit for bit."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from river import datasets

from learners import PUBLIC
from stream_maxloss.linear import LLD, LLM, HingeOGD, MarginPursuit, Perceptron, Scaler

LEARNERS: dict[str, Callable[[], Any]] = {
    **PUBLIC,
    "Perceptron-averaged": lambda: Perceptron(averaged=True),
    "Perceptron-hashed": lambda: Perceptron(hash_bits=4),
    "HingeOGD": lambda: HingeOGD(radius=1.0),
    "MarginPursuit": lambda: MarginPursuit(scale="data", warmup=150, averaged=True),
    "LLM": lambda: LLM(update_epsilon=True),
}
ROWS = [({**x, "kind": "ab"[i % 2]} if i > 90 else x, y) for i, (x, y) in enumerate(datasets.Phishing())][:200]


def memory_of(model: Any) -> bytes:
    return model.state_dict()["memory"].tobytes()


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("way", ["state", "pickle"])
def test_a_learner_continues_bit_for_bit(learner: str, way: str) -> None:
    straight, half = LEARNERS[learner](), LEARNERS[learner]()
    for x, y in ROWS:
        straight.learn_one(x, y)
    for x, y in ROWS[:100]:
        half.predict_one(x)
        half.learn_one(x, y)
    if way == "state":
        state = half.state_dict()
        names = json.loads(json.dumps({k: v for k, v in state.items() if not isinstance(v, np.ndarray)}))
        other = LEARNERS[learner]()
        other.learn_one({"stale": 1.0}, 1)
        other.load_state_dict({**names, "memory": state["memory"]})
    else:
        other = pickle.loads(pickle.dumps(half))
    table = pa.Table.from_pylist([x for x, _ in ROWS[100:150]])
    other.learn_many(table, [y for _, y in ROWS[100:150]])
    half_memory = memory_of(half)
    for x, y in ROWS[150:]:
        other.learn_one(x, y)
    assert memory_of(other) == memory_of(straight)
    assert other.weights == straight.weights
    assert memory_of(half) == half_memory, "the state shares no memory with the learner it came from"


@pytest.mark.parametrize("way", ["state", "pickle"])
def test_a_scaler_continues_bit_for_bit(way: str) -> None:
    straight, half = Scaler(), Scaler()
    for x, _ in ROWS:
        straight.learn_one(x)
    for x, _ in ROWS[:100]:
        half.learn_one(x)
    other = Scaler()
    if way == "state":
        other.load_state_dict(half.state_dict())
    else:
        other = pickle.loads(pickle.dumps(half))
    for x, _ in ROWS[100:]:
        other.learn_one(x)
    assert other.state_dict()["statistics"].tobytes() == straight.state_dict()["statistics"].tobytes()
    assert other.transform_one(ROWS[0][0]) == straight.transform_one(ROWS[0][0])


STATES = {
    "other class": (lambda: LLD(), lambda: Perceptron(), "the same kind of learner; load it into one of that class"),
    "hashed into named": (lambda: Perceptron(hash_bits=4), lambda: Perceptron(), "the same kind of learner"),
    "fewer hash bits": (lambda: Perceptron(hash_bits=4), lambda: Perceptron(hash_bits=9), "room for its 512 features"),
    "other mu": (lambda: LLD(mu=1.0), lambda: LLD(), "the same parameters, got .*; construct it with those"),
    "averaged into plain": (lambda: Perceptron(averaged=True), lambda: Perceptron(), "the same parameters"),
    "other warm-up": (
        lambda: MarginPursuit(scale="data", warmup=9),
        lambda: MarginPursuit(scale="data", warmup=5),
        "the same kind of learner",
    ),
}


@pytest.mark.parametrize(("source", "sink", "message"), STATES.values(), ids=STATES)
def test_a_state_that_does_not_fit_is_refused_and_changes_nothing(
    source: Callable[[], Any], sink: Callable[[], Any], message: str
) -> None:
    model = sink()
    model.learn_one({"a": 1.0}, False)
    before = memory_of(model), model.weights
    with pytest.raises(ValueError, match=f"state must .*{message}"):
        model.load_state_dict(source().state_dict())
    assert (memory_of(model), model.weights) == before


def test_a_scaler_refuses_statistics_that_do_not_fit() -> None:
    scaler = Scaler()
    with pytest.raises(
        ValueError, match=r"state must hold three statistics for each of 1 features, got shape \(3, 0\)"
    ):
        scaler.load_state_dict({"statistics": np.zeros((3, 0)), "features.names": ["a"]})
    assert scaler.counts == {}
