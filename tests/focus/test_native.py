"""The kernels against the same game played row by row through the learners' public methods."""

from __future__ import annotations

import copy
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from reference_game import LEARNERS, SETTINGS, Reference, as_dicts, assert_same_game, numbers, run_both, sparse_numbers
from stream_maxloss.focus import AdmitAll, ClassQuota, FocusedClassifier, FocusedRegressor, Reservoir, Slack, SubSample
from stream_maxloss.linear import (
    AbsoluteOGD,
    HingeOGD,
)
from stream_maxloss.linear.batches import score_frame


@pytest.mark.parametrize("name", LEARNERS)
def test_replays_without_arrivals_play_the_same_game_at_both_speeds(name):
    frame, labels = numbers()
    settings = SETTINGS | {"replays": 2, "loss": "zero-one"}
    at_once, one_by_one, plain = (FocusedClassifier(LEARNERS[name].clone(), **settings) for _ in range(3))
    plain._native = None  # the way of foreign classifiers
    for model in (at_once, one_by_one, plain):
        for x, y in zip(as_dicts(frame[:60]), labels[:60], strict=True):
            model.learn_one(x, y)
    at_once.replay(50)
    plain.replay(50)
    for _ in range(50):
        one_by_one.replay(1)
    # Arrivals go on with the replays that they had.
    for model in (at_once, one_by_one, plain):
        for x, y in zip(as_dicts(frame[60:80]), labels[60:80], strict=True):
            model.learn_one(x, y)
    for model in (at_once, one_by_one, plain):
        assert model.describe()["replays"] == 60 * 2 + 50 + 20 * 2
        assert model._game.player.generator.tolist() == plain._game.player.generator.tolist()
        assert model._game.replayed.tolist() == plain._game.replayed.tolist()
        np.testing.assert_allclose(model._game.player.weights(), plain._game.player.weights(), rtol=1e-9)
        for feature, value in plain.classifier.weights.items():
            assert model.classifier.weights[feature] == pytest.approx(value, rel=1e-9, abs=1e-9)


def test_replays_without_arrivals_are_rounds_that_snapshots_are_drawn_from():
    frame, labels = numbers()
    focused = FocusedClassifier(HingeOGD(), window=150, replays=0, output="majority", snapshots=5, seed=1)
    focused.learn_many(frame, labels)
    assert focused._native.snapshots == 0
    focused.replay(3)
    assert focused._native.snapshots == 3
    focused.replay(100)
    assert focused._native.snapshots == 5
    assert focused._game.schedule.plan[2] == 103


@pytest.mark.parametrize("name", LEARNERS)
def test_both_speeds_play_the_reference_game(name):
    learner = LEARNERS[name]
    run_both(Reference(learner.clone()), lambda: FocusedClassifier(learner.clone(), **SETTINGS), *numbers())


@pytest.mark.parametrize(
    "options",
    [
        {"slack": Slack(2.0, "l1", 0.2)},
        {"slack": Slack(2.0, "l2", 0.2)},
        {"share": 0.01},
        {"admission": SubSample(rate=0.4)},
        {"admission": Reservoir()},
        {"admission": ClassQuota(15)},
        {"admission": AdmitAll(), "window": 1},
        {"replays": 0},
    ],
    ids=repr,
)
def test_every_option_plays_the_reference_game(options):
    settings = SETTINGS | options
    run_both(Reference(HingeOGD(), **settings), lambda: FocusedClassifier(HingeOGD(), **settings), *numbers())


@pytest.mark.parametrize(
    ("loss", "formula"),
    [("zero-one", lambda z: float(z < 0)), ("probability", lambda z: 1 / (1 + math.exp(z)))],
)
def test_every_loss_plays_the_reference_game(loss, formula):
    make = lambda: FocusedClassifier(HingeOGD(), loss=loss, **SETTINGS)  # noqa: E731
    run_both(Reference(HingeOGD(), formula), make, *numbers())


def test_sample_weights_follow_their_rows():
    frame, labels = numbers()
    weights = np.random.default_rng(1).uniform(0.5, 3.0, size=len(frame))
    one, _ = run_both(
        Reference(HingeOGD()), lambda: FocusedClassifier(HingeOGD(), **SETTINGS), frame, labels, weights=weights
    )
    assert {row.w for row in one.hardest(40)} <= set(weights.tolist())


@pytest.mark.parametrize("name", ["hinge", "lld", "winnow"])
def test_missing_values_and_text_play_the_reference_game(name):
    frame, labels = numbers()
    rng = np.random.default_rng(2)
    frame = frame.mask(rng.uniform(size=frame.shape) < 0.2)
    text = frame.assign(kind=rng.choice(["a", "b", None], size=len(frame)))
    learner = LEARNERS[name]
    for data in (frame, text):
        run_both(Reference(learner.clone()), lambda: FocusedClassifier(learner.clone(), **SETTINGS), data, labels)


