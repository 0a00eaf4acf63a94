"""Weights over named slices: the rows by slice, the dense game in NumPy, both speeds, and pipelines."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from river import linear_model, preprocessing

from stream_maxloss import FocusedClassifier, HingeOGD, Logistic, Scaler, checkpoint
from stream_maxloss.expand import Bins
from stream_maxloss.focus import AdmitAll, Capped, Reservoir, Slices
from stream_maxloss.focus.game import Game, replay_entry_point
from stream_maxloss.focus.slices import MOST_SLICES, Roster, slice_find

NAMES = ["web", "mail", "web", "web", None, "mail", 7, "web"]


def rows(count: int = 220) -> tuple[pd.DataFrame, np.ndarray, list[str]]:
    chance = np.random.default_rng(0)
    X = chance.normal(size=(count, 3))
    names = chance.choice(["common", "rare", "rarest"], p=[0.8, 0.15, 0.05], size=count)
    return pd.DataFrame(X, columns=list("abc")), (X[:, 0] > 0.3) ^ (names == "rarest"), names.tolist()


def make_game(**settings) -> Game:
    known = {"window": 8, "replays": 1, "gamma": 0.4, "eta": None, "share": 0.0, "admission": "all", "slack": None}
    return Game(**known | settings, snapshots=0, span="history", seed=3, policy="slices")


def test_a_roster_knows_the_rows_of_every_slice_whatever_comes_and_goes():
    roster, held, chance = Roster(30), {}, np.random.default_rng(1)
    for _ in range(500):
        slot, name = int(chance.integers(30)), int(chance.integers(6)) ** 2
        roster.enter(slot, roster.code_of(name))
        held[slot] = name
        for known, code in roster.names.items():
            found = roster.order[roster.firsts[code] : roster.firsts[code + 1]]
            assert sorted(found) == sorted(slot for slot, name in held.items() if name == known)


def test_weights_and_chances_are_those_of_the_dense_game():
    game, q, chance = make_game(), {}, np.random.default_rng(2)
    for name in NAMES:
        game.admit(True, name)
        # A slice that is new has the mean weight of those before it.
        q.setdefault(name, sum(q.values()) / len(q) if q else 1.0)
    finish = replay_entry_point(Slices.raised, True)
    slot, _ = finish(game.handle, -1, 0.0, 0.0, True)
    for loss in chance.uniform(size=300):
        share = NAMES.count(NAMES[slot]) / len(NAMES)
        p_slice = 0.4 * share + 0.6 * q[NAMES[slot]] / sum(q.values())
        # eta is 1/(2n).
        q[NAMES[slot]] *= np.exp(loss / (2 * len(NAMES)) / p_slice)
        slot, _ = finish(game.handle, slot, 0.0, loss, True)
        expected = [0.4 / 8 + 0.6 * q[name] / sum(q.values()) / NAMES.count(name) for name in NAMES]
        np.testing.assert_allclose(game.probabilities(), expected, rtol=1e-9)
    assert game.player.rounds == 300
    assert game.roster.shares() == pytest.approx({name: weight / sum(q.values()) for name, weight in q.items()})


def test_a_slice_that_is_new_has_the_mean_weight_of_the_others():
    roster = Roster(4)
    for slot, name in enumerate(["web", "mail"]):
        roster.enter(slot, roster.code_of(name))
    roster.weights[:2] = 1.0, 5.0
    roster.enter(2, roster.code_of("news"))
    assert roster.shares() == pytest.approx({"web": 1 / 9, "mail": 5 / 9, "news": 3 / 9})


def test_rows_are_drawn_as_often_as_their_weights_say():
    roster = Roster(8)
    for slot, name in enumerate(NAMES):
        roster.enter(slot, roster.code_of(name))
    roster.weights[:4] = 1.0, 5.0, 0.5, 2.0
    points = (np.arange(20_000) + 0.5) / 20_000
    found = np.bincount([slice_find(roster.firsts, roster.order, roster.weights, p) for p in points], minlength=8)
    # Points on a grid miss a row's share by at most two of them.
    np.testing.assert_allclose(found / 20_000, roster.row_weights(8) / 8.5, atol=2e-4)


def test_each_slice_has_its_own_window_unless_another_admission_is_named():
    names = ["rare"] + ["common"] * 50
    own, sampled = make_game(), make_game(admission=Reservoir())
    for name in names:
        own.admit(True, name)
        sampled.admit(True, name)
    assert own.roster.shares().keys() == {"rare", "common"}
    assert type(sampled.gate.admission) is Reservoir
    assert type(Game(8, 1, 0.5, None, 0.0, "all", None, 0, "history", 1).gate.admission) is AdmitAll


@pytest.mark.parametrize("slack", [None, 3.0])
def test_both_speeds_learn_the_same_bits_and_continue_from_a_checkpoint(slack, tmp_path):
    X, y, names = rows()

    def make() -> FocusedClassifier:
        return FocusedClassifier(HingeOGD(), window=60, replays=4, policy="slices", slack=slack, seed=5)

    whole, by_row, halves = make(), make(), make()
    whole.learn_many(X, y, slices=names)
    for x, label, name in zip(X.to_dict("records"), y, names, strict=True):
        by_row.learn_one(x, label, slice=name)
    halves.learn_many(X.iloc[:97], y[:97], slices=names[:97])
    checkpoint.save(tmp_path, halves)
    halves = checkpoint.load(tmp_path)
    halves.learn_many(X.iloc[97:], y[97:], slices=names[97:])
    for other in (by_row, halves):
        assert other.classifier.weights == whole.classifier.weights
        for name, value in whole.state_dict().items():
            np.testing.assert_array_equal(other.state_dict()[name], value, err_msg=name)


def test_a_learner_from_elsewhere_plays_the_same_game_as_one_of_ours():
    X, y, names = rows()
    native = FocusedClassifier(Logistic(), window=60, replays=4, policy="slices", seed=5)
    foreign = FocusedClassifier(Logistic(), window=60, replays=4, loss=lambda y, p: 1.0 - p[y], policy=Slices(), seed=5)
    native.learn_many(X, y, slices=names)
    foreign.learn_many(X, y, slices=names)
    assert foreign.is_native is False
    assert foreign.classifier.weights == pytest.approx(native.classifier.weights, rel=1e-6)
    assert foreign.slice_weights() == pytest.approx(native.slice_weights(), rel=1e-6)
    assert max(native.slice_weights(), key=native.slice_weights().get) == "rarest"


@pytest.mark.parametrize(
    "make",
    [
        lambda focused: Scaler() | focused(HingeOGD()),
        lambda focused: Bins() | focused(Logistic()),
        lambda focused: preprocessing.StandardScaler() | focused(linear_model.LogisticRegression()),
        lambda focused: Scaler() | focused(linear_model.LogisticRegression()),
    ],
    ids=["scaler", "bins", "river", "scaler and river"],
)
def test_pipelines_hand_the_slices_on(make):
    X, y, names = rows(150)
    model = make(lambda learner: FocusedClassifier(learner, window=50, replays=2, policy="slices", seed=1))
    for x, label, name in zip(X[:50].to_dict("records"), y[:50].tolist(), names, strict=False):
        model.learn_one(x, label, slice=name)
    if hasattr(model, "takes_slices"):
        assert model.takes_slices
        model.learn_many(X[50:], y[50:], slices=names[50:])
    assert model["FocusedClassifier"].slice_weights().keys() == {"common", "rare", "rarest"}


def test_names_beyond_the_most_share_the_last_slice():
    roster = Roster(4)
    codes = [roster.code_of(number) for number in range(MOST_SLICES + 10)]
    assert codes[-10:] == [MOST_SLICES - 1] * 10
    assert roster.code_of(3) == 3


def test_slices_that_nobody_asked_for_are_refused():
    X, y, names = rows(10)
    model = FocusedClassifier(HingeOGD(), policy=Capped())
    with pytest.raises(TypeError, match="slices must come with policy='slices'"):
        model.learn_many(X, y, slices=names)
    with pytest.raises(ValueError, match="share must be 0 with weights over slices"):
        FocusedClassifier(HingeOGD(), policy="slices", share=0.1)
    with pytest.raises(ValueError, match="10"):
        FocusedClassifier(HingeOGD(), policy="slices").learn_many(X, y, slices=names[:9])


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state["slices.order"].__setitem__(0, 3),
        lambda state: state["slices.order"].__setitem__(0, 9),
        lambda state: state["slices.firsts"].__setitem__(1, 8),
        lambda state: state["slices.firsts"].__setitem__(MOST_SLICES + 1, 200),
        lambda state: state["slices.weights"].__setitem__(0, 0.0),
        lambda state: state["slices.names"].clear(),
    ],
    ids=["twice", "beyond", "not in order", "too many", "weightless", "nameless"],
)
def test_a_state_that_would_lead_a_kernel_astray_is_refused(change):
    game = make_game()
    for name in NAMES:
        game.admit(True, name)
    state = game.state_dict()
    change(state)
    with pytest.raises(ValueError, match=r"slices|order|firsts"):
        make_game().load_state_dict(state)
