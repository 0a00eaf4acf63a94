from __future__ import annotations

import copy
import random

import numpy as np
import pytest
from river import checks

from stream_maxloss.checkpoint import CheckpointStore
from stream_maxloss.errors import ModelError, UsageError
from stream_maxloss.expand import Bins, Ferns
from stream_maxloss.focus import FocusedClassifier
from stream_maxloss.linear import LLM, AbsoluteOGD, HingeOGD, Logistic, MarginPursuit, Perceptron, Scaler, Winnow
from stream_maxloss.mixing import MixedClassifier, MixedRegressor
from stream_maxloss.mixture import AutoClassifier
from stream_maxloss.run import Tail
from stream_maxloss_connectors.testing import MemorySource

MODELS = {
    "bare": lambda: HingeOGD(),
    "scaled": lambda: Scaler() | HingeOGD(),
    "focused": lambda: Scaler() | FocusedClassifier(HingeOGD(), window=200),
    "logistic": lambda: Scaler() | Logistic(),
    "bins": lambda: Bins() | Logistic(),
    "ferns": lambda: Ferns(ferns=10) | Logistic(),
}


def rows(count, seed=0):
    generator = random.Random(seed)
    for _ in range(count):
        a, b = generator.gauss(0, 1), generator.gauss(0, 1)
        yield {"a": a, "b": b, "who": generator.choice("xyz")}, a + 0.5 * b > 0.2


@pytest.mark.parametrize("name", MODELS)
def test_all_workers_have_the_weights_of_the_mixed_model_after_a_round_and_it_predicts_well(name):
    model, right = MixedClassifier(MODELS[name](), workers=3, mix_every=100), 0
    for place, (x, y) in enumerate(rows(100 + 3 * 100 * 5)):
        right += place >= 700 and model.predict_one(x) == y
        model.learn_one(x, y)
    assert model.rounds == 6
    x = next(rows(1, seed=9))[0]
    said = [worker.predict_proba_one(x) for worker in model._workers]
    assert all(part == pytest.approx(said[0], abs=1e-12) for part in said)
    assert right / 900 > 0.85


def test_one_worker_is_the_model_itself_to_the_bit():
    plain, mixed = HingeOGD(), MixedClassifier(HingeOGD(), workers=1, mix_every=10)
    for x, y in rows(200):
        assert mixed.predict_proba_one(x) == plain.predict_proba_one(x)
        plain.learn_one(x, y)
        mixed.learn_one(x, y)


def test_rows_of_a_value_go_to_one_worker():
    model = MixedClassifier(Scaler() | HingeOGD(), workers=3, mix_every=50, by="who")
    for x, y in rows(50):
        model.learn_one(x, y)
    turns = {x["who"]: model._turn(x) for x, _ in rows(100, seed=2)}
    for x, _ in rows(100, seed=3):
        assert model._turn(x) == turns[x["who"]]


def test_a_run_that_is_stopped_and_resumed_has_the_bits_of_one_that_is_not(tmp_path):
    stream = [{**x, "y": y} for x, y in rows(900)]

    def run(directory, limit=None):
        model = MixedClassifier(Scaler() | HingeOGD(), workers=3, mix_every=70)
        with Tail(MemorySource(stream), model, "y", checkpoint=directory, limit=limit) as tail:
            tail.run()

    run(tmp_path / "straight")
    for limit in (40, 300, 777, None):
        run(tmp_path / "cut", limit)
    first, second = (CheckpointStore(tmp_path / name).load() for name in ("straight", "cut"))
    ours = {name: array for name, array in first.arrays.items() if "model" in name}
    assert ours
    assert all(np.array_equal(array, second.arrays[name]) for name, array in ours.items())


@pytest.mark.parametrize(
    "model",
    [Winnow(), LLM(), MarginPursuit(), Perceptron(averaged=True), AutoClassifier(), FocusedClassifier(Winnow())],
    ids=lambda model: type(model).__name__,
)
def test_what_has_no_sensible_average_is_refused(model):
    with pytest.raises(
        UsageError, match=r"must come with a learner that can be averaged, got .*; use --model HingeOGD"
    ):
        MixedClassifier(model)


def test_leaves_with_different_thresholds_are_refused():
    model = MixedClassifier(Bins(rows=20) | Logistic(), workers=2, mix_every=30)

    def learn_on():
        for place, (x, y) in enumerate(rows(230)):
            # From the second round on a column that only one of the two workers ever meets.
            model.learn_one({**x, "late": x["a"] ** 3} if place >= 30 and place % 2 else x, y)

    with pytest.raises(ModelError, match="must have the same thresholds to be mixed"):
        learn_on()


@pytest.mark.parametrize("model", [MixedClassifier(HingeOGD(), 2, 20), MixedRegressor(AbsoluteOGD(), 2, 20)])
def test_river_checks_pass(model):
    assert not model._unit_test_skips()
    for check in checks.yield_checks(model):
        check(copy.deepcopy(model).clone())
