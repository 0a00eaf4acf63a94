"""A model for each key: what it learns depends on the rows of that key alone."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from river import naive_bayes

from stream_maxloss import checkpoint
from stream_maxloss.checkpoint.registry import state_of
from stream_maxloss.errors import RowError
from stream_maxloss.evaluate import Engine
from stream_maxloss.focus import FocusedClassifier
from stream_maxloss.keyed import KeyedClassifier, KeyedRegressor, shard_of
from stream_maxloss.keyed.models import encode_record
from stream_maxloss.linear import AbsoluteOGD, HingeOGD, Logistic, Scaler

TEMPLATES: dict[str, Callable[[], Any]] = {
    "linear": HingeOGD,
    "scaled": lambda: Scaler() | HingeOGD(),
    "classes": lambda: Scaler() | Logistic(),
    "focused": lambda: Scaler() | FocusedClassifier(HingeOGD(), window=20, seed=1),
}


def make_rows(kind: str, rows: int = 600, seed: int = 0) -> tuple[pa.RecordBatch, list[Any]]:
    chance = np.random.default_rng(seed)
    keys = chance.zipf(1.3, rows) % 40
    values = chance.normal(size=(rows, 4))
    columns: dict[str, Any] = {"k": pa.array(keys), **{f"f{j}": pa.array(values[:, j]) for j in range(4)}}
    if kind == "text":
        columns["shape"] = pa.array(chance.choice(["round", "flat", "long"], rows))
    if kind == "absent":
        columns["f1"] = pa.array(values[:, 1], mask=chance.random(rows) < 0.2)
    return pa.record_batch(columns), (values[:, 0] > 0.3 * (keys % 3)).tolist()


def apart(template: Callable[[], Any], batches: list[tuple[pa.RecordBatch, list[Any]]]) -> dict[str, Any]:
    """Return a model for each key that was given the rows of that key, batch by batch."""
    models: dict[str, Any] = {}
    for X, y in batches:
        keys = X.column("k").to_pylist()
        for key in dict.fromkeys(keys):
            chosen = [row for row, own in enumerate(keys) if own == key]
            part = X.drop_columns(["k"]).take(pa.array(chosen))
            model = models.setdefault(str(key), template())
            for row, place in enumerate(chosen):
                x = {name: value for name, value in part.slice(row, 1).to_pylist()[0].items() if value is not None}
                model.learn_one(x, y[place])
    return models


@pytest.mark.parametrize("memory", [1 << 30, 1], ids=["in-memory", "shelved"])
@pytest.mark.parametrize("kind", ["numbers", "absent", "text"])
@pytest.mark.parametrize("name", TEMPLATES)
def test_a_keys_model_has_the_bits_of_one_that_learned_its_rows_alone(name: str, kind: str, memory: int) -> None:
    X, y = make_rows(kind)
    batches = [(X.slice(first, 200), y[first : first + 200]) for first in range(0, 600, 200)]
    model = KeyedClassifier(TEMPLATES[name](), "k", memory)
    for part, labels in batches:
        model.answer_learn_many(part, labels)
    expected = apart(TEMPLATES[name], batches)
    assert sorted(model.keys) == sorted(expected)
    for key, one in expected.items():
        assert learned(model.model_of(key)) == learned(one)
        if kind == "numbers":  # else a scaler's columns come in the order of its batches
            assert dict(model.records([key])) == {key: encode_record(state_of(one))}


def learned(model: Any) -> tuple[Any, ...]:
    """Return all numbers that a model has learned, by name."""
    steps = list(model.steps.values()) if hasattr(model, "steps") else [model]
    learner = getattr(steps[-1], "_wrapped_model", steps[-1])
    found = [(step.means, step.variances) for step in steps[:-1]]
    return learner.weights, learner.intercept, learner.n_rows, found


@pytest.mark.parametrize("name", TEMPLATES)
def test_both_speeds_say_and_learn_the_same(name: str) -> None:
    X, y = make_rows("text")
    one, many = (KeyedClassifier(TEMPLATES[name](), "k", 40_000) for _ in range(2))
    said = []
    for x, label in zip(X.to_pylist(), y, strict=True):
        said.append(one.predict_proba_one(x).get(True, 0.5 if name == "classes" else None))
        one.learn_one(x, label)
    answers = many.answer_learn_many(X, y)
    assert answers.probabilities.tolist() == said
    for key in one.keys:
        assert learned(one.model_of(key)) == learned(many.model_of(key))


def test_classes_of_all_keys_are_told_apart_and_a_new_key_says_nothing() -> None:
    X = pa.record_batch({"k": ["a", "b", "a", "b", "c"], "x": [1.0, 2.0, 1.5, 2.5, 0.0]})
    model = KeyedClassifier(Logistic(), "k")
    scored = Engine(model, labels=True, by_class=True).learn(X, ["red", "blue", "red", "green", "red"])
    assert list(scored.answers or ()) == [None, None, "red", "blue", None]
    assert model.classes == ["red", "blue", "green"]
    assert model.model_of("b").classes == ["blue", "green"]


def test_numbers_are_learned_by_key() -> None:
    X = pa.record_batch({"k": [1, 2] * 200, "x": [1.0] * 400})
    model = KeyedRegressor(AbsoluteOGD(), "k")
    model.learn_many(X, [3.0, -3.0] * 200)
    assert model.predict_many(X.slice(0, 2)).to_pylist() == pytest.approx([3.0, -3.0], abs=0.5)


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("memory", [1 << 30, 1], ids=["in-memory", "shelved"])
def test_a_refused_row_leaves_every_model_as_it_was(name: str, memory: int) -> None:
    X, y = make_rows("numbers")
    model = KeyedClassifier(TEMPLATES[name](), "k", memory)
    model.learn_many(X.slice(0, 300), y[:300])
    before = dict(model.records())
    values = X.column("f2").to_pylist()
    values[450] = float("inf")
    bad = X.set_column(3, "f2", pa.array(values))
    with pytest.raises(RowError, match="'f2' of row 150 must be finite") as caught:
        model.learn_many(bad.slice(300), y[300:])
    assert caught.value.row == 150
    assert dict(model.records()) == before
    model.learn_many(X.slice(300), y[300:])
    straight = KeyedClassifier(TEMPLATES[name](), "k")
    straight.learn_many(X.slice(0, 300), y[:300])
    straight.learn_many(X.slice(300), y[300:])
    assert dict(model.records()) == dict(straight.records())


def test_a_new_key_begins_with_the_prior_and_the_prior_learns_no_more() -> None:
    X, y = make_rows("numbers")
    prior = HingeOGD()
    prior.learn_many(X.drop_columns(["k"]), y)
    state = encode_record(prior.state_dict())
    model = KeyedClassifier(prior, "k")
    assert model.predict_one(X.slice(0, 1).to_pylist()[0]) == prior.predict_one(X.slice(0, 1).to_pylist()[0])
    model.learn_one({**X.slice(0, 1).to_pylist()[0], "k": "new"}, True)
    assert model.model_of("new").n_rows == 601
    assert encode_record(prior.state_dict()) == state


@pytest.mark.parametrize("name", [*TEMPLATES, "foreign"])
@pytest.mark.parametrize("how", ["state", "pickle", "deepcopy", "checkpoint"])
def test_what_is_saved_continues_as_if_nothing_had_happened(name: str, how: str, tmp_path: Path) -> None:
    if name == "foreign" and how == "state":
        pytest.skip("a foreign model has no state but its pickle")
    template = TEMPLATES.get(name, naive_bayes.GaussianNB)
    X, y = make_rows("numbers")
    rows = X.drop_columns(["k"]).append_column("k", X.column("k").cast(pa.string()))
    first, second = (rows.slice(0, 300), y[:300]), (rows.slice(300), y[300:])
    model, straight = (KeyedClassifier(template(), "k", 30_000) for _ in range(2))
    Engine(model).learn(*first)
    if how == "state":
        again = KeyedClassifier(template(), "k", 30_000)
        again.load_state_dict(model.state_dict())
    elif how == "checkpoint":
        checkpoint.save(tmp_path, model, allow_pickle=name == "foreign")
        again = checkpoint.load(tmp_path, allow_pickle=name == "foreign")
    else:
        again = pickle.loads(pickle.dumps(model)) if how == "pickle" else copy.deepcopy(model)
    Engine(again).learn(*second)
    for part in (first, second):
        Engine(straight).learn(*part)
    if name != "foreign":
        assert dict(again.records()) == dict(straight.records())
    x = X.slice(5, 1).to_pylist()[0]
    assert again.predict_proba_one(x) == straight.predict_proba_one(x)


def test_a_checkpoint_writes_only_what_has_learned_since(tmp_path: Path) -> None:
    X, y = make_rows("numbers", 2000)
    model = KeyedClassifier(HingeOGD(), "k")
    model.learn_many(X, y)
    with checkpoint.CheckpointStore(tmp_path) as store:
        checkpoint.save(store, model)
        model.learn_one(X.slice(0, 1).to_pylist()[0], True)
        checkpoint.save(store, model)
        first, second = (sorted(store.path(seq).glob("*.models")) for seq in (1, 2))
    assert len(first) == 1
    assert len(second) == 2
    assert second[0].samefile(first[0])
    assert second[1].stat().st_size * len(model.keys) == pytest.approx(first[0].stat().st_size, rel=0.1)
    assert dict(checkpoint.load(tmp_path).records()) == dict(model.records())


def test_segments_stay_few_and_small_however_often_it_is_saved(tmp_path: Path) -> None:
    X, y = make_rows("numbers", 200)
    model = KeyedClassifier(HingeOGD(), "k")
    with checkpoint.CheckpointStore(tmp_path) as store:
        for turn in range(80):
            model.learn_many(X.slice(turn, 100), y[turn : turn + 100])
            checkpoint.save(store, model)
        assert len(list(store.path(80).glob("*.models"))) <= 33
    assert dict(checkpoint.load(tmp_path).records()) == dict(model.records())


@pytest.mark.parametrize(
    ("row", "reason"),
    [({"x": 1.0}, "key column 'k' must have a value"), ({"k": None, "x": 1.0}, "key column 'k' must have a value")],
    ids=["absent", "null"],
)
def test_a_row_without_a_key_is_refused(row: dict[str, Any], reason: str) -> None:
    model = KeyedClassifier(HingeOGD(), "k")
    with pytest.raises(ValueError, match=reason):
        model.learn_one(row, True)
    with pytest.raises(RowError, match=reason) as caught:
        model.learn_many(pa.table({"k": ["a", None], "x": [1.0, 2.0]}), [True, False])
    assert caught.value.row == 1
    assert not model.keys


def test_one_key_is_one_key_whatever_type_it_comes_as() -> None:
    model = KeyedClassifier(HingeOGD(), "k")
    for key in (17, 17.0, "17", np.int64(17)):
        model.learn_one({"k": key, "x": 1.0}, True)
    model.learn_many(pa.table({"k": pa.array([17.0]), "x": [1.0]}), [True])
    assert model.keys == ["17"]


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_a_keys_model_has_the_same_bits_however_many_workers_share_the_keys(workers: int) -> None:
    X, y = make_rows("numbers")
    labels = np.array(y)
    alone = KeyedClassifier(Scaler() | HingeOGD(), "k")
    alone.learn_many(X, labels)
    owner = np.array([shard_of(str(key)) % workers for key in X.column("k").to_pylist()])
    found: dict[str, bytes] = {}
    for worker in range(workers):
        rows = np.flatnonzero(owner == worker)
        model = KeyedClassifier(Scaler() | HingeOGD(), "k", memory=1)
        for part in np.array_split(rows, 3):  # cut otherwise than alone
            model.learn_many(X.take(pa.array(part)), labels[part])
        found |= dict(model.records())
    assert found == dict(alone.records())
