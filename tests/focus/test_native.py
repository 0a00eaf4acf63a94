"""The kernels against the same game played row by row through the learners' public methods."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from stream_maxloss.focus import AdmitAll, ClassQuota, FocusedClassifier, FocusedRegressor, Reservoir, Slack, SubSample
from stream_maxloss.focus.game import Game, replay_entry_point
from stream_maxloss.linear import (
    LLD,
    LLM,
    AbsoluteOGD,
    BalancedWinnow,
    HingeOGD,
    MarginPursuit,
    Pegasos,
    Perceptron,
    Scaler,
    Winnow,
)
from stream_maxloss.linear.memory import HEADER, vector_v
from stream_maxloss.linear.rules import game_loss

SETTINGS = {"window": 40, "replays": 4, "seed": 7}
LEARNERS = {
    "perceptron": Perceptron(),
    "hinge": HingeOGD(),
    "hinge-ball": HingeOGD(radius=2.0, margin=0.5),
    "pegasos": Pegasos(),
    "margin-pursuit": MarginPursuit(),
    "lld": LLD(),
    "llm": LLM(),
    "winnow": Winnow(),
    "balanced-winnow": BalancedWinnow(),
}


def numbers(rows=150, width=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(rows, width))
    y = X @ np.linspace(-1, 1, width) + 0.1 * rng.normal(size=rows) > 0
    return pd.DataFrame(X, columns=[f"f{j}" for j in range(width)]), pd.Series(y)


def as_dicts(frame):
    dicts = []
    for row in frame.to_dict("records"):
        dicts.append({name: value for name, value in row.items() if value is not None and value == value})
    return dicts


class Reference:
    """Focused learning spelled out: the game's parts in Python, the learner through `learn_one`."""

    def __init__(self, learner, loss=None, slack=None, admission="all", share=0.0, window=40, replays=4, seed=7):
        self.learner, self.loss = learner, loss
        self.game = Game(window, replays, 0.5, None, share, admission, slack, 0, "history", seed)
        self.rows = {}

    def learn(self, x, y, w=1.0):
        game, player = self.game, self.game.player
        self.learner.learn_one(x, y, w=w)
        slot = game.admit(y)
        if slot >= 0:
            self.rows[slot] = (dict(x), y, w)
        if not (game.size and game.replays):
            return
        slot, p = player.draw()
        for left in range(game.replays - 1, -1, -1):
            row, label, weight = self.rows[slot]
            score = self.learner._model.score(row)
            target = 1.0 if label else -1.0
            loss = (
                self.loss(target * score)
                if self.loss
                else game_loss(self.learner._model.memory[:HEADER], score, target)
            )
            self.learner.learn_one(row, label, w=weight)
            if game.slack.active:
                loss -= game.slack.get(slot)
                game.slack.step(slot)
            slot, p = replay_entry_point()(game.handle, slot, p, loss, left > 0)


def assert_same_game(reference, focused):
    game, other = reference.game, focused._game
    assert game.player.generator.tolist() == other.player.generator.tolist()
    assert game.replayed.tolist() == other.replayed.tolist()
    assert game.arrived.tolist() == other.arrived.tolist()
    np.testing.assert_allclose(game.player.weights(), other.player.weights(), rtol=1e-9)
    ours = focused._wrapped_model.weights
    assert ours.keys() == reference.learner.weights.keys()
    for name, value in reference.learner.weights.items():
        assert ours[name] == pytest.approx(value, rel=1e-9, abs=1e-9)
    for slot, (x, y, w) in reference.rows.items():
        row, target, weight = focused._native.row(slot)
        features = {f"{n}={v}" if isinstance(v, str) else n: 1.0 if isinstance(v, str) else v for n, v in x.items()}
        assert row == {name: pytest.approx(value) for name, value in features.items() if value != 0.0}
        assert (target > 0, weight) == (bool(y), w)


def run_both(reference, make, frame, labels, weights=None, batch=37):
    one, many = make(), make()
    weights = np.ones(len(frame)) if weights is None else weights
    for x, y, w in zip(as_dicts(frame), labels, weights, strict=True):
        reference.learn(x, y, w=w)
        one.learn_one(x, y, w=w)
    for start in range(0, len(frame), batch):
        part = slice(start, start + batch)
        many.learn_many(frame.iloc[part], labels.iloc[part], w=weights[part])
    assert_same_game(reference, one)
    assert_same_game(reference, many)
    return one, many


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


def sparse_numbers(rows=150, width=300, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.1, 1.0, size=(rows, width)) * (rng.uniform(size=(rows, width)) < 0.03)
    y = X @ rng.normal(size=width) > 0
    X[X == 0] = np.nan
    return pd.DataFrame(X, columns=[f"f{j}" for j in range(width)]), pd.Series(y)


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
        focused._learn_scored(convert(frame), labels.tolist()).tolist()
        == expected._learn_scored(frame, labels).tolist()
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
    scores = many._learn_scored(frame, labels)
    first = many._positive(scores)
    # Before the first snapshot a score is the learner's own, not a balance of votes.
    first[0] = 0.5
    np.testing.assert_allclose(first, expected, rtol=1e-9, atol=1e-12)
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
        total += twin._model.scores(frame)
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
    assert whole._learn_scored(frame, labels).tolist() == half._learn_scored(frame, labels).tolist()
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
    with pytest.raises(ValueError, match="one label per row of X, got 10 labels"):
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
        scores = []
        for start in range(0, len(data), 300):
            part = slice(start, start + 300)
            scores.extend(many._learn_scored(data.iloc[part], labels[: len(data)].iloc[part]))
        np.testing.assert_allclose(1 / (1 + np.exp(-np.array(scores))), expected, rtol=1e-9, atol=1e-12)
        first, second = (model["FocusedClassifier"]._game for model in (one, many))
        assert first.player.generator.tolist() == second.player.generator.tolist()
        np.testing.assert_allclose(first.player.weights(), second.player.weights(), rtol=1e-9)


def test_a_pipeline_of_ours_takes_the_slow_way():
    for focused in (FocusedClassifier(Scaler() | HingeOGD()), FocusedRegressor(Scaler() | AbsoluteOGD())):
        assert focused._native is None
