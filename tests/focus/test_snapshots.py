"""The choice of rounds is uniform, over the history and over a horizon."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from stream_maxloss.focus.snapshots import SnapshotSchedule


def kept_rounds(schedule, rounds):
    kept = {}
    for t in range(rounds):
        place = schedule.place()
        if place >= 0:
            kept[place] = t
    return kept


@pytest.mark.parametrize("rounds", [2, 3, 7, 40])
def test_a_reservoir_keeps_every_round_equally_often(rounds):
    k, seeds = 3, 4000
    counts = np.zeros(rounds)
    for seed in range(seeds):
        kept = kept_rounds(SnapshotSchedule(k, seed=seed), rounds)
        assert sorted(kept) == list(range(min(k, rounds)))
        counts[list(kept.values())] += 1
    share = min(1.0, k / rounds)
    # Binomial counts: five deviations.
    tolerance = 5 * math.sqrt(seeds * share * (1 - share)) + 1e-9
    np.testing.assert_allclose(counts, seeds * share, atol=tolerance)


def test_a_reservoir_makes_few_copies():
    schedule = SnapshotSchedule(10, seed=0)
    copies = sum(schedule.place() >= 0 for _ in range(100_000))
    # k (1 + ln(T/k)) = 102 in the mean, with a deviation below its root.
    assert 50 < copies < 155


def test_a_horizon_keeps_one_uniform_round_of_each_of_the_last_stretches():
    k, horizon, rounds, seeds = 4, 40, 100, 2000
    counts = np.zeros(rounds)
    for seed in range(seeds):
        kept = kept_rounds(SnapshotSchedule(k, horizon=horizon, seed=seed), rounds)
        assert sorted(t // 10 for t in kept.values()) == [6, 7, 8, 9]
        counts[list(kept.values())] += 1
    assert counts[:60].sum() == 0
    np.testing.assert_allclose(counts[60:], seeds / 10, atol=5 * math.sqrt(seeds * 0.1 * 0.9))


def test_no_snapshots_cost_nothing():
    schedule = SnapshotSchedule(0)
    assert kept_rounds(schedule, 100) == {}
    assert (schedule.stored, schedule.due) == (0, False)


def test_due_predicts_the_place():
    schedule = SnapshotSchedule(3, seed=2)
    for _ in range(200):
        due = schedule.due
        assert due == (schedule.place() >= 0)


@pytest.mark.parametrize("style", ["pickle", "state_dict"])
@pytest.mark.parametrize("horizon", [None, 50])
def test_a_restored_schedule_continues_to_the_bit(style, horizon):
    schedule = SnapshotSchedule(5, horizon=horizon, seed=3)
    kept_rounds(schedule, 77)
    if style == "pickle":
        twin = pickle.loads(pickle.dumps(schedule))
    else:
        twin = SnapshotSchedule(5, horizon=horizon)
        twin.load_state_dict(schedule.state_dict())
    assert kept_rounds(schedule, 500) == kept_rounds(twin, 500)
