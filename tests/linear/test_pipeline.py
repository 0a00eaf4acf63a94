from __future__ import annotations

import pyarrow as pa
import pytest
from river import compose, linear_model, preprocessing

from stream_maxloss.linear import LLD, HingeOGD, Perceptron, RowPipeline, Scaler

TABLE = pa.table({"a": [1.0, 5.0, 2.0, 8.0], "s": ["x", "y", "x", None]})
LABELS = [False, True, False, True]


def test_a_scaler_and_a_learner_make_a_row_pipeline() -> None:
    model = Scaler() | Perceptron()
    assert isinstance(model, RowPipeline)
    assert model.is_native
    assert not (Scaler() | LLD(hash_bits=4)).is_native
    assert not (Scaler() | linear_model.LogisticRegression()).is_native


def test_the_pipeline_gives_what_rivers_gives_row_by_row() -> None:
    ours, rivers = Scaler() | LLD(), compose.Pipeline(Scaler(), LLD())
    for x, y in zip(TABLE.to_pylist(), LABELS, strict=True):
        assert ours.predict_proba_one(x) == rivers.predict_proba_one(x)
        ours.learn_one(x, y)
        rivers.learn_one(x, y)
    assert ours["LLD"].weights == rivers["LLD"].weights


def test_many_rows_are_predicted_as_one_by_one() -> None:
    model = Scaler() | LLD()
    model.learn_many(TABLE, LABELS, w=[1.0, 2.0, 1.0, 0.5])
    expected = [model.predict_proba_one(x)[True] for x in TABLE.to_pylist()]
    assert model.predict_proba_many(TABLE)["True"].to_pylist() == pytest.approx(expected, rel=1e-12)


def test_any_river_model_behind_the_scaler_learns_a_batch_row_by_row() -> None:
    table = TABLE.select(["a"])
    one, many = (Scaler() | linear_model.LogisticRegression() for _ in range(2))
    weights = [1.0, 2.0, 1.0, 0.5]
    for x, y, w in zip(table.to_pylist(), LABELS, weights, strict=True):
        one.learn_one(x, y, w=w)
    many.learn_many(table, LABELS, w=weights)
    assert many["LogisticRegression"].weights == pytest.approx(one["LogisticRegression"].weights)


def test_three_steps_still_learn_row_by_row() -> None:
    one, many = (Scaler() | preprocessing.MinMaxScaler() | Perceptron() for _ in range(2))
    table = TABLE.select(["a"])
    for x, y in zip(table.to_pylist(), LABELS, strict=True):
        one.learn_one(x, y)
    many.learn_many(table, LABELS)
    assert many["Perceptron"].weights == pytest.approx(one["Perceptron"].weights)


def test_a_refused_row_undoes_the_scaler_too() -> None:
    model = Scaler() | Perceptron()
    model.learn_one({"a": 1.0}, True)
    with pytest.raises(ValueError, match="label must be"):
        model.learn_one({"a": 3.0, "b": 1.0}, "cat")
    assert model["Scaler"].means == {"a": 1.0}


def test_a_row_scored_after_a_batch_takes_the_short_cut_and_keeps_its_bits():
    model = HingeOGD()
    table = pa.table({"a": [1.0, -2.0, 3.0, -1.0], "b": [0.5, 0.25, -4.0, 2.0]})
    row = {"b": 0.75, "a": 1.5}
    for turn in range(3):
        model.learn_many(table, [True, False, True, False])
        wanted = model.predict_proba_many(pa.table({"a": [1.5], "b": [0.75]})).column(1)[0].as_py()
        said = [model.predict_proba_one(row)[True] for _ in range(4)]
        assert said == [wanted] * 4, turn
