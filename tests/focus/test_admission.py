"""Who enters the window, and where."""

from __future__ import annotations

import math
import pickle
from collections import Counter, deque

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_maxloss.focus.admission import AdmitAll, ClassQuota, Reservoir, SubSample, make_admission
from stream_maxloss.focus.gate import Gate


def test_all_rows_enter_and_the_oldest_leaves():
    gate = Gate(AdmitAll(), capacity=3)
    assert [gate.settle(None) for _ in range(7)] == [0, 1, 2, 0, 1, 2, 0]


def test_sub_sampling_admits_at_its_rate_into_a_ring():
    gate = Gate(SubSample(rate=0.1), capacity=50, seed=1)
    slots = gate.settle_many(np.zeros(20_000))
    admitted = slots[slots >= 0]
    # Binomial(20000, 0.1): mean 2000, deviation 42; five of them.
    assert abs(len(admitted) - 2000) < 212
    assert admitted.tolist() == [k % 50 for k in range(len(admitted))]


def test_a_reservoir_holds_every_row_of_history_equally_often():
    counts = np.zeros(60)
    for seed in range(2000):
        gate = Gate(Reservoir(), capacity=6, seed=seed)
        held = {}
        for row, slot in enumerate(gate.settle_many(np.zeros(60)).tolist()):
            if slot >= 0:
                held[slot] = row
        counts[list(held.values())] += 1
    # Binomial(2000, 0.1): mean 200, deviation 13.4; five of them.
    np.testing.assert_allclose(counts, 200, atol=67)


class QuotaOracle:
    """The quota rule over plain queues."""

    def __init__(self, capacity, quota):
        self.capacity, self.quota, self.queues = capacity, quota, {}

    def settle(self, label):
        queue = self.queues.setdefault(label, deque())
        quota = self.quota or max(1, self.capacity // len(self.queues))
        held = sum(map(len, self.queues.values()))
        if held < self.capacity and (self.quota is None or len(queue) < quota):
            slot = held
        else:
            loser = queue if len(queue) >= quota else max(self.queues.values(), key=len)
            slot = loser.popleft()
        queue.append(slot)
        return slot


@given(
    labels=st.lists(st.sampled_from("aaaabbcd"), max_size=80),
    capacity=st.integers(1, 12),
    quota=st.none() | st.integers(1, 12),
)
@settings(deadline=None, max_examples=100)
def test_quotas_follow_the_oracle_one_by_one_and_in_batches(labels, capacity, quota):
    oracle = QuotaOracle(capacity, quota)
    expected = [oracle.settle(label) for label in labels]
    one, many = Gate(ClassQuota(quota), capacity), Gate(ClassQuota(quota), capacity)
    assert [one.settle(label) for label in labels] == expected
    assert many.settle_many(labels).tolist() == expected
    assert all(len(queue) <= (quota or capacity) for queue in oracle.queues.values())


def test_a_rare_class_keeps_its_share_of_a_full_window():
    gate = Gate(make_admission("quota"), capacity=10)
    labels = [False] * 50 + [True] * 3 + [False] * 200
    held = {}
    for label in labels:
        held[gate.settle(label)] = label
    assert Counter(held.values()) == {False: 7, True: 3}


@pytest.mark.parametrize("admission", [AdmitAll(), SubSample(rate=0.3), Reservoir(), ClassQuota()], ids=repr)
@pytest.mark.parametrize("style", ["pickle", "state_dict", "batch"])
def test_restored_and_batched_gates_settle_alike(admission, style):
    labels = np.random.default_rng(0).integers(0, 3, size=300).tolist()
    gate = Gate(admission, capacity=20, seed=5)
    first = [gate.settle(label) for label in labels[:150]]
    if style == "pickle":
        twin = pickle.loads(pickle.dumps(gate))
    else:
        twin = Gate(admission, capacity=20, seed=5)
        if style == "state_dict":
            twin.load_state_dict(gate.state_dict())
        else:
            assert twin.settle_many(labels[:150]).tolist() == first
    assert [gate.settle(label) for label in labels[150:]] == twin.settle_many(labels[150:]).tolist()


@pytest.mark.parametrize(("outliers", "rare"), [(5, 5000), (20, 100_000), (1, 4700)])
def test_a_bad_sub_sample_is_no_likelier_than_theorem_3_says(outliers, rare):
    rng = np.random.default_rng(1)
    choice = SubSample(outliers=outliers)
    trials = 20_000
    # Each outlier enters on its own with the rate, each rare row too; bad: any outlier, or under half of the mean.
    bad = (rng.binomial(outliers, choice.probability, trials) > 0) | (
        rng.binomial(rare, choice.probability, trials) < choice.probability * rare / 2
    )
    assert bad.mean() <= choice.failure_bound(outliers, rare)
    assert choice.probability == pytest.approx(1 / (100 * outliers))


def test_the_paper_s_example_stays_under_three_per_cent():
    k = 3
    rare = 1000 * math.log(100) * k
    assert SubSample(outliers=k).failure_bound(k, rare) <= 0.03 + 1e-9


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SubSample(), "one of rate and outliers must be given, got None and None"),
        (lambda: SubSample(rate=0.5, outliers=3), "one of rate and outliers"),
        (lambda: SubSample(rate=0.0), r"rate must lie in \(0, 1\], got 0\.0"),
        (lambda: SubSample(outliers=-1), "outliers must be at least"),
        (lambda: ClassQuota(0), "quota must be a positive integer or None, got 0"),
        (lambda: make_admission("some"), "admission must be 'all', 'reservoir', 'quota'"),
        (lambda: make_admission(3), "got 3"),
    ],
    ids=["none", "both", "rate", "outliers", "quota", "name", "type"],
)
def test_wrong_choices_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
