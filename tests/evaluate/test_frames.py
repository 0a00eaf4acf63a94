"""Frames of all libraries wherever rows are taken, and errors that name what was given."""

from __future__ import annotations

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from river import compose, metrics, multiclass

from stream_maxloss.evaluate import progressive
from stream_maxloss.focus import FocusedClassifier
from stream_maxloss.linear import HingeOGD, Perceptron, Scaler

DATA = {"x": [1.0, -1.0] * 20, "y": [True, False] * 20}
TABLE = pa.table(DATA)


def relation():
    return duckdb.from_arrow(TABLE)


FRAMES = {"arrow": lambda: TABLE, "pandas": TABLE.to_pandas, "polars": lambda: pl.DataFrame(DATA), "duckdb": relation}


@pytest.mark.parametrize("name", FRAMES)
def test_one_frame_is_a_stream(name):
    (end,) = progressive(FRAMES[name](), Perceptron(), metrics.Accuracy(), target="y")
    assert end.values == {"Accuracy": 0.975}


@pytest.mark.parametrize("name", FRAMES)
def test_learners_take_any_frame(name):
    model = HingeOGD()
    X = (
        relation().project("x")
        if name == "duckdb"
        else FRAMES[name]()[["x"]]
        if name != "arrow"
        else TABLE.select(["x"])
    )
    model.learn_many(X, DATA["y"])
    assert list(model.predict_many(X).to_numpy())[:2] == [True, False]


WRONG = {
    "path": ("day.csv", "stream must yield rows or frames, got 'day.csv'"),
    "row": ([{"x": 1}], "stream must yield .* got {'x': 1}"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_stream_of_something_else_names_it(case):
    stream, message = WRONG[case]
    with pytest.raises(TypeError, match=message):
        list(progressive(stream, Perceptron(), metrics.Accuracy()))


def test_rows_that_are_no_frame_are_named():
    with pytest.raises(TypeError, match=r"rows must be a frame .* got a list; learn_one takes a dict"):
        Perceptron().learn_many([{"x": 1}], [True])


def test_what_is_almost_a_frame_is_told_how_to_become_one():
    import numpy as np

    with pytest.raises(TypeError, match=r"got numpy.ndarray; give its columns names: pandas.DataFrame\(X\)"):
        Perceptron().learn_many(np.ones((2, 2)), [True, False])
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"it holds no rows yet: frame.collect\(\)"):
        Perceptron().learn_many(polars.LazyFrame({"x": [1.0]}), [True])


def test_a_mutated_learner_continues_with_its_new_step():
    quick, slow, mutated = HingeOGD(lr=0.5), HingeOGD(lr=0.1), HingeOGD(lr=0.1)
    mutated.mutate({"lr": 0.5})
    for model in (quick, slow, mutated):
        model.learn_one({"x": 1.0}, True)
    assert mutated.weights == quick.weights != slow.weights
    assert mutated.lr == 0.5


def test_a_learner_in_a_pipeline_can_be_mutated_and_a_wrong_value_changes_nothing():
    model = compose.Pipeline(Scaler(), HingeOGD())
    model.mutate({"HingeOGD": {"lr": 0.5}})
    assert model["HingeOGD"].lr == 0.5
    with pytest.raises(ValueError, match="lr must be positive"):
        HingeOGD().mutate({"lr": -1.0})


def test_a_focused_learner_shows_the_weights_inside():
    model = FocusedClassifier(HingeOGD())
    model.learn_one({"x": 1.0}, True)
    assert model.weights == model.classifier.weights
    other = FocusedClassifier(multiclass.OneVsRestClassifier(HingeOGD()))
    with pytest.raises(AttributeError, match="got OneVsRestClassifier, which has none"):
        _ = other.weights


def test_one_against_the_rest_around_ours_learns_three_classes():
    model = multiclass.OneVsRestClassifier(HingeOGD())
    for n in range(90):
        model.learn_one({"abc"[n % 3]: 1.0}, "abc"[n % 3])
    assert [model.predict_one({name: 1.0}) for name in "abc"] == ["a", "b", "c"]


def test_pandas_without_a_list_keeps_its_index_out_of_the_features():
    frame = pd.DataFrame(DATA, index=range(100, 140))
    model = Perceptron()
    list(progressive(frame, model, metrics.Accuracy(), target="y"))
    assert set(model.weights) == {"x"}
