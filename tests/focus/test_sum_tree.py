"""The sum-tree against a plain list."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from stream_maxloss.focus.sum_tree import SMALLEST_WEIGHT, SumTree
from stream_maxloss.random import make_generator

weights = st.one_of(st.just(0.0), st.floats(1e-12, 1e15), st.floats(0.0, 1e-300))


class TreeAgainstList(RuleBasedStateMachine):
    """Any sequence of writes leaves the tree where the same writes leave a list."""

    @initialize(capacity=st.integers(1, 200))
    def start(self, capacity):
        self.tree = SumTree(capacity)
        self.oracle = [0.0] * capacity

    def write(self, slot, weight):
        self.oracle[slot] = max(weight, SMALLEST_WEIGHT) if weight > 0.0 else 0.0

    @rule(data=st.data(), weight=weights)
    def set_one(self, data, weight):
        slot = data.draw(st.integers(0, len(self.oracle) - 1))
        self.tree.set(slot, weight)
        self.write(slot, weight)

    @rule(data=st.data())
    def set_several_and_the_last_write_wins(self, data):
        pairs = data.draw(st.lists(st.tuples(st.integers(0, len(self.oracle) - 1), weights), max_size=20))
        self.tree.set_many([slot for slot, _ in pairs], [weight for _, weight in pairs])
        for slot, weight in pairs:
            self.write(slot, weight)

    @rule()
    def rescale(self):
        factor = self.tree.rescale()
        self.oracle = [max(v * factor, SMALLEST_WEIGHT) if v > 0.0 else 0.0 for v in self.oracle]

    @rule(style=st.sampled_from(["pickle", "state_dict"]))
    def save_and_load(self, style):
        if style == "pickle":
            self.tree = pickle.loads(pickle.dumps(self.tree))
        else:
            fresh = SumTree(len(self.oracle))
            fresh.load_state_dict(self.tree.state_dict())
            self.tree = fresh

    @rule(share=st.floats(0.0, 1.0))
    def find(self, share):
        mass = min(share * self.tree.total, np.nextafter(self.tree.total, 0.0))
        if self.tree.total == 0.0:
            return
        slot = self.tree.find(mass)
        before = sum(self.oracle[:slot])
        slack = 1e-12 * self.tree.total
        assert self.oracle[slot] > 0.0
        assert before - slack <= mass < before + self.oracle[slot] + slack

    @invariant()
    def leaves_and_total_agree(self):
        assert self.tree.weights.tolist() == self.oracle
        assert self.tree.total == pytest.approx(sum(self.oracle), rel=1e-13)


TestTreeAgainstList = TreeAgainstList.TestCase
TestTreeAgainstList.settings = settings(deadline=None, max_examples=40, stateful_step_count=30)


@pytest.mark.parametrize("capacity", [1, 7, 8, 9, 64, 65, 513])
def test_every_live_slot_is_found_and_no_empty_one(capacity):
    tree = SumTree(capacity)
    live = list(range(0, capacity, 2))
    tree.set_many(live, np.ones(len(live)))
    assert [tree.find(mass) for mass in range(len(live))] == live
    assert tree.find(np.nextafter(float(len(live)), 0.0)) == live[-1]
    assert set(tree.sample_many(make_generator(0), 200).tolist()) <= set(live)


def test_mass_that_rounds_past_the_end_still_finds_a_live_slot():
    # 0.1 + 0.2 + 0.3 in pairs differs from the same sum in order, so the walk may overshoot its group.
    rng = np.random.default_rng(0)
    for _ in range(300):
        tree = SumTree(64)
        values = rng.uniform(size=64) * 10.0 ** rng.integers(-12, 12, size=64) * (rng.uniform(size=64) < 0.3)
        values[0] = 1.0
        tree.set_many(np.arange(64), values)
        assert values[tree.find(np.nextafter(tree.total, 0.0))] > 0.0


def test_sampled_frequencies_follow_the_weights():
    tree = SumTree(300)
    values = np.random.default_rng(1).uniform(0.5, 2.0, size=300)
    values[::3] = 0.0
    tree.set_many(np.arange(300), values)
    draws = 200_000
    counts = np.bincount(tree.sample_many(make_generator(2), draws), minlength=300)
    expected = values / values.sum() * draws
    assert counts[values == 0.0].sum() == 0
    live = values > 0.0
    statistic = ((counts[live] - expected[live]) ** 2 / expected[live]).sum()
    # chi-square with 199 degrees: mean 199, deviation sqrt(398) = 20; five deviations leave one seed in a million.
    assert abs(statistic - 199.0) < 100.0


def test_total_stays_exact_when_weights_lie_far_apart():
    rng = np.random.default_rng(3)
    tree = SumTree(4096)
    slots = rng.integers(0, 4096, size=200_000)
    tree.set_many(slots, 10.0 ** rng.uniform(-8, 12, size=200_000))
    final = rng.uniform(1e-7, 3e-7, size=4096)
    tree.set_many(np.arange(4096), final)
    exact = float(np.sum(np.sort(final).astype(np.longdouble)))
    assert tree.total == pytest.approx(exact, rel=1e-12)


def test_a_difference_added_tree_fails_where_ours_is_exact():
    # The failure this tree is built against, so that the test above is known to bite.
    rng = np.random.default_rng(3)
    leaves, total = np.zeros(4096), 0.0
    for slot, weight in zip(
        rng.integers(0, 4096, size=200_000), 10.0 ** rng.uniform(-8, 12, size=200_000), strict=True
    ):
        total += weight - leaves[slot]
        leaves[slot] = weight
    for slot, weight in enumerate(rng.uniform(1e-7, 3e-7, size=4096)):
        total += weight - leaves[slot]
        leaves[slot] = weight
    assert abs(total - leaves.sum()) > 100 * leaves.sum()


@given(st.integers(1, 40), st.integers(-1000, 1000))
@settings(deadline=None, max_examples=40)
def test_rescaling_keeps_probabilities_to_the_bit(capacity, exponent):
    tree = SumTree(capacity)
    values = np.random.default_rng(capacity).uniform(1.0, 2.0, size=capacity)
    tree.set_many(np.arange(capacity), values * 2.0**exponent)
    before = [tree.probability(slot) for slot in range(capacity)]
    tree.rescale()
    assert 1.0 <= tree.total < 2.0
    assert [tree.probability(slot) for slot in range(capacity)] == before


def test_a_live_leaf_never_reaches_zero():
    tree = SumTree(3)
    tree.set_many([0, 1], [5e-324, 1e300])
    tree.rescale()
    assert tree.get(0) == SMALLEST_WEIGHT
    assert tree.get(2) == 0.0


def test_memory_stays_near_the_leaves():
    assert SumTree(1_000_000).nbytes < 9.2e6


def test_node_groups_start_cache_lines_after_unpickling_too():
    for tree in (SumTree(100), pickle.loads(pickle.dumps(SumTree(100)))):
        assert tree.nodes.ctypes.data % 64 == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: SumTree(0), "capacity must be at least 1, got 0"),
        (lambda t: t.set(4, 1.0), r"slot must lie in 0\.\.3, got 4"),
        (lambda t: t.set(-1, 1.0), r"slot must lie in 0\.\.3, got -1"),
        (lambda t: t.set(0, -1.0), "weight must be finite and not negative, got -1.0"),
        (lambda t: t.set(0, float("nan")), "got nan"),
        (lambda t: t.set_many([0], [float("inf")]), "got .*inf"),
        (lambda t: t.set_many([0, 9], [1.0, 1.0]), r"slot must lie in 0\.\.3, got 9"),
        (lambda t: t.set_many([0, 1], [1.0]), "two rows of one length"),
        (lambda t: t.find(1.0), "mass must lie in"),
        (lambda t: t.sample(make_generator(0)), "must hold a weight to draw from"),
        (lambda t: t.restore([1.0]), "weights must be 4 numbers"),
    ],
    ids=["capacity", "high", "low", "negative", "nan", "inf", "many", "lengths", "mass", "empty", "restore"],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(SumTree(4))


def test_a_capacity_that_is_no_integer_is_refused():
    with pytest.raises(TypeError, match=r"capacity must be an integer, got 2\.5"):
        SumTree(2.5)
