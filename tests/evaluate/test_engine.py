from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from river import base, linear_model

from stream_maxloss.evaluate import Engine
from stream_maxloss.linear import LLD, AbsoluteOGD, HingeOGD, Perceptron, Scaler

TABLE = pa.table({"a": [1.0, -2.0, 0.5, -1.0]})
LABELS = np.array([True, False, True, False])


def test_ours_run_in_a_kernel_and_others_row_by_row() -> None:
    assert Engine(Perceptron()).is_native
    assert Engine(Scaler() | AbsoluteOGD()).is_native
    assert not Engine(Scaler() | LLD(hash_bits=4)).is_native
    assert not Engine(linear_model.LogisticRegression()).is_native


@pytest.mark.parametrize("model", [LLD(), Scaler() | LLD()], ids=str)
def test_a_batch_is_answered_before_it_is_learned(model: Any) -> None:
    twin = model.clone()
    scored = Engine(model).learn(TABLE, LABELS)
    asked = []
    for x, y in zip(TABLE.to_pylist(), LABELS.tolist(), strict=True):
        asked.append(twin.predict_proba_one(x)[True])
        twin.learn_one(x, y)
    assert scored.probabilities is not None
    assert scored.probabilities.tolist() == pytest.approx(asked)
    assert scored.y_pred is not None
    assert scored.y_pred.tolist() == [p >= 0.5 for p in asked]


def test_another_model_answers_labels_or_probabilities_as_asked() -> None:
    labels = Engine(linear_model.LogisticRegression(), labels=True).learn(TABLE, LABELS).answers
    assert labels is not None
    assert set(map(type, labels)) == {bool}
    answers = Engine(linear_model.LogisticRegression(), labels=False).learn(TABLE, LABELS, w=2.0).answers
    assert answers is not None
    assert set(answers[0]) == {False, True}


@pytest.mark.parametrize("frame", [TABLE, TABLE.to_pandas(), pl.from_arrow(TABLE)], ids=["arrow", "pandas", "polars"])
def test_predicting_learns_nothing(frame: Any) -> None:
    model = LLD()
    model.learn_many(TABLE, LABELS)
    before = dict(model.weights)
    scored = Engine(model).predict(frame, LABELS)
    assert model.weights == before
    assert scored.probabilities is not None
    assert scored.probabilities.tolist() == [model.predict_proba_one(x)[True] for x in TABLE.to_pylist()]


def test_a_regressor_answers_clipped_values() -> None:
    scored = Engine(AbsoluteOGD(lr=100.0, low=-1.0, high=1.0)).learn(pd.DataFrame({"a": [1.0, 1.0]}), [5.0, 5.0])
    assert scored.y_pred is not None
    assert scored.y_pred.tolist() == [0.0, 1.0]


def test_a_score_just_below_zero_is_negative_though_its_probability_rounds_to_one_half() -> None:
    model = HingeOGD(lr=1e-18, schedule="constant", intercept=False)
    model.learn_one({"x": 1.0}, False)
    scored = Engine(model).predict(pa.table({"x": [1.0]}), [False])
    assert scored.probabilities is not None
    assert scored.probabilities.tolist() == [0.5]
    assert scored.y_pred.tolist() == [False] == [model.predict_one({"x": 1.0})]


class Cycle(base.Classifier):
    """A native learner of three classes: predicts the class after the last one it saw."""

    is_native = True

    def __init__(self):
        self.last = "a"

    def learn_one(self, x, y):
        self.last = y

    def predict_proba_one(self, x):
        return {"a": 0.25, "b": 0.25, "c": 0.25, self.last: 0.5}

    def answer_many(self, X):
        shares = np.array([list(self.predict_proba_one({}).values())] * X.num_rows)
        labels = np.array([self.last] * X.num_rows, dtype=object)
        return SimpleNamespace(labels=labels, probabilities=shares, classes=("a", "b", "c"))

    def answer_learn_many(self, X, y, w=1.0):
        rows = []
        for label in y:
            rows.append(self.answer_many(X.slice(0, 1)))
            self.learn_one({}, label)
        labels = np.concatenate([row.labels for row in rows])
        return SimpleNamespace(
            labels=labels, probabilities=np.concatenate([row.probabilities for row in rows]), classes=("a", "b", "c")
        )


@pytest.mark.parametrize("labels", [True, False], ids=["labels", "probabilities"])
def test_a_native_learner_of_several_classes_is_answered_for_by_the_protocol(labels):
    X, y = pa.table({"x": [1.0, 2.0, 3.0]}), np.array(["b", "c", "a"], dtype=object)
    engine = Engine(Cycle(), labels=labels)
    assert engine.is_native
    scored = engine.learn(X, y)
    assert scored.y_true.tolist() == ["b", "c", "a"]
    if labels:
        assert scored.answers == ["a", "b", "c"]
    else:
        assert scored.answers[1] == {"a": 0.25, "b": 0.5, "c": 0.25}
    assert len(engine.predict(X).answers) == 3
