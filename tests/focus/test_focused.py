"""The focused estimators around learners that are not ours, and what they refuse."""

from __future__ import annotations

import copy
import json
import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from river import base, compose, feature_extraction, linear_model, multiclass, naive_bayes, preprocessing, tree

from stream_maxloss.focus import ClassQuota, FocusedClassifier, FocusedRegressor, Slack
from stream_maxloss.linear import HingeOGD
from stream_maxloss.random import make_generator, next_below, next_uniform


def stream(rows=120, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    for _ in range(rows):
        x = {f"f{j}": float(value) for j, value in enumerate(rng.normal(size=4))}
        score = x["f0"] + 0.5 * x["f1"] + 0.2 * rng.normal()
        yield x, (score > 0 if classes == 2 else "abc"[int(np.digitize(score, [-0.5, 0.5]))])


class Recorder(base.Classifier):
    """Counts what it learns; always says the same probability."""

    def __init__(self):
        self.learned = []

    def learn_one(self, x, y, w=1.0):
        self.learned.append((dict(x), y, w))

    def predict_proba_one(self, x):
        return {False: 0.25, True: 0.75}


def transcription(rows, replays, seed, gamma=0.5):
    """Focused Online Learning after Shalev-Shwartz and Wexler (2016), section 2.3, on a window that only grows."""
    learner = linear_model.LogisticRegression()
    window, weights, drawn = [], [], []
    generator = make_generator(int(make_generator(seed)[0]))
    for x, y in rows:
        learner.learn_one(x, y)
        window.append((x, y))
        weights.append(sum(weights) / len(weights) if weights else 1.0)
        m = len(window)
        for _ in range(replays):
            root = sum(weights)
            if next_uniform(generator) < gamma:
                i = next_below(generator, m)
            else:
                mass, i = next_uniform(generator) * root, 0
                while mass >= weights[i]:
                    mass -= weights[i]
                    i += 1
            p = gamma / m + (1 - gamma) * weights[i] / root
            loss = 1 - learner.predict_proba_one(window[i][0])[window[i][1]]
            learner.learn_one(*window[i])
            weights[i] *= math.exp(1 / (2 * m) * loss / p)
            drawn.append(i)
    return learner, weights, drawn


@pytest.mark.parametrize("seed", range(5))
def test_a_growing_window_matches_the_transcription_of_the_paper(seed):
    rows = list(stream())
    learner, weights, drawn = transcription(rows, replays=3, seed=seed)
    focused = FocusedClassifier(linear_model.LogisticRegression(), window=500, replays=3, seed=seed)
    for x, y in rows:
        focused.learn_one(x, y)
    assert focused._game.replayed[: len(rows)].tolist() == np.bincount(drawn, minlength=len(rows)).tolist()
    np.testing.assert_allclose(focused._game.player.weights(), weights, rtol=1e-9)
    for name, value in learner.weights.items():
        assert focused.classifier.weights[name] == pytest.approx(value, rel=1e-9)


def test_the_row_that_came_is_always_learned_then_the_replays():
    recorder = Recorder()
    focused = FocusedClassifier(recorder, window=10, replays=2, seed=1)
    rows = list(stream(5))
    for number, (x, y) in enumerate(rows):
        focused.learn_one(x, y)
        assert recorder.learned[3 * number][:2] == (x, y)
    assert len(recorder.learned) == 15


def test_the_oldest_row_leaves_a_full_window():
    focused = FocusedClassifier(Recorder(), window=4, replays=1, seed=1)
    for number in range(11):
        focused.learn_one({"n": number}, True)
    assert sorted(row.x["n"] for row in focused.hardest()) == [7, 8, 9, 10]
    assert sorted(row.age for row in focused.hardest()) == [0, 1, 2, 3]


def test_a_sample_weight_follows_its_row_into_every_replay():
    recorder = Recorder()
    focused = FocusedClassifier(recorder, window=10, replays=3, seed=2)
    for number in range(8):
        focused.learn_one({"n": number}, True, w=float(number + 1))
    assert all(w == x["n"] + 1 for x, _, w in recorder.learned)
    assert all(row.w == row.x["n"] + 1 for row in focused.hardest())


def test_the_caller_s_row_is_never_aliased():
    focused = FocusedClassifier(Recorder(), window=5, replays=0)
    x = {"a": 1.0, "tags": ["red"]}
    focused.learn_one(x, True)
    x["a"] = 9.0
    x["tags"].append("blue")
    assert focused.hardest()[0].x == {"a": 1.0, "tags": ["red"]}
    focused.hardest()[0].x["a"] = 7.0
    assert focused.hardest()[0].x["a"] == 1.0


def test_text_rows_work_through_a_pipeline():
    model = compose.Pipeline(("bag", feature_extraction.BagOfWords()), ("nb", naive_bayes.MultinomialNB()))
    focused = FocusedClassifier(model, window=5, replays=2, seed=1)
    for text, y in [("cheap pills", True), ("see you at noon", False), ("cheap watches", True)]:
        focused.learn_one(text, y)
    assert focused.predict_one("cheap pills") is True


@pytest.mark.parametrize("output", ["last", "average", "majority"])
def test_more_classes_than_two_are_learned(output):
    model = multiclass.OneVsRestClassifier(preprocessing.StandardScaler() | linear_model.LogisticRegression())
    focused = FocusedClassifier(model, window=100, replays=3, output=output, snapshots=5, seed=1)
    right = 0
    for number, (x, y) in enumerate(stream(400, classes=3)):
        right += number >= 200 and focused.predict_one(x) == y
        focused.learn_one(x, y)
    assert right > 120
    probabilities = focused.predict_proba_one(x)
    assert set(probabilities) == set("abc")
    assert sum(probabilities.values()) == pytest.approx(1.0)


def test_snapshots_vote_and_average_as_they_were():
    average, majority = (
        FocusedClassifier(linear_model.LogisticRegression(), window=50, output=o, snapshots=5, replays=2, seed=3)
        for o in ("average", "majority")
    )
    for x, y in stream():
        average.learn_one(x, y)
        majority.learn_one(x, y)
    mean = np.mean([snapshot.predict_proba_one(x)[True] for snapshot in average._snapshots])
    votes = np.mean([snapshot.predict_one(x) for snapshot in majority._snapshots])
    assert len(average._snapshots) == 5
    assert average.predict_proba_one(x)[True] == pytest.approx(mean)
    assert majority.predict_proba_one(x)[True] == pytest.approx(votes)
    assert majority.predict_one(x) == (votes > 0.5)


def test_slack_of_a_hopeless_row_takes_it_out_of_the_game():
    class Hopeless(Recorder):
        def predict_proba_one(self, x):
            return {True: 0.0 if x["n"] == 3 else 1.0}

    shares = {}
    for slack in (None, Slack(1.0, "l1", 0.05)):
        focused = FocusedClassifier(Hopeless(), window=10, replays=40, slack=slack, seed=4)
        for number in range(10):
            focused.learn_one({"n": number}, True)
        shares[slack] = next(row.weight for row in focused.hardest() if row.x["n"] == 3)
    assert shares[None] > 0.9
    assert shares[Slack(1.0, "l1", 0.05)] < shares[None]
    assert focused.describe()["slack_spent"] == pytest.approx(1.0)


def test_seeded_estimators_agree_and_unseeded_differ():
    def draws(seed):
        focused = FocusedClassifier(Recorder(), window=20, replays=3, seed=seed)
        for x, y in stream(30):
            focused.learn_one(x, y)
        return focused._game.replayed.tolist()

    assert draws(5) == draws(5)
    assert draws(None) != draws(None)


@pytest.mark.parametrize("style", ["pickle", "deepcopy", "state_dict"])
def test_half_saved_loaded_and_the_other_half_is_the_whole(style):
    rows = list(stream(200))
    settings = {"window": 40, "replays": 3, "slack": 1.0, "share": 0.001, "admission": ClassQuota(), "seed": 6}
    whole = FocusedClassifier(linear_model.LogisticRegression(), **settings)
    for x, y in rows[:100]:
        whole.learn_one(x, y, w=2.0)
    if style == "state_dict":
        half = FocusedClassifier(copy.deepcopy(whole.classifier), **settings)
        state = whole.state_dict()
        # Everything but arrays must survive JSON.
        loose = json.loads(json.dumps({k: v for k, v in state.items() if not isinstance(v, np.ndarray)}))
        half.load_state_dict({**state, **loose})
    else:
        half = pickle.loads(pickle.dumps(whole)) if style == "pickle" else copy.deepcopy(whole)
    for x, y in rows[100:]:
        whole.learn_one(x, y)
        half.learn_one(x, y)
    assert whole.classifier.weights == half.classifier.weights
    assert whole._game.player.weights().tolist() == half._game.player.weights().tolist()
    assert whole.hardest() == half.hardest()


def test_snapshots_of_foreign_learners_refuse_a_state_without_pickle():
    focused = FocusedClassifier(linear_model.LogisticRegression(), output="average", window=10, replays=2)
    focused.learn_one({"a": 1.0}, True)
    with pytest.raises(ValueError, match="output must be 'last' to save"):
        focused.state_dict()


def test_a_clone_starts_empty():
    focused = FocusedClassifier(linear_model.LogisticRegression(), window=10, slack=Slack(2.0), seed=1)
    focused.learn_one({"a": 1.0}, True)
    clone = focused.clone()
    assert (clone._game.size, len(clone._rows), clone.slack) == (0, 0, Slack(2.0))


@pytest.mark.parametrize("kind", ["pandas", "polars", "table", "batch"])
def test_frames_of_every_kind_equal_the_row_loop(kind):
    rows = list(stream(60))
    frame = pd.DataFrame([x for x, _ in rows])
    labels = [y for _, y in rows]
    convert = {
        "pandas": lambda f: f,
        "polars": pl.from_pandas,
        "table": pa.Table.from_pandas,
        "batch": pa.RecordBatch.from_pandas,
    }[kind]
    one, many = (FocusedClassifier(linear_model.LogisticRegression(), window=20, replays=2, seed=1) for _ in range(2))
    for x, y in rows:
        one.learn_one(x, y, w=0.5)
    many.learn_many(convert(frame), labels, w=np.full(60, 0.5))
    assert one.classifier.weights == many.classifier.weights
    answer = many.predict_many(convert(frame))
    values = answer.to_pylist() if hasattr(answer, "to_pylist") else list(answer)
    assert values == [one.predict_one(x) for x, _ in rows]


def test_probabilities_are_used_where_there_are_any():
    assert FocusedClassifier(linear_model.LogisticRegression())._kind == "probability"
    assert FocusedClassifier(preprocessing.StandardScaler() | tree.HoeffdingTreeClassifier())._kind == "probability"

    class Labels(base.Classifier):
        def learn_one(self, x, y):
            pass

        def predict_one(self, x):
            return True

    assert FocusedClassifier(Labels())._kind == "zero-one"
    assert FocusedClassifier(FocusedClassifier(Labels()))._kind == "zero-one"
    for wrong, message in ({"loss": "probability"}, "loss must be 'zero-one'"), ({"output": "average"}, "'majority'"):
        with pytest.raises(ValueError, match=message):
            FocusedClassifier(preprocessing.StandardScaler() | Labels(), **wrong)


@pytest.mark.parametrize("value", [1.5, -0.1, float("nan")])
def test_a_loss_that_leaves_its_range_is_named(value):
    focused = FocusedClassifier(linear_model.LogisticRegression(), loss=lambda y, p: value, window=5, replays=1)
    with pytest.raises(ValueError, match=r"loss must lie in \[0, 1\], got"):
        focused.learn_one({"a": 1.0}, True)


def test_a_nan_probability_is_named():
    class Broken(Recorder):
        def predict_proba_one(self, x):
            return {True: math.nan}

    with pytest.raises(ValueError, match="got nan from 'predict_proba_one'"):
        FocusedClassifier(Broken(), replays=1).learn_one({"a": 1.0}, True)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"window": 0}, ValueError, "window must be at least 1, got 0"),
        ({"window": 2.5}, TypeError, "window must be an integer, got 2.5"),
        ({"replays": -1}, ValueError, "replays must be at least 0, got -1"),
        ({"replays": True}, TypeError, "replays must be an integer, got True"),
        ({"gamma": 0.0}, ValueError, "gamma must lie in"),
        ({"gamma": 1.01}, ValueError, "gamma must lie in"),
        ({"eta": -1.0}, ValueError, "eta must lie in"),
        ({"share": 1.0}, ValueError, "share must lie in"),
        ({"admission": "few"}, ValueError, "admission must be"),
        ({"slack": -1.0}, ValueError, "budget must be positive"),
        ({"output": "best"}, ValueError, "output must be one of"),
        ({"snapshots": 0}, ValueError, "snapshots must be at least 1, got 0"),
        ({"span": "day"}, ValueError, "span must be"),
        ({"seed": "x"}, TypeError, "seed must be an integer"),
        ({"loss": "log"}, ValueError, "loss must be"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", ["classifier", "regressor"])
def test_wrong_parameters_are_named_at_construction(kind, parameters, error, message):
    if kind == "classifier":
        make = lambda: FocusedClassifier(linear_model.LogisticRegression(), **parameters)  # noqa: E731
    else:
        make = lambda: FocusedRegressor(linear_model.LinearRegression(), **parameters)  # noqa: E731
    with pytest.raises(error, match=message):
        make()


def test_the_wrong_kind_of_learner_is_named():
    with pytest.raises(TypeError, match="classifier must be a River classifier"):
        FocusedClassifier(linear_model.LinearRegression())
    with pytest.raises(TypeError, match="regressor must be a River regressor"):
        FocusedRegressor(linear_model.LogisticRegression())
    with pytest.raises(ValueError, match=r"scale must be positive and finite, got 0\.0"):
        FocusedRegressor(linear_model.LinearRegression(), scale=0.0)


def test_a_regressor_s_loss_is_the_error_over_the_scale():
    class Zero(base.Regressor):
        def learn_one(self, x, y, w=1.0):
            pass

        def predict_one(self, x):
            return 0.0

    focused = FocusedRegressor(Zero(), scale=2.0, window=10, replays=1)
    for y in (1.0, -1.5, 5.0):
        focused.learn_one({}, y)
    assert sorted(row.loss for row in focused.hardest()) == [0.5, 0.75, 1.0]
    focused = FocusedRegressor(Zero(), window=10, replays=1)
    targets = [1.0, -1.5, 5.0]
    for y in targets:
        focused.learn_one({}, y)
    assert min(row.loss for row in focused.hardest()) == pytest.approx(1.0 / np.std(targets))


def test_a_diverged_regressor_is_named():
    class Broken(base.Regressor):
        def learn_one(self, x, y):
            pass

        def predict_one(self, x):
            return math.inf

    with pytest.raises(ValueError, match="the regressor has diverged"):
        FocusedRegressor(Broken(), replays=1).learn_one({}, 1.0)


def test_describe_counts_and_measures_the_game():
    focused = FocusedClassifier(Recorder(), window=100, replays=5, seed=1)
    assert focused.describe()["effective_rows"] == 0.0
    for x, y in stream(60):
        focused.learn_one(x, y)
    summary = focused.describe()
    q = focused._game.player.weights() / focused._game.player.weights().sum()
    assert (summary["rows"], summary["arrivals"], summary["replays"]) == (60, 60, 300)
    assert summary["effective_rows"] == pytest.approx(1 / (q**2).sum())
    assert summary["top_1_percent_share"] == pytest.approx(q.max())
    assert summary["memory_bytes"] > 60 * 100


def test_uniform_replay_is_gamma_one():
    focused = FocusedClassifier(Recorder(), window=50, replays=200, gamma=1.0, seed=1)
    for x, y in stream(50):
        focused.learn_one(x, y)
    assert [row.probability for row in focused.hardest(50)] == pytest.approx([0.02] * 50)


@pytest.mark.parametrize("learner", [linear_model.LogisticRegression(), HingeOGD()], ids=["foreign", "ours"])
class TestReplay:
    def test_an_empty_window_replays_nothing(self, learner):
        focused = FocusedClassifier(learner.clone(), window=10)
        focused.replay(100)
        assert focused.describe()["replays"] == 0

    def test_no_rounds_change_nothing(self, learner):
        focused = FocusedClassifier(learner.clone(), window=10, replays=0)
        focused.learn_one({"a": 1.0}, True)
        before = dict(focused.classifier.weights)
        focused.replay(0)
        assert dict(focused.classifier.weights) == before
        assert focused.describe()["replays"] == 0

    @pytest.mark.parametrize(
        ("rounds", "error", "message"),
        [
            (-1, ValueError, "rounds must be at least 0, got -1"),
            (1.5, TypeError, "rounds must be an integer, got 1.5"),
            (True, TypeError, "rounds must be an integer, got True"),
        ],
    )
    def test_bad_rounds_are_refused(self, learner, rounds, error, message):
        with pytest.raises(error, match=message):
            FocusedClassifier(learner.clone(), window=10).replay(rounds)