@pytest.mark.parametrize("name", ["hinge", "winnow"])
def test_features_that_appear_late_play_the_reference_game(name):
    frame, labels = numbers(width=8)
    frame.iloc[:60, :4] = np.nan
    frame.iloc[100:, 6:] = np.nan
    learner = LEARNERS[name]
    run_both(Reference(learner.clone()), lambda: FocusedClassifier(learner.clone(), **SETTINGS), frame, labels)


@pytest.mark.parametrize("name", ["hinge", "hinge-ball", "winnow", "balanced-winnow", "llm"])
def test_sparse_rows_play_the_reference_game_and_are_stored_packed(name):
    learner = LEARNERS[name]
    one, many = run_both(
        Reference(learner.clone()), lambda: FocusedClassifier(learner.clone(), **SETTINGS), *sparse_numbers()
    )
    assert one._native.window.sparse
    assert many._native.window.sparse


def test_maps_of_sparse_rows_play_the_reference_game():
    frame, labels = sparse_numbers()
    dicts = as_dicts(frame)
    reference, focused = Reference(HingeOGD()), FocusedClassifier(HingeOGD(), **SETTINGS)
    for x, y in zip(dicts, labels, strict=True):
        reference.learn(x, y)
    column = pa.array([list(x.items()) for x in dicts], type=pa.map_(pa.string(), pa.float64()))
    for start in range(0, 150, 50):
        focused.learn_many(pa.table({"x": column[start : start + 50]}), labels.iloc[start : start + 50])
    assert_same_game(reference, focused)


def test_a_dense_window_turns_sparse_without_losing_a_row():
    wide = 100
    focused = FocusedClassifier(HingeOGD(), **SETTINGS)
    reference = Reference(HingeOGD())
    rng = np.random.default_rng(4)
    for step in range(150):
        x = {f"f{j}": float(j + 1) / wide for j in rng.integers(0, 3 if step < 60 else wide, size=3)}
        y = bool(rng.uniform() < 0.5)
        focused.learn_one(x, y)
        reference.learn(x, y)
    assert focused._native.window.sparse
    assert_same_game(reference, focused)


@pytest.mark.parametrize("loss", ["auto", "probability"])
@pytest.mark.parametrize("seed", range(12))
def test_names_that_keep_coming_give_the_same_bits_at_both_speeds(seed, loss):
    # At once, the window is packed from the start; one by one, when more than 64 names have come.
    generator = np.random.default_rng(seed)
    rows = [{f"w{generator.integers(min(90, 3 + i))}": generator.normal() for _ in range(6)} for i in range(300)]
    labels = [sum(value * (len(name) - 2.5) for name, value in x.items()) > 0.0 for x in rows]
    names = sorted({name for x in rows for name in x})
    frame = pa.table({name: pa.array([x.get(name) for x in rows], pa.float64()) for name in names})
    one_by_one, at_once = (FocusedClassifier(HingeOGD(), window=50, replays=6, seed=1, loss=loss) for _ in range(2))
    for x, y in zip(rows, labels, strict=True):
        one_by_one.learn_one(x, y)
    at_once.learn_many(frame, pa.array(labels))
    assert one_by_one._native.window.sparse
    assert one_by_one.classifier.weights == at_once.classifier.weights
    assert one_by_one._game.player.weights().tolist() == at_once._game.player.weights().tolist()


def test_hashed_features_play_the_same_game_at_both_speeds():
    frame, labels = numbers()
    one, many = (FocusedClassifier(HingeOGD(hash_bits=8), **SETTINGS) for _ in range(2))
    for x, y in zip(as_dicts(frame), labels, strict=True):
        one.learn_one(x, y)
    many.learn_many(frame, labels)
    np.testing.assert_allclose(one.classifier._model.weight_vector(), many.classifier._model.weight_vector(), rtol=1e-9)
    assert one._game.player.generator.tolist() == many._game.player.generator.tolist()


@pytest.mark.parametrize("kind", ["pandas", "polars", "table", "batch"])
def test_every_kind_of_frame_gives_the_same_scores_and_answers_in_kind(kind):
    frame, labels = numbers()
    convert = {
        "pandas": lambda f: f,
        "polars": pl.from_pandas,
        "table": pa.Table.from_pandas,
        "batch": pa.RecordBatch.from_pandas,
    }[kind]
    expected, focused = (FocusedClassifier(HingeOGD(), **SETTINGS) for _ in range(2))
    assert (
        focused.answer_learn_many(convert(frame), labels.tolist()).probabilities.tolist()
        == expected.answer_learn_many(frame, labels).probabilities.tolist()
    )
    answer = focused.predict_many(convert(frame))
    values = answer.to_pylist() if hasattr(answer, "to_pylist") else list(answer)
    assert values == [expected.predict_one(x) for x in as_dicts(frame)]


