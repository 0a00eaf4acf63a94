"""The policies of the player against dense NumPy, at both speeds, saved and loaded."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from river import linear_model

from stream_maxloss import FocusedClassifier, FocusedRegressor, HingeOGD, checkpoint
from stream_maxloss.focus import Capped, Corrected, Credible, Exponential, Policy, Uniform
from stream_maxloss.focus.player import Player
from stream_maxloss.focus.policy import make_policy
from stream_maxloss.linear import LLD, AbsoluteOGD
from tests.support.reference_policies import capped_projection, credence, dense_game

POLICIES = [Exponential(), Uniform(), Capped(0.2, 0.5), Corrected(0.7), Credible(0.1)]


def rows(count: int = 220, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    chance = np.random.default_rng(seed)
    X = chance.normal(size=(count, 5))
    return pd.DataFrame(X, columns=list("abcde")), X @ [1.0, -2.0, 0.5, 0.0, 0.3] + 0.5 * chance.normal(
        size=count
    ) > 1.0


@pytest.mark.parametrize("share", [0.0, 0.01])
@pytest.mark.parametrize("policy", [Exponential(), Uniform(), Capped(0.3), Capped(1.0)], ids=repr)
def test_weights_are_those_of_the_dense_game(policy: Policy, share: float) -> None:
    player = Player(12, gamma=0.4, share=share, seed=3, policy=policy)
    for slot in range(12):
        player.admit(slot)
    chance = np.random.default_rng(1)
    losses, slots = chance.uniform(size=400), []
    for loss in losses:
        slot, probability = player.draw()
        slots.append((slot, probability))
        player.update(slot, probability, loss)
    cap = 1.0 / (policy.alpha * 12) if isinstance(policy, Capped) else 1.0
    gamma, moves = (1.0, False) if isinstance(policy, Uniform) else (0.4, True)
    for (_, probability), expected in zip(slots, dense_game(12, slots, losses, gamma, cap, share, moves), strict=True):
        assert probability == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("alpha", [0.1, 0.25, 0.6])
def test_the_cap_is_the_projection_in_relative_entropy(alpha: float) -> None:
    player = Player(20, gamma=0.5, eta=0.5, seed=1, policy=Capped(alpha))
    for slot in range(20):
        player.admit(slot)
    for k in range(60):
        slot, probability = player.draw()
        before = player.weights() / player.weights().sum()
        before[slot] *= math.exp(0.5 * (k % 3) / 2 / probability)
        player.update(slot, probability, (k % 3) / 2)
        after = player.weights() / player.weights().sum()
        np.testing.assert_allclose(after, capped_projection(before / before.sum(), 1.0 / (alpha * 20)), rtol=1e-9)


def test_a_cap_of_one_is_uniform_and_a_cap_of_nothing_is_exponential() -> None:
    players = [Player(5, seed=2, policy=policy) for policy in (Capped(1.0), Capped(0.01), "exponential")]
    for player in players:
        for slot in range(5):
            player.admit(slot)
        for k in range(50):
            player.update(k % 5, player.probabilities()[k % 5], 1.0 if k % 5 == 2 else 0.0)
    assert players[0].weights() == pytest.approx(np.full(5, players[0].weights()[0]))
    assert players[1].weights().tolist() == players[2].weights().tolist()


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("often", [0.2, 1.0, 7.0])
def test_a_step_is_shortened_by_how_much_too_often_its_row_is_drawn(beta: float, often: float) -> None:
    for policy in (Corrected(beta), Capped(0.5, beta)):
        stride = policy.stride(50.0, often / 50.0, policy.settings)
        assert stride == pytest.approx(min(1.0, 1.0 / often) ** beta)


@pytest.mark.parametrize("epsilon", [0.01, 0.2])
@pytest.mark.parametrize("loss", [0.0, 0.2, 0.5, 0.9, 1.0])
def test_a_loss_counts_as_far_as_bayes_believes_the_label(epsilon: float, loss: float) -> None:
    assert Credible.seen(loss, Credible(epsilon).settings) == pytest.approx(loss * credence(1.0 - loss, epsilon))


@pytest.mark.parametrize(("policy", "share"), [*((policy, 0.0) for policy in POLICIES), (Capped(0.2), 0.001)], ids=repr)
def test_both_speeds_learn_the_same_bits_and_continue_from_a_checkpoint(policy: Policy, share: float, tmp_path) -> None:
    X, y = rows()

    def make() -> FocusedClassifier:
        return FocusedClassifier(HingeOGD(), window=60, replays=4, share=share, policy=policy, seed=5)

    whole, by_row, halves = make(), make(), make()
    whole.learn_many(X, y)
    for x, label in zip(X.to_dict("records"), y, strict=True):
        by_row.learn_one(x, label)
    halves.learn_many(X.iloc[:97], y[:97])
    checkpoint.save(tmp_path, halves)
    halves = checkpoint.load(tmp_path)
    assert halves.policy == policy
    halves.learn_many(X.iloc[97:], y[97:])
    for other in (by_row, halves):
        assert other.classifier.weights == whole.classifier.weights
        for name, value in whole.state_dict().items():
            np.testing.assert_array_equal(other.state_dict()[name], value, err_msg=name)


@pytest.mark.parametrize("policy", [Capped(0.2, 0.5), Credible(0.1)], ids=repr)
def test_a_learner_from_elsewhere_plays_the_same_game_as_one_of_ours(policy: Policy) -> None:
    def loss(y: bool, probabilities: dict[bool, float]) -> float:
        return 1.0 - probabilities[y]

    X, y = rows()
    native = FocusedClassifier(LLD(), window=60, replays=4, loss="probability", policy=policy, seed=5)
    foreign = FocusedClassifier(LLD(), window=60, replays=4, loss=loss, policy=policy, seed=5)
    native.learn_many(X, y)
    for x, label in zip(X.to_dict("records"), y, strict=True):
        foreign.learn_one(x, label)
    assert foreign.is_native is False
    assert foreign.classifier.weights == pytest.approx(native.classifier.weights, rel=1e-6)
    np.testing.assert_allclose(foreign._game.player.weights(), native._game.player.weights(), rtol=1e-6)


def test_uniform_replay_is_what_gamma_one_is() -> None:
    X, y = rows()
    named, by_gamma = HingeOGD(), HingeOGD()
    FocusedClassifier(named, window=60, policy="uniform", seed=5).learn_many(X, y)
    FocusedClassifier(by_gamma, window=60, gamma=1.0, seed=5, policy="exponential").learn_many(X, y)
    assert named.weights == by_gamma.weights


@pytest.mark.parametrize("policy", ["capped", "corrected"])
def test_regressors_and_learners_of_river_take_policies(policy: str) -> None:
    X, y = rows()
    FocusedRegressor(AbsoluteOGD(), window=50, policy=policy, seed=1).learn_many(X, y.astype(float))
    model = FocusedClassifier(linear_model.LogisticRegression(), window=50, replays=2, policy=policy, seed=1)
    for x, label in zip(X.to_dict("records"), y, strict=True):
        model.learn_one(x, bool(label), w=0.5)
    assert model.describe()["replays"] == 440
    # Half of the weight is a shorter way from nothing, in arrivals and replays alike.
    whole = FocusedClassifier(linear_model.LogisticRegression(), window=50, replays=2, policy=policy, seed=1)
    whole.learn_one({"a": 1.0}, True)
    half = FocusedClassifier(linear_model.LogisticRegression(), window=50, replays=2, policy=policy, seed=1)
    half.learn_one({"a": 1.0}, True, w=0.5)
    assert half.classifier.weights["a"] < 0.6 * whole.classifier.weights["a"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: make_policy("best"), r"policy must be one of 'exponential', .*, got 'best'; Capped"),
        (lambda: make_policy(0.5), r"policy must be one of .*, got 0.5"),
        (lambda: Capped(0.0), r"alpha must lie in \(0, 1\], got 0.0; "),
        (lambda: Corrected(1.5), r"beta must lie in \[0, 1\], got 1.5; "),
        (lambda: Credible(0.5), r"epsilon must lie in \(0, 0.5\), got 0.5; "),
    ],
    ids=["name", "number", "alpha", "beta", "epsilon"],
)
def test_a_wrong_argument_is_refused(make, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_a_policy_that_says_nothing_is_refused() -> None:
    class Silent(Policy):
        """Has no raised()."""

    with pytest.raises(TypeError, match=r"must define raised\(\), got Silent\(\)"):
        FocusedClassifier(HingeOGD(), policy=Silent())


def test_a_policy_from_elsewhere_is_compiled_into_the_game() -> None:
    class Linear(Policy):
        @staticmethod
        def raised(weight, others, rows, exponent, settings):
            return weight * (1.0 + exponent)

    player = Player(3, seed=1, policy=Linear())
    for slot in range(3):
        player.admit(slot)
    player.update(1, 1.0 / 3.0, 0.5)
    # eta = 1/(2 n) = 1/6.
    assert player.weights().tolist() == pytest.approx([1.0, 1.25, 1.0])
