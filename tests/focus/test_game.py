"""The parts of a game put together."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from stream_maxloss.focus.game import Game, default_replays, part_of, replay_entry_point
from stream_maxloss.focus.policy import Exponential


def make_game(**options):
    defaults = {
        "window": 10,
        "replays": 2,
        "gamma": 0.5,
        "eta": None,
        "share": 0.0,
        "admission": "all",
        "slack": None,
        "snapshots": 0,
        "span": "history",
        "seed": 1,
    }
    return Game(**defaults | options)


@pytest.mark.parametrize(("window", "replays"), [(1, 1), (2, 1), (1000, 10), (10_000, 13), (1_000_000, 20)])
def test_the_default_is_about_log2_of_the_window(window, replays):
    assert default_replays(window) == replays
    assert make_game(window=window, replays=None).replays == replays


def test_an_arrival_starts_its_slot_anew():
    game = make_game(window=2, slack=1.0)
    for _ in range(2):
        game.admit(True)
    game.slack.step(0)
    game.replayed[0] = 5
    assert game.admit(True) == 0
    assert (game.slack.get(0), game.slack.spent, game.replayed[0]) == (0.0, 0.0, 0)
    assert game.ages().tolist() == [0, 1]


def test_parts_draw_from_sequences_of_their_own():
    game = make_game(admission="reservoir", snapshots=3)
    states = {tuple(part.generator.tolist()) for part in (game.player, game.gate, game.schedule)}
    assert len(states) == 3
    assert game.player.generator.tolist() == make_game().player.generator.tolist()


def test_a_number_is_an_l1_budget():
    assert make_game(slack=3.0).slack.book[:2].tolist() == [1.0, 3.0]


def test_the_state_is_flat_and_restores():
    game = make_game(slack=1.0, admission="quota")
    for label in (True, False, True):
        game.admit(label)
    state = game.state_dict()
    assert all(isinstance(value, np.ndarray | list) for value in state.values())
    twin = make_game(slack=1.0, admission="quota", seed=2)
    twin.load_state_dict(state)
    assert [game.admit(False) for _ in range(12)] == [twin.admit(False) for _ in range(12)]
    assert game.player.weights().tolist() == twin.player.weights().tolist()


def test_part_of_takes_one_prefix_off():
    assert part_of({"a.b": 1, "a.b.c": 2, "ab.c": 3}, "a") == {"b": 1, "b.c": 2}


@pytest.mark.parametrize(
    "make_copy", [copy.deepcopy, lambda game: pickle.loads(pickle.dumps(game))], ids=["copy", "pickle"]
)
def test_a_copy_plays_on_arrays_of_its_own(make_copy):
    game = make_game(window=3)
    for _ in range(3):
        game.admit(True)
    finish = replay_entry_point(Exponential.raised)
    finish(game.handle, 1, 0.5, 1.0, False)
    other = make_copy(game)
    slot, probability = finish(other.handle, 2, 0.5, 1.0, True)
    assert (game.replayed.tolist(), other.replayed.tolist()) == ([0, 1, 0], [0, 1, 1])
    assert (game.player.rounds, other.player.rounds) == (1, 2)
    assert probability == pytest.approx(other.player.probabilities()[slot])
    assert game.player.weights()[2] == 1.0 < other.player.weights()[2]
