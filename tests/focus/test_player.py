"""The p-player against a transcription of the paper's pseudo-code, and its bounds."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from stream_maxloss.focus.player import Player, player_draw, playing
from stream_maxloss.focus.policy import Exponential
from stream_maxloss.random import make_generator, next_below, next_uniform


class PaperTree:
    """The tree of Shalev-Shwartz and Wexler (2016), section 2.3, line by line, over a list."""

    def __init__(self, m, generator):
        self.leaves = [1.0] * m
        self.generator = generator

    def sample(self, gamma):
        m, root = len(self.leaves), sum(self.leaves)
        if next_uniform(self.generator) < gamma:
            i = next_below(self.generator, m)
        else:
            mass = next_uniform(self.generator) * root
            i = 0
            while mass >= self.leaves[i]:
                mass -= self.leaves[i]
                i += 1
        return i, gamma / m + (1 - gamma) * self.leaves[i] / root

    def update(self, i, f):
        self.leaves[i] *= f


def filled(capacity, **parameters):
    player = Player(capacity, **parameters)
    for slot in range(capacity):
        player.admit(slot)
    return player


@given(m=st.integers(1, 60), gamma=st.sampled_from([0.1, 0.5, 1.0]), seed=st.integers(0, 10**6))
@settings(deadline=None, max_examples=30)
def test_rounds_match_the_paper_s_pseudo_code_on_the_same_draws(m, gamma, seed):
    player = filled(m, gamma=gamma, seed=seed)
    paper = PaperTree(m, make_generator(seed))
    losses = np.random.default_rng(seed).uniform(size=(200, m))
    for row in losses:
        slot, probability = player.draw()
        expected_slot, expected_probability = paper.sample(gamma)
        assert slot == expected_slot
        assert probability == pytest.approx(expected_probability, rel=1e-12)
        player.update(slot, probability, row[slot])
        paper.update(slot, math.exp(1 / (2 * m) * row[slot] / probability))
    np.testing.assert_allclose(player.weights(), paper.leaves, rtol=1e-10)


@given(
    capacity=st.integers(1, 50),
    gamma=st.floats(0.01, 1.0),
    share=st.sampled_from([0.0, 0.001, 0.3]),
    seed=st.integers(0, 99),
)
@settings(deadline=None, max_examples=40)
def test_p_sums_to_one_and_the_exponent_keeps_its_bound(capacity, gamma, share, seed):
    player = filled(capacity, gamma=gamma, share=share, seed=seed)
    for step in range(100):
        slot, probability = player.draw()
        # eta loss / p <= (1/(2n)) / (gamma/n) = 1/(2 gamma)
        assert 1.0 / (2 * capacity) / probability <= 1.0 / (2 * gamma) * (1 + 1e-12)
        assert player.probabilities().sum() == pytest.approx(1.0, rel=1e-12)
        assert probability == pytest.approx(player.probabilities()[slot], rel=1e-12)
        player.update(slot, probability, float(step % 2))


@pytest.mark.parametrize("share", [0.0, 0.01])
def test_sampled_frequency_equals_p(share):
    player = filled(40, share=share, seed=5)
    for _ in range(400):
        slot, probability = player.draw()
        player.update(slot, probability, slot / 40)
    draws = 100_000
    counts = np.bincount([player.draw()[0] for _ in range(draws)], minlength=40)
    expected = player.probabilities() * draws
    # chi-square with 39 degrees: mean 39, deviation sqrt(78) = 8.8; five deviations.
    assert abs(((counts - expected) ** 2 / expected).sum() - 39) < 44


def test_constant_loss_keeps_the_weights_uniform_up_to_sampling():
    m, rounds, seeds = 10, 100, 400
    logarithms = np.zeros((seeds, m))
    for seed in range(seeds):
        player = filled(m, seed=seed)
        for _ in range(rounds):
            slot, probability = player.draw()
            player.update(slot, probability, 1.0)
        logarithms[seed] = np.log(player.weights())
    # A round adds eta/p_i with probability p_i: eta in the mean, whatever p is, with variance at most
    # eta^2/p_i <= 1/(2m). Over T rounds: mean T/(2m) = 5, variance T/(2m) = 5; five deviations of the seeds' mean.
    np.testing.assert_allclose(logarithms.mean(axis=0), 5.0, atol=5 * math.sqrt(5 / seeds))


def test_fixed_share_matches_the_sweep_over_all_weights():
    m, share = 30, 0.02
    player = filled(m, share=share, seed=7)
    plain = np.ones(m)
    for step in range(2000):
        slot, probability = player.draw()
        assert probability == pytest.approx(0.5 / m + 0.5 * plain[slot] / plain.sum(), rel=1e-9)
        loss = 1.0 if (slot + step // 500) % 7 == 0 else 0.1
        player.update(slot, probability, loss)
        plain[slot] *= math.exp(loss / probability / (2 * m))
        plain = (1 - share) * plain + share * plain.sum() / m
    np.testing.assert_allclose(player.weights() / player.weights().sum(), plain / plain.sum(), rtol=1e-9)


def test_fixed_share_survives_the_fold_of_its_coefficients():
    m, share = 20, 0.5
    player = filled(m, share=share, seed=8)
    plain = np.ones(m)
    for _ in range(2000):  # A = 2^-k reaches 2^-512 three times
        slot, probability = player.draw()
        player.update(slot, probability, 1.0 if slot < 3 else 0.0)
        plain[slot] *= math.exp((1.0 if slot < 3 else 0.0) / probability / (2 * m))
        plain = (1 - share) * plain + share * plain.sum() / m
        plain /= plain.sum()
    np.testing.assert_allclose(player.weights() / player.weights().sum(), plain, rtol=1e-9)


def test_fixed_share_forgets_with_its_half_life():
    player = filled(10, share=0.01, seed=9)
    for _ in range(500):
        slot, probability = player.draw()
        player.update(slot, probability, 1.0 if slot == 0 else 0.0)
    excess = player.weights()[0] / player.weights().sum() - 0.1
    for _ in range(69):  # ln(2)/0.01
        slot, probability = player.draw()
        player.update(slot, probability, 0.0)
    assert player.weights()[0] / player.weights().sum() - 0.1 == pytest.approx(excess / 2, rel=0.01)


# This policy looks at no settings, so that any array will do for them.
update = playing(Exponential.raised)


@njit
def play_rounds(nodes, starts, game, generator, rounds, loss):
    for _ in range(rounds):
        slot, probability = player_draw(nodes, starts, game, generator)
        update(nodes, starts, game, game, slot, probability, loss)


@pytest.mark.parametrize("loss", [1.0, -1.0], ids=["rising", "falling"])
def test_ten_million_updates_neither_overflow_nor_lose_a_leaf(loss):
    player = filled(1000, seed=10)
    play_rounds(player.tree.nodes, player.tree.starts, player.game, player.generator, 10_000_000, loss)
    weights = player.weights()
    assert player.rounds == 10_000_000
    assert np.isfinite(weights).all()
    assert (weights > 0.0).all()
    assert player.tree.total == pytest.approx(weights.sum(), rel=1e-12)
    assert 2.0**-512 <= player.tree.total <= 2.0**512


def test_a_new_row_is_drawn_with_the_neutral_probability():
    player = filled(10, seed=11)
    for _ in range(300):
        slot, probability = player.draw()
        player.update(slot, probability, 1.0 if slot == 4 else 0.0)
    assert player.probabilities()[4] > 0.4
    player.admit(4)
    np.testing.assert_allclose(player.probabilities(), 0.1, rtol=0.05)
    player.admit(0)
    assert player.probabilities()[0] == pytest.approx(0.1, rel=1e-12)


def test_slots_fill_in_order_from_one_row():
    player = Player(3, seed=0)
    player.admit(0)
    assert player.draw() == (0, 1.0)
    player.admit(0)
    assert (player.size, player.weights().tolist()) == (1, [1.0])
    with pytest.raises(ValueError, match="slot must be an earlier one or the next, 1, got 2"):
        player.admit(2)


@pytest.mark.parametrize("style", ["pickle", "state_dict"])
def test_a_restored_player_plays_on_to_the_bit(style):
    player = filled(37, share=0.001, seed=12)

    def play(p):
        for _ in range(200):
            slot, probability = p.draw()
            p.update(slot, probability, slot / 37)

    play(player)
    if style == "pickle":
        twin = pickle.loads(pickle.dumps(player))
    else:
        twin = Player(37, share=0.001)
        twin.load_state_dict(player.state_dict())
    play(player)
    play(twin)
    assert player.weights().tolist() == twin.weights().tolist()
    assert player.generator.tolist() == twin.generator.tolist()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"gamma": 0.0}, r"gamma must lie in \(0, 1\], got 0.0"),
        ({"gamma": 1.5}, r"gamma must lie in \(0, 1\], got 1.5"),
        ({"gamma": float("nan")}, "gamma must lie"),
        ({"eta": 0.0}, "eta must lie in"),
        ({"eta": 1e3}, "eta must lie in .* got 1000.0"),
        ({"share": 1.0}, r"share must lie in \[0, 1\), got 1.0"),
        ({"share": -0.1}, "share must lie"),
    ],
    ids=repr,
)
def test_parameters_out_of_range_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        Player(10, **parameters)


@pytest.mark.parametrize("loss", [1.5, -2.0, float("nan")])
def test_a_loss_out_of_range_is_named(loss):
    player = filled(2, seed=0)
    with pytest.raises(ValueError, match="loss must lie in"):
        player.update(0, 0.5, loss)