@pytest.mark.parametrize("output", ["last", "average", "majority"])
@pytest.mark.parametrize("span", ["history", "window"])
def test_progressive_scores_are_the_predictions_before_each_row(output, span):
    frame, labels = numbers()
    settings = SETTINGS | {"output": output, "span": span, "snapshots": 5}
    one, many = (FocusedClassifier(HingeOGD(), **settings) for _ in range(2))
    expected = []
    for x, y in zip(as_dicts(frame), labels, strict=True):
        expected.append(one.predict_proba_one(x)[True])
        one.learn_one(x, y)
    # Before the first snapshot a score is the learner's own, not a balance of votes.
    said = many.answer_learn_many(frame, labels).probabilities
    np.testing.assert_allclose(said, expected, rtol=1e-9, atol=1e-12)
    table = many.predict_proba_many(frame)
    np.testing.assert_allclose(table[True], [one.predict_proba_one(x)[True] for x in as_dicts(frame)], rtol=1e-9)


def test_snapshots_are_the_learner_as_it_was_at_their_rounds():
    frame, labels = numbers()
    focused = FocusedClassifier(HingeOGD(), output="average", snapshots=4, **SETTINGS)
    history = []
    for x, y in zip(as_dicts(frame), labels, strict=True):
        # With one replay a row, the learner before round t is the bare learner after arrival t.
        focused.learn_one(x, y)
        history.append(focused.classifier._model.memory.copy())
    assert focused._native.snapshots == 4
    predictions = focused._native.scores(frame)
    total = np.zeros(len(frame))
    for place in range(4):
        twin = copy.deepcopy(focused.classifier)
        twin._model.memory = focused._native._copies[place].copy()
        twin._model._forget_row()
        total += score_frame(twin._model, frame)
    np.testing.assert_allclose(predictions, total / 4, rtol=1e-9)


class TestRegressor:
    def data(self):
        frame, _ = numbers()
        rng = np.random.default_rng(5)
        return frame, pd.Series(frame.to_numpy() @ np.linspace(0, 1, 6) + 0.05 * rng.normal(size=len(frame)))

    @pytest.mark.parametrize("scale", [None, 0.3])
    @pytest.mark.parametrize("limits", [{}, {"low": 0.0, "high": 2.0}])
    def test_both_speeds_match_the_row_by_row_regressor(self, scale, limits):
        frame, targets = self.data()
        scale_of = scale or (2.0 if limits else None)
        settings = SETTINGS | {"scale": scale}
        one, many = (FocusedRegressor(AbsoluteOGD(**limits), **settings) for _ in range(2))
        plain = FocusedRegressor(AbsoluteOGD(**limits), **SETTINGS | {"scale": scale_of})
        plain._native = None  # the way of foreign regressors
        for x, y in zip(as_dicts(frame), targets, strict=True):
            one.learn_one(x, y)
            plain.learn_one(x, y)
        many.learn_many(frame, targets)
        for other in (one, many):
            assert other._game.player.generator.tolist() == plain._game.player.generator.tolist()
            np.testing.assert_allclose(other._game.player.weights(), plain._game.player.weights(), rtol=1e-9)
            np.testing.assert_allclose(
                other.predict_many(frame), [plain.predict_one(x) for x in as_dicts(frame)], rtol=1e-9
            )
            assert other.hardest(1)[0].loss == pytest.approx(plain.hardest(1)[0].loss, rel=1e-9)

    def test_the_average_is_of_predictions_within_the_range(self):
        # Corollary 2 bounds the loss of the mean prediction; scores far outside the range must not pull it.
        rng = np.random.default_rng(0)
        frame = pd.DataFrame(rng.uniform(-3, 3, size=(100, 2)), columns=["a", "b"])
        targets = (frame["a"] + frame["b"]).clip(0, 1)
        settings = SETTINGS | {"output": "average", "snapshots": 7, "scale": 1.0}
        ours, plain = (FocusedRegressor(AbsoluteOGD(lr=1.0, low=0.0, high=1.0), **settings) for _ in range(2))
        plain._native = None  # the way of foreign regressors
        for x, y in zip(as_dicts(frame), targets, strict=True):
            ours.learn_one(x, y)
            plain.learn_one(x, y)
        np.testing.assert_allclose(ours.predict_many(frame), plain.predict_many(frame), rtol=1e-9, atol=1e-12)
        assert ours.predict_one(as_dicts(frame)[0]) == pytest.approx(plain.predict_one(as_dicts(frame)[0]), rel=1e-9)


def test_the_window_keeps_every_entry_of_a_map_whose_columns_do_not_ascend() -> None:
    rows = [{"b": 4.0}, {"a": 4.0, "b": 1.0}, {"a": 1.0}, {"a": 3.0}, {"a": 4.0, "b": 4.0}, {}]
    labels = [True, True, False, True, True, False]
    maps = pa.array([list(x.items()) for x in rows], type=pa.map_(pa.string(), pa.float64()))
    one, many = (FocusedClassifier(HingeOGD(), window=4, replays=1, seed=1) for _ in range(2))
    for x, y in zip(rows, labels, strict=True):
        one.learn_one(x, y)
    many.learn_many(pa.table({"entries": maps}), labels)
    assert one.classifier.weights == many.classifier.weights
