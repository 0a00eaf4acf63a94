from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from river import linear_model, optim

from stream_maxloss import checkpoint
from stream_maxloss.errors import RowError
from stream_maxloss.focus import FocusedClassifier
from stream_maxloss.linear import Logistic, Scaler

ROWS = 400
WIDTH = 6


def stream(classes: int, seed: int = 1) -> tuple[pa.Table, list[str]]:
    """Return rows of a linear stream; the later classes come late."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(ROWS, WIDTH))
    directions = generator.normal(size=(classes, WIDTH))
    scores = X @ directions.T + 0.5 * generator.normal(size=(ROWS, classes))
    for late in range(2, classes):
        scores[: 60 * (late - 1), late] = -np.inf
    labels = [f"class {k}" for k in scores.argmax(axis=1)]
    return pa.table({f"f{j}": X[:, j] for j in range(WIDTH)}), labels


def dicts(table: pa.Table) -> list[dict[str, float]]:
    return table.to_pylist()


class Oracle:
    """Softmax regression in numpy, the constant feature last; two classes share one score."""

    def __init__(self, lr: float, schedule: str, l2: float) -> None:
        self.lr, self.schedule, self.l2, self.t = lr, schedule, l2, 0
        self.labels: list[str] = []
        self.W, self.G = np.zeros((1, WIDTH + 1)), np.zeros((1, WIDTH + 1))

    def probabilities(self, x: np.ndarray) -> np.ndarray:
        scores = self.W @ x
        scores = np.array([-scores[0] / 2, scores[0] / 2]) if len(self.labels) <= 2 else scores
        parts = np.exp(scores - scores.max())
        return parts / parts.sum()

    def learn(self, x: np.ndarray, y: str, w: float) -> None:
        if y not in self.labels:
            self.labels.append(y)
            if len(self.labels) == 3:
                self.W = np.vstack([-self.W / 2, self.W / 2, 0 * self.W])
                self.G = np.vstack([self.G, self.G, 0 * self.G])
            elif len(self.labels) > 3:
                self.W, self.G = (np.vstack([M, np.zeros(WIDTH + 1)]) for M in (self.W, self.G))
        self.t += 1
        said, number = self.probabilities(x), self.labels.index(y)
        slopes = np.array([number - said[1]]) if len(self.labels) <= 2 else (np.arange(len(said)) == number) - said
        gradient = w * np.outer(slopes, x)
        if self.schedule == "adaptive":
            self.G += gradient**2
            self.W += self.lr * gradient / np.sqrt(np.where(self.G > 0, self.G, 1))
        else:
            rate = self.lr / math.sqrt(self.t) if self.schedule == "sqrt" else self.lr
            self.W = (1 - rate * self.l2) * self.W + rate * gradient


MODELS: dict[str, Callable[[], Any]] = {
    "adaptive": Logistic,
    "sqrt, shrinking": lambda: Logistic(lr=0.5, schedule="sqrt", l2=0.3),
    "constant": lambda: Logistic(schedule="constant", intercept=False),
    "hashed": lambda: Logistic(hash_bits=3),
    "scaled": lambda: Scaler() | Logistic(),
    "focused": lambda: FocusedClassifier(Logistic(), window=50, replays=3, seed=1),
    "scaled, focused": lambda: (
        Scaler() | FocusedClassifier(Logistic(), window=50, replays=3, admission="quota", loss="zero-one", seed=1)
    ),
}


def learner_of(model: Any) -> Logistic:
    last = model[-1] if hasattr(model, "steps") else model
    return getattr(last, "classifier", last)


def learned(model: Any) -> tuple[Any, ...]:
    learner = learner_of(model)
    return learner.weights, learner.intercept, learner.n_mistakes, learner.n_rows, learner.classes


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize(("schedule", "l2"), [("adaptive", 0.0), ("sqrt", 0.2), ("constant", 0.0), ("constant", 2.0)])
def test_updates_are_those_of_a_few_lines_of_numpy(schedule: str, l2: float, classes: int) -> None:
    table, labels = stream(classes)
    model, oracle = Logistic(0.2, schedule, l2), Oracle(0.2, schedule, l2)
    weights = np.random.default_rng(2).choice([0.5, 1.0, 2.0], ROWS)
    for x, y, w in zip(dicts(table), labels, weights.tolist(), strict=True):
        model.learn_one(x, y, w=w)
        oracle.learn(np.array([*x.values(), 1.0]), y, w)
    for x in dicts(table)[::20]:
        expected = dict(zip(oracle.labels, oracle.probabilities(np.array([*x.values(), 1.0])), strict=True))
        assert model.predict_proba_one(x) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    if classes == 2:
        assert [*model.weights.values(), model.intercept] == pytest.approx(oracle.W[0].tolist(), rel=1e-9, abs=1e-12)
    else:
        for row, label in zip(oracle.W, oracle.labels, strict=True):
            found = [*model.weights[label].values(), model.intercept[label]]
            assert found == pytest.approx(row.tolist(), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("schedule", "optimizer"), [("constant", optim.SGD(0.1)), ("adaptive", optim.AdaGrad(0.1))])
def test_it_is_rivers_logistic_regression_where_the_two_coincide(schedule: str, optimizer: Any) -> None:
    table, labels = stream(2)
    ours = Logistic(0.1, schedule, intercept=False)
    theirs = linear_model.LogisticRegression(optimizer, intercept_lr=0.0)
    for x, label in zip(dicts(table), labels, strict=True):
        y = label == "class 1"
        # River's AdaGrad adds eps = 1e-8 to the sum of squares.
        assert ours.predict_proba_one(x).get(True, 0.5) == pytest.approx(theirs.predict_proba_one(x)[True], abs=1e-5)
        ours.learn_one(x, y)
        theirs.learn_one(x, y)


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("name", MODELS)
def test_any_cut_into_batches_gives_the_same_bits(name: str, classes: int) -> None:
    table, labels = stream(classes)
    one, many = MODELS[name](), MODELS[name]()
    said = []
    for x, y in zip(dicts(table), labels, strict=True):
        said.append(one.predict_proba_one(x))
        one.learn_one(x, y)
    first = 0
    for size in (1, 9, 200, 0, 190):
        answers = many.answer_learn_many(table.slice(first, size), labels[first : first + size])
        # Whoever runs batches knows that the first two classes had not come yet.
        for row in range(max(0, 10 - first), size):
            found = dict(zip(answers.classes or (), answers.probabilities[row].tolist(), strict=True))
            assert {label: p for label, p in found.items() if p} == said[first + row]
        first += size
    assert learned(one) == learned(many)
    assert many.predict_many(table).to_pylist() == [one.predict_one(x) for x in dicts(table)]


@pytest.mark.parametrize("name", MODELS)
def test_a_resumed_model_continues_with_the_same_bits(name: str, tmp_path: Any) -> None:
    table, labels = stream(4)
    straight, half = MODELS[name](), MODELS[name]()
    straight.learn_many(table, labels)
    half.learn_many(table.slice(0, 150), labels[:150])
    checkpoint.save(tmp_path, half)
    resumed = checkpoint.load(tmp_path)
    resumed.learn_many(table.slice(150), labels[150:])
    assert learned(straight) == learned(resumed)
    assert learned(pickle.loads(pickle.dumps(straight))) == learned(straight)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("bad", ["value", "label", "weight"])
def test_a_refused_row_leaves_model_and_classes_as_they_were(name: str, bad: str) -> None:
    table, labels = stream(2)
    model = MODELS[name]()
    model.learn_many(table.slice(0, 100), labels[:100])
    before, other = learned(model), copy.deepcopy(model)
    part, y, w = table.slice(100, 3).to_pydict(), [labels[100], "new", "newer"], [1.0, 1.0, 1.0]
    if bad == "value":
        part["f2"][2] = math.inf
    elif bad == "label":
        y[2] = None  # type: ignore[call-overload]
    else:
        w[2] = -1.0
    with pytest.raises(RowError) as caught:
        model.learn_many(pa.table(part), y, w=w)
    assert caught.value.row == 2
    assert learned(model) == before
    with pytest.raises(ValueError, match="must"):
        model.learn_one(pa.table(part).to_pylist()[2], y[2], w=w[2])
    for one in (model, other):
        one.learn_many(table.slice(100), labels[100:])
    assert learned(model) == learned(other)


@pytest.mark.parametrize("loss", ["auto", "probability", "zero-one"])
def test_the_game_sees_what_the_label_lacks(loss: str) -> None:
    table, labels = stream(3)
    focused = FocusedClassifier(Logistic(), window=40, replays=2, loss=loss, seed=1)
    focused.learn_many(table, labels)
    for row in focused.hardest(5):
        said = focused.predict_proba_one(row.x)
        expected = float(max(said, key=said.__getitem__) != row.y) if loss == "zero-one" else 1.0 - said[row.y]
        assert row.loss == pytest.approx(expected, abs=1e-12)


def test_labels_may_be_anything_that_can_be_a_key() -> None:
    model = Logistic()
    for y in (("a", 1), None, 3, "x"):
        if y is None:
            with pytest.raises(ValueError, match="label must be a class, got None; leave the row out"):
                model.learn_one({"size": 1.0}, y)
        else:
            model.learn_one({"size": 1.0, "shape": "round"}, y)
    assert model.classes == [("a", 1), 3, "x"]
    assert sum(model.predict_proba_one({"size": 1.0}).values()) == pytest.approx(1.0)


@pytest.mark.parametrize(("labels", "positive"), [((1, 0), 1), ((-1, 1), 1), ((np.True_, np.False_), True)])
def test_weights_of_binary_labels_speak_for_the_positive_one(labels: tuple[Any, Any], positive: Any) -> None:
    model = Logistic()
    for y in labels * 50:
        model.learn_one({"size": 1.0 if y == 1 else -1.0}, y)
    assert model.weights["size"] > 0.0
    assert model.predict_one({"size": 5.0}) == positive
    assert model.answer_many(pa.table({"size": [5.0, -5.0]})).labels.tolist() == [True, False]


def test_huge_values_do_not_stop_learning() -> None:
    model = Logistic()
    model.learn_one({"size": 1e200}, True)
    for _ in range(10):
        model.learn_one({"other": 1.0}, False)
    assert model.predict_one({"other": 1.0}) is False


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"lr": 0.0}, "lr must be positive, got 0.0"),
        ({"schedule": "fast"}, "schedule must be one of 'adaptive', 'sqrt', 'constant', got 'fast'"),
        ({"l2": -1.0}, "l2 must be positive, got -1.0; 0 is for no penalty"),
        ({"l2": 0.1}, "l2 must be 0 with schedule='adaptive', got 0.1"),
    ],
)
def test_bad_parameters_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Logistic(**parameters)


def test_snapshots_are_refused() -> None:
    with pytest.raises(ValueError, match="output must be 'last'"):
        FocusedClassifier(Logistic(), output="average")


@pytest.mark.parametrize("place", ["classes", "room", "labels", "targets"])
def test_a_state_that_would_lead_out_of_the_memory_is_refused(place: str) -> None:
    table, labels = stream(3)
    focused = FocusedClassifier(Logistic(), window=20, replays=2, seed=1)
    focused.learn_many(table, labels)
    inner, outer = focused.classifier.state_dict(), focused.state_dict()
    fresh = FocusedClassifier(Logistic(), window=20, replays=2, seed=1)
    if place == "targets":
        outer["rows.window.targets"][3] = 3.0
        fresh.classifier.load_state_dict(inner)
        with pytest.raises(ValueError, match="numbers of the learner's 3 classes"):
            fresh.load_state_dict(outer)
        return
    if place == "labels":
        inner["classes.labels"] = ["a"]
    else:
        inner["memory"][16 if place == "classes" else 19] += 3.0
    with pytest.raises(ValueError, match="must"):
        fresh.classifier.load_state_dict(inner)
