"""The kernel of the common case against the general one: the same game, to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from reference_game import numbers
from stream_maxloss.focus import FocusedClassifier, Slack, SubSample, kernels, native
from stream_maxloss.linear import HingeOGD, Pegasos, Perceptron, Scaler

LEARNERS = {
    "hinge": HingeOGD(),
    "hinge, narrow margin, constant step": HingeOGD(lr=0.3, margin=0.5, schedule="constant"),
    "hinge, no intercept": HingeOGD(intercept=False),
    "perceptron": Perceptron(),
}
# Long rows are summed in vector registers, and a window of one row is left at every arrival.
SHAPES = {"narrow": (6, 40), "wide": (70, 40), "one row": (6, 1)}


def learned(classifier, frame, labels, weights, **options):
    focused = FocusedClassifier(classifier.clone(), **({"window": 40, "replays": 5, "seed": 7} | options))
    for start in range(0, len(frame), 61):
        part = slice(start, start + 61)
        focused.learn_many(frame[part], labels[part], w=weights[part])
    return focused


def state(focused):
    whole = focused._native.state_dict() | focused._game.state_dict()
    return {"memory": focused._native.model.memory} | whole


@pytest.fixture
def used(monkeypatch):
    """Which kernels were called."""
    calls = []
    for module, name in ((native, "learn_steady"), (kernels, "learn_batch")):
        kernel = getattr(module, name)

        def call(*arguments, name=name, kernel=kernel):
            calls.append(name)
            return kernel(*arguments)

        monkeypatch.setattr(module, name, call)
    return calls


@pytest.mark.parametrize("loss", ["auto", "zero-one", "probability"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", LEARNERS)
def test_both_kernels_give_the_same_bits(name, shape, loss, used, monkeypatch):
    width, window = SHAPES[shape]
    frame, labels = numbers(rows=200, width=width)
    weights = np.random.default_rng(1).choice([0.5, 1.0, 2.0], size=len(frame))
    options = {"window": window, "loss": loss, "gamma": 0.3, "admission": SubSample(rate=0.8)}
    steady = learned(LEARNERS[name], frame, labels, weights, **options)
    monkeypatch.setattr(native, "is_steady_case", lambda *_: False)
    general = learned(LEARNERS[name], frame, labels, weights, **options)
    assert set(used) == {"learn_steady", "learn_batch"}
    for key, value in state(general).items():
        assert np.array_equal(state(steady)[key], value), key


def test_weights_that_grow_without_bound_are_rescaled_alike(monkeypatch):
    frame, labels = numbers(rows=300)
    options = {"window": 3, "replays": 60, "gamma": 0.1, "loss": "zero-one"}
    steady = learned(HingeOGD(lr=1e-9), frame, ~labels, np.ones(300), **options)
    monkeypatch.setattr(native, "is_steady_case", lambda *_: False)
    general = learned(HingeOGD(lr=1e-9), frame, ~labels, np.ones(300), **options)
    assert np.array_equal(steady._game.player.weights(), general._game.player.weights())


@pytest.mark.parametrize(
    ("learner", "options"),
    [
        (HingeOGD(radius=1.0), {}),
        (Perceptron(averaged=True), {}),
        (Pegasos(), {}),
        (HingeOGD(), {"slack": Slack(2.0)}),
        (HingeOGD(), {"share": 0.01}),
        (HingeOGD(), {"output": "average", "snapshots": 3}),
    ],
    ids=repr,
)
def test_what_asks_for_more_goes_to_the_general_kernel(learner, options, used):
    frame, labels = numbers()
    learned(learner, frame, labels, np.ones(len(frame)), **options)
    assert set(used) == {"learn_batch"}


def test_a_batch_with_an_absent_value_goes_to_the_general_kernel(used):
    frame, labels = numbers(rows=122)
    frame.iloc[70, 2] = np.nan
    learned(HingeOGD(), frame, labels, np.ones(122))
    assert used == ["learn_steady", "learn_batch"]


def test_a_scaled_row_is_scored_before_its_scaler_has_seen_it(used, monkeypatch):
    frame, labels = numbers()

    def scores():
        focused = Scaler() | FocusedClassifier(HingeOGD(), window=40, replays=5, seed=7)
        found = [focused.predict_proba_one(frame.iloc[0].to_dict())]
        focused.learn_many(frame, labels)
        return found, dict(focused["FocusedClassifier"].classifier.weights)

    steady = scores()
    monkeypatch.setattr(native, "is_steady_case", lambda *_: False)
    assert steady == scores()
    assert set(used) == {"learn_steady", "learn_batch"}


@pytest.mark.parametrize("replays", [0, 5])
def test_a_learner_that_diverges_is_named_and_has_learned_the_rows_before(replays, monkeypatch):
    frame, labels = numbers(rows=30)
    frame.iloc[20] = 1e200
    frame.iloc[21:] = 1e250
    models = []
    for steady in (True, False):
        if not steady:
            monkeypatch.setattr(native, "is_steady_case", lambda *_: False)
        focused = FocusedClassifier(HingeOGD(), window=40, replays=replays, seed=7)
        with pytest.raises(ValueError, match="must stay finite, got an overflow"):
            focused.learn_many(frame, labels)
        models.append(focused)
    assert np.array_equal(models[0]._native.model.memory, models[1]._native.model.memory)
