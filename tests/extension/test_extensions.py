"""Learners that live outside the package run as its own do: both speeds, focused, scaled, saved and resumed."""

from __future__ import annotations

import copy
import pickle
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from stream_maxloss import checkpoint
from stream_maxloss.evaluate import Engine
from stream_maxloss.focus import FocusedClassifier, FocusedRegressor
from stream_maxloss.linear import Scaler
from stream_maxloss.linear.batches import score_frame
from stream_maxloss.protocol import NativeLearner
from third_party import install, tail_twice

sys.path.insert(0, str(Path(__file__).parent))
from linear_rule import PassiveAggressive
from two_scores import MeanAndScale

checkpoint.register(PassiveAggressive)
checkpoint.register(MeanAndScale)

FOLDER = Path(__file__).parent
MODELS = {
    "rule": PassiveAggressive,
    "rule-scaled": lambda: Scaler() | PassiveAggressive(),
    "rule-focused": lambda: FocusedClassifier(PassiveAggressive(), window=30, replays=3, seed=1),
    "rule-focused-slack": lambda: FocusedClassifier(PassiveAggressive(), window=30, replays=3, slack=2.0, seed=1),
    "scores": MeanAndScale,
    "scores-scaled": lambda: Scaler() | MeanAndScale(),
    "scores-focused": lambda: FocusedRegressor(MeanAndScale(), window=30, replays=3, seed=1),
}


def rows(count=120, seed=3):
    generator = np.random.default_rng(seed)
    # Eighths, of which sums are exact in any order.
    X = generator.integers(-8, 9, (count, 4)) / 8.0
    targets = X @ np.array([1.0, -1.0, 0.5, 0.0]) + generator.integers(-2, 3, count) / 8.0
    return pa.table({f"f{j}": X[:, j] for j in range(4)}), targets


def labels_for(name, targets):
    return targets > 0.0 if name.startswith("rule") else targets


def learn(model, table, labels, batch=37):
    for start in range(0, len(labels), batch):
        model.learn_many(table.slice(start, batch), labels[start : start + batch])


def state_of(model):
    if hasattr(model, "steps"):
        return {f"{n}.{k}": v for n, step in model.steps.items() for k, v in state_of(step).items()}
    inner = getattr(model, "classifier", getattr(model, "regressor", None))
    return dict(model.state_dict()) | ({} if inner is None else {f"inner.{k}": v for k, v in state_of(inner).items()})


def assert_same(one, other):
    first, second = state_of(one), state_of(other)
    assert first.keys() == second.keys()
    for name, value in first.items():
        # How dense the rows were that a window made room for: counted in batches or row by row, and of no effect here.
        if name.endswith("window.seen"):
            continue
        assert np.array_equal(value, second[name]), name


@pytest.mark.parametrize("name", MODELS)
def test_both_speeds_end_with_the_same_bits(name) -> None:
    table, targets = rows()
    labels = labels_for(name, targets)
    one, many = MODELS[name](), MODELS[name]()
    for x, y in zip(table.to_pylist(), labels.tolist(), strict=True):
        one.learn_one(x, y)
    learn(many, table, labels)
    assert_same(one, many)
    assert isinstance(many, NativeLearner)
    assert many.is_native
    assert Engine(many).predict(table).y_pred.tolist() == [one.predict_one(x) for x in table.to_pylist()]


@pytest.mark.parametrize("name", MODELS)
def test_a_run_that_is_saved_and_resumed_is_the_run_that_was_not(name, tmp_path) -> None:
    table, targets = rows()
    labels = labels_for(name, targets)
    whole, half = MODELS[name](), MODELS[name]()
    learn(whole, table, labels)
    learn(half, table.slice(0, 60), labels[:60])
    checkpoint.save(tmp_path / "saved", half)
    resumed = checkpoint.load(tmp_path / "saved")
    for again in (resumed, copy.deepcopy(half), pickle.loads(pickle.dumps(half))):
        learn(again, table.slice(60), labels[60:])
        assert_same(whole, again)


@pytest.mark.parametrize(("kind", "learner"), [("rule", PassiveAggressive), ("scores", MeanAndScale)])
def test_the_command_line_runs_and_resumes_a_learner_from_outside_scaled_and_focused(kind, learner, tmp_path) -> None:
    module, name = learner.__module__, learner.__name__
    install(tmp_path, "stream_maxloss.learners", f"{name} = {module}:{name}", modules=(FOLDER / f"{module}.py",))
    table, targets = rows(300)
    pa.csv.write_csv(table.append_column("y", pa.array(labels_for(kind, targets))), tmp_path / "rows.csv")
    words = ("--model", name.lower(), "--scale", "--focus", "--window", "30", "--replays", "3")
    tail_twice(tmp_path, 300, "rows.csv", "--target", "y", *words)


def test_a_rule_from_outside_learns() -> None:
    table, targets = rows(1000)
    model = PassiveAggressive()
    answers = model.answer_learn_many(table, targets > 0.0)
    assert (answers.labels == (targets > 0.0))[500:].mean() > 0.85


def test_both_scores_of_a_learner_from_outside_learn() -> None:
    generator = np.random.default_rng(0)
    X = np.column_stack([generator.normal(size=4000), np.ones(4000)])
    targets = 2.0 * X[:, 0] + generator.laplace(scale=0.5, size=4000)
    model = MeanAndScale()
    table = pa.table({"x": X[:, 0], "constant": X[:, 1]})
    model.learn_many(table, targets)
    scores = score_frame(model._model, table)
    assert scores.shape == (4000, 2)
    assert model.weights["x"] == pytest.approx(2.0, abs=0.2)
    assert np.exp(scores[:, 1]).mean() == pytest.approx(0.5, abs=0.2)
