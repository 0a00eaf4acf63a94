from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from river import base, checks, linear_model, naive_bayes, preprocessing, tree

from stream_maxloss import checkpoint
from stream_maxloss.errors import CheckpointError, RowError
from stream_maxloss.evaluate import Engine
from stream_maxloss.experts import Mixture
from stream_maxloss.experts.sharing import FLOOR, regret_bound
from stream_maxloss.focus import FocusedClassifier
from stream_maxloss.linear import HingeOGD, Logistic, Perceptron, Scaler, Winnow

ROWS = 300


def stream(classes: int, seed: int = 1) -> tuple[pa.Table, list[Any]]:
    """Return rows whose class depends on the first column, and from the middle on on the second."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(ROWS, 3))
    deciding = np.where(np.arange(ROWS) < ROWS // 2, X[:, 0], X[:, 1]) + 0.3 * generator.normal(size=ROWS)
    numbers = np.digitize(deciding, np.linspace(-0.8, 0.8, classes - 1) if classes > 2 else [0.0])
    return pa.table({f"f{j}": X[:, j] for j in range(3)}), numbers.tolist()


def native(classes: int) -> Mixture:
    experts = [Logistic(), Scaler() | Logistic(lr=0.5), FocusedClassifier(Logistic(), window=30, replays=2, seed=1)]
    inner = Mixture([Logistic(schedule="constant"), Logistic(schedule="sqrt")], share=0.0)
    binary = [HingeOGD(), Scaler() | FocusedClassifier(Perceptron(), window=30, seed=1)]
    return Mixture([*experts, inner, *(binary if classes == 2 else [])], share=0.01)


def foreign(classes: int) -> Mixture:
    scaled = preprocessing.StandardScaler() | linear_model.SoftmaxRegression()
    return Mixture([scaled, naive_bayes.GaussianNB(), Logistic()], share=0.01)


MIXTURES: dict[str, Callable[[int], Mixture]] = {"native": native, "foreign": foreign}


class Oracle:
    """Weights of experts in a few lines, over the dicts that they answer with."""

    def __init__(self, experts: int, share: float) -> None:
        self.weights, self.share = [1.0 / experts] * experts, share

    def probabilities(self, said: list[dict[Any, float]], labels: list[Any]) -> list[dict[Any, float]]:
        found = []
        for one in said:
            total = sum(one.get(label, 0.0) for label in labels)
            even = 1.0 / len(labels)
            parts = {label: one.get(label, 0.0) / total if total else even for label in labels}
            found.append({label: (1 - FLOOR) * p + FLOOR * even for label, p in parts.items()})
        return found

    def mix(self, said: list[dict[Any, float]], labels: list[Any]) -> dict[Any, float]:
        each = self.probabilities(said, labels)
        return {label: sum(w * p[label] for w, p in zip(self.weights, each, strict=True)) for label in labels}

    def learn(self, said: list[dict[Any, float]], labels: list[Any], y: Any, w: float) -> None:
        if y not in labels or len(labels) < 2:
            return
        each = self.probabilities(said, labels)
        raised = [weight * p[y] ** w for weight, p in zip(self.weights, each, strict=True)]
        even = self.share / len(raised)
        self.weights = [(1 - self.share) * one / sum(raised) + even for one in raised]


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("name", MIXTURES)
def test_weights_and_probabilities_are_those_of_a_few_lines_of_python(name: str, classes: int) -> None:
    table, labels = stream(classes)
    model = MIXTURES[name](classes)
    oracle, seen = Oracle(len(model.experts), model.share), []
    weights = np.random.default_rng(3).choice([0.5, 1.0, 2.0], ROWS).tolist()
    for x, y, w in zip(table.to_pylist(), labels, weights, strict=True):
        said = [expert.predict_proba_one(x) for expert in model._experts]
        if seen:
            assert model.predict_proba_one(x) == pytest.approx(oracle.mix(said, seen), rel=1e-9)
        oracle.learn(said, seen, y, w)
        model.learn_one(x, y, w=w)
        seen += [y] if y not in seen else []
    assert list(model.weights().values()) == pytest.approx(oracle.weights, rel=1e-9)


def best_sequences(losses: np.ndarray, most: int) -> list[float]:
    """Return the least loss of any sequence of experts with at most 0, 1, ... switches."""
    least = [losses[0].copy()] + [np.full(losses.shape[1], np.inf) for _ in range(most)]
    for row in losses[1:]:
        moved = [row + least[0]]
        for m in range(1, most + 1):
            moved.append(row + np.minimum(least[m], least[m - 1].min()))
        least = moved
    return [float(one.min()) for one in least]


@pytest.mark.parametrize("share", [0.0, 1e-3, 0.05])
@pytest.mark.parametrize("classes", [2, 4])
def test_the_log_loss_exceeds_that_of_the_best_sequence_of_experts_by_no_more_than_the_bound(
    share: float, classes: int
) -> None:
    table, labels = stream(classes)
    model = Mixture([Logistic(lr=0.01), Logistic(lr=1.0), naive_bayes.GaussianNB(), Logistic(hash_bits=1)], share=share)
    mixture, experts = [], []
    for x, y in zip(table.to_pylist(), labels, strict=True):
        seen = model.classes
        if y in seen and len(seen) > 1:
            mixture.append(-math.log(model.predict_proba_one(x)[y]))
            said = [expert.predict_proba_one(x) for expert in model._experts]
            experts.append([-math.log(p[y]) for p in Oracle(4, share).probabilities(said, seen)])
        model.learn_one(x, y)
    for switches, best in enumerate(best_sequences(np.array(experts), 3)):
        assert sum(mixture) <= best + regret_bound(4, share, len(mixture), switches) + 1e-9


def test_the_bound_is_nearly_reached_by_experts_that_take_turns() -> None:
    # Two experts, each certain of its own label: a switch costs close to ln(K/a).
    class Certain(Logistic):
        def __init__(self, says: bool = True) -> None:
            super().__init__()
            self.says = says

        def predict_proba_one(self, x: Any) -> dict[Any, float]:
            return {self.says: 0.99, not self.says: 0.01}

    model = Mixture([Certain(True), Certain(False)], share=0.01)
    model._experts = model.experts
    loss = 0.0
    for row in range(200):
        y = row < 100
        if row:
            loss -= math.log(model.predict_proba_one({"f": 1.0})[y])
        model.learn_one({"f": 1.0}, y)
    bound = regret_bound(2, 0.01, 199, switches=1)
    assert 0.9 * bound <= loss + 199 * math.log(0.99) <= bound


@pytest.mark.parametrize("classes", [2, 4])
def test_any_cut_into_batches_gives_the_same_bits(classes: int) -> None:
    table, labels = stream(classes)
    one, many = native(classes), native(classes)
    assert many.is_native
    said = []
    for x, y in zip(table.to_pylist(), labels, strict=True):
        said.append(one.predict_proba_one(x))
        one.learn_one(x, y)
    first, engine = 0, Engine(many, by_class=True)
    for size in (1, 19, 0, 180, 100):
        scored = engine.learn(table.slice(first, size), labels[first : first + size])
        for row, probabilities in enumerate(scored.probabilities.tolist() if size else []):
            found = {label: p for label, p in zip(scored.classes, probabilities, strict=True) if p}
            # Of the first row of all, experts for two labels say what they say of True and False.
            assert found == (said[first + row] if first + row else {})
        first += size
    assert one.weights() == many.weights()
    assert one.history()[1].tolist() == many.history()[1].tolist()
    assert one.predict_many(table).to_pylist() == [many.predict_one(x) for x in table.to_pylist()]


@pytest.mark.parametrize("name", MIXTURES)
def test_a_resumed_mixture_continues_with_the_same_bits(name: str, tmp_path: Any) -> None:
    table, labels = stream(4)
    straight, half = MIXTURES[name](4), MIXTURES[name](4)
    straight.learn_many(table, labels)
    half.learn_many(table.slice(0, 120), labels[:120])
    checkpoint.save(tmp_path, half, allow_pickle=name == "foreign")
    resumed = checkpoint.load(tmp_path, allow_pickle=name == "foreign")
    resumed.learn_many(table.slice(120), labels[120:])
    again = pickle.loads(pickle.dumps(straight))
    for other in (resumed, again):
        assert other.weights() == straight.weights()
        assert other.history()[1].tolist() == straight.history()[1].tolist()
        assert other.predict_proba_one({"f0": 1.0}) == straight.predict_proba_one({"f0": 1.0})


def test_a_foreign_mixture_is_not_saved_without_leave(tmp_path: Any) -> None:
    with pytest.raises(CheckpointError, match="allow_pickle"):
        checkpoint.save(tmp_path, foreign(2))


@pytest.mark.parametrize("bad", ["value", "label", "weight", "domain"])
def test_a_refused_batch_is_learned_by_no_expert(bad: str) -> None:
    # Winnow refuses what lies outside [0, 1], which those before it in the list would have learned by then.
    make = lambda: Mixture([Logistic(), FocusedClassifier(Logistic(), window=20, seed=1), Winnow()])  # noqa: E731
    model, other = make(), make()
    good = pa.table({"a": [0.0, 1.0, 0.5]})
    part, y, w = {"a": [0.0, 1.0, 0.5]}, [True, False, True], [1.0, 1.0, 1.0]
    for one in (model, other):
        one.learn_many(good, y)
    if bad == "label":
        y[2] = None  # type: ignore[call-overload]
    elif bad == "weight":
        w[2] = 0.0
    else:
        part["a"][2] = math.inf if bad == "value" else 7.0
    with pytest.raises(RowError) as caught:
        model.learn_many(pa.table(part), y, w=w)
    assert caught.value.row == 2
    for one in (model, other):
        one.learn_many(good, [False, True, True])
    assert model.weights() == other.weights()
    assert model.predict_proba_one({"a": 0.3}) == other.predict_proba_one({"a": 0.3})


@pytest.mark.parametrize("many", [False, True])
def test_a_third_class_is_refused_where_an_expert_knows_two(many: bool) -> None:
    model = Mixture([Logistic(), HingeOGD()])
    model.learn_many(pa.table({"a": [1.0, -1.0]}), [0, 1])
    with pytest.raises(ValueError, match="must be one of two, got 2; HingeOGD cannot learn more: leave it out"):
        model.learn_many(pa.table({"a": [1.0]}), [2]) if many else model.learn_one({"a": 1.0}, 2)
    assert model.classes == [0, 1]
    assert model._experts[0].classes == [0, 1]


def test_the_experts_that_were_given_are_left_alone() -> None:
    expert = Logistic()
    model = Mixture([expert])
    model.learn_one({"a": 1.0}, "x")
    assert expert.classes == []
    assert model.clone().classes == []
    assert model.clone().n_rows == 0


def test_signs_are_labels_for_the_binary_learners() -> None:
    model = Mixture([HingeOGD(lr=1.0), Perceptron()])
    for row in range(40):
        model.learn_one({"a": 1.0 if row % 2 else -1.0}, 1 if row % 2 else -1)
    assert model.predict_one({"a": 1.0}) == 1
    assert model.predict_proba_one({"a": -1.0})[-1] > 0.6


def test_the_history_is_bounded_and_ends_with_now() -> None:
    model = Mixture([Logistic(), Logistic(lr=1.0)])
    table = pa.table({"a": np.arange(4096) % 5 - 2.0})
    model.learn_many(table, (np.arange(4096) % 5 > 1).tolist())
    rows, weights = model.history()
    assert len(rows) == len(weights) <= 1024
    assert rows[-1] == 4096
    assert dict(zip(model.names(), weights[-1].tolist(), strict=True)) == model.weights()
    assert np.diff(rows).min() == np.diff(rows).max() == 4


class Voter(base.Classifier):
    def learn_one(self, x: Any, y: Any) -> None:
        pass

    def predict_one(self, x: Any) -> bool:
        return True


@pytest.mark.parametrize(
    ("experts", "share", "kind", "message"),
    [
        ([], 0.0, TypeError, "experts must be a list of at least one classifier"),
        ([linear_model.LinearRegression()], 0.0, TypeError, "must be a River classifier with probabilities"),
        ([Voter()], 0.0, TypeError, "must be a River classifier with probabilities"),
        ([Logistic()], 1.0, ValueError, r"share must lie in \[0, 1\), got 1.0"),
    ],
)
def test_bad_parameters_are_refused(experts: Any, share: float, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        Mixture(experts, share)


CHECKED = {
    "native": Mixture([Logistic(), Scaler() | Logistic(schedule="constant")]),
    "binary": Mixture([Logistic(), HingeOGD()]),
    "foreign": Mixture([preprocessing.StandardScaler() | linear_model.LogisticRegression(), naive_bayes.GaussianNB()]),
    "trees": Mixture([tree.HoeffdingTreeClassifier(), Logistic()]),
}


def cases() -> Any:
    for name, model in CHECKED.items():
        for place, check in enumerate(checks.yield_checks(model)):
            yield pytest.param(model, check, id=f"{name}-{place}-{check.__name__}")


@pytest.mark.parametrize(("model", "check"), list(cases()))
def test_it_passes_rivers_check(model: Any, check: Any) -> None:
    assert not model._unit_test_skips()
    check(model.clone())
