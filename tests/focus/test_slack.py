"""Slack against a projection by bisection over the whole vector."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_maxloss.focus.slack import Slack, SlackBook


def project_l1(point, budget):
    """The nearest point of {0 <= xi <= 1, sum xi <= K}: clip(z - theta, 0, 1) with theta by bisection."""
    if np.clip(point, 0, 1).sum() <= budget:
        return np.clip(point, 0, 1)
    low, high = 0.0, point.max()
    for _ in range(200):
        theta = (low + high) / 2
        low, high = (theta, high) if np.clip(point - theta, 0, 1).sum() > budget else (low, theta)
    return np.clip(point - high, 0, 1)


actions = st.lists(st.tuples(st.sampled_from(["step"] * 6 + ["release"]), st.integers(0, 7)), max_size=120)


@given(budget=st.floats(0.05, 5.0), step=st.floats(0.01, 1.0), actions=actions)
@settings(deadline=None, max_examples=150)
def test_l1_is_the_exact_projection_after_every_step(budget, step, actions):
    book = SlackBook(Slack(budget, "l1", step), capacity=8, rounds=100)
    plain = np.zeros(8)
    for action, slot in actions:
        if action == "step":
            book.step(slot)
            plain[slot] += step
            plain = project_l1(plain, budget)
        else:
            book.release(slot)
            plain[slot] = 0.0
        np.testing.assert_allclose([book.get(k) for k in range(8)], plain, atol=1e-9)
        assert book.spent == pytest.approx(plain.sum(), abs=1e-9)


def project_l2(point, budget):
    """The nearest point of {0 <= xi <= 1, sum xi^2 <= K} by alternating projections (Dykstra)."""
    at, box_error, ball_error = point.copy(), np.zeros_like(point), np.zeros_like(point)
    for _ in range(2000):
        boxed = np.clip(at + box_error, 0, 1)
        box_error = at + box_error - boxed
        inside = boxed + ball_error
        at = inside * min(1.0, math.sqrt(budget / max((inside**2).sum(), 1e-300)))
        ball_error = inside - at
        if np.abs(at - boxed).max() < 1e-13:
            break
    return at


@given(budget=st.floats(0.05, 5.0), step=st.floats(0.01, 1.0), actions=actions)
@settings(deadline=None, max_examples=60)
def test_l2_is_the_exact_projection_after_every_step(budget, step, actions):
    book = SlackBook(Slack(budget, "l2", step), capacity=8, rounds=100)
    for action, slot in actions:
        plain = np.array([book.get(k) for k in range(8)])
        if action == "step":
            book.step(slot)
            plain[slot] += step
            plain = project_l2(plain, budget)
        else:
            book.release(slot)
            plain[slot] = 0.0
        # Dykstra's steps shrink slowly where box and ball touch at a small angle.
        np.testing.assert_allclose([book.get(k) for k in range(8)], plain, atol=1e-6)
        assert book.spent == pytest.approx((plain**2).sum(), abs=1e-5)
        assert book.spent <= budget * (1 + 1e-9)


def test_l2_keeps_the_others_where_the_raised_row_is_capped():
    book = SlackBook(Slack(1.36, "l2", 0.6), capacity=2, rounds=100)
    for slot in [0, 1, 1]:
        book.step(slot)
    # (0.6, 1.2) goes to (0.6, 1): it lies in the ball as it is. Scaled first, it would lose a tenth of both.
    assert [book.get(0), book.get(1)] == pytest.approx([0.6, 1.0])


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_long_runs_keep_the_budget_through_every_rebase(norm):
    book = SlackBook(Slack(2.0, norm, 0.9), capacity=50, rounds=100)
    slots = np.random.default_rng(0).integers(0, 50, size=60_000)
    for slot in slots:
        book.step(slot)
    xi = np.array([book.get(k) for k in range(50)])
    assert ((xi >= 0) & (xi <= 1)).all()
    total = xi.sum() if norm == "l1" else (xi**2).sum()
    assert total == pytest.approx(2.0, rel=1e-9)
    assert book.spent == pytest.approx(total, rel=1e-9)


def test_an_evicted_row_returns_its_slack():
    book = SlackBook(Slack(1.0, "l1", 0.5), capacity=4, rounds=100)
    for _ in range(5):
        book.step(0)
    assert book.get(0) == 1.0
    book.release(0)
    assert (book.spent, book.get(0)) == (0.0, 0.0)
    book.step(1)
    assert book.get(1) == 0.5


def test_without_slack_nothing_is_spent_and_nothing_held():
    book = SlackBook(None, capacity=1000, rounds=100)
    book.step(3)
    book.release(3)
    assert (book.get(3), book.spent, book.active) == (0.0, 0.0, False)
    assert book.nbytes < 100


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("style", ["pickle", "state_dict"])
def test_a_restored_book_continues_to_the_bit(norm, style):
    def play(book, seed):
        for slot in np.random.default_rng(seed).integers(0, 9, size=100):
            book.step(slot)

    book = SlackBook(Slack(1.5, norm), capacity=9, rounds=50)
    play(book, 0)
    if style == "pickle":
        twin = pickle.loads(pickle.dumps(book))
    else:
        twin = SlackBook(Slack(1.5, norm), capacity=9, rounds=50)
        twin.load_state_dict(book.state_dict())
    play(book, 1)
    play(twin, 1)
    assert [book.get(k) for k in range(9)] == [twin.get(k) for k in range(9)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0.0,), r"budget must be positive and finite, got 0\.0"),
        ((float("nan"),), "budget must be positive"),
        ((1.0, "l3"), "norm must be 'l1', 'l2' or 'hard', got 'l3'"),
        ((1.0, "l1", 0.0), r"step must lie in \(0, 1\], got 0\.0"),
    ],
    ids=repr,
)
def test_wrong_choices_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Slack(*arguments)


@given(
    budget=st.integers(1, 5),
    rounds=st.lists(st.tuples(st.integers(0, 7), st.floats(0.0, 1.0)), max_size=80),
)
@settings(deadline=None, max_examples=100)
def test_hard_slack_forgives_the_rows_whose_losses_add_up_to_most(budget, rounds):
    book, totals = SlackBook(Slack(budget, "hard"), capacity=8, rounds=100), np.zeros(8)
    for slot, loss in rounds:
        was_forgiven = book.get(slot)
        assert book.left_of(slot, loss) == (1.0 - was_forgiven) * loss
        book.step(slot, loss)
        totals[slot] += loss
        forgiven = np.array([book.get(k) for k in range(8)])
        assert set(forgiven) <= {0.0, 1.0}
        assert forgiven.sum() == book.spent == min(budget, np.count_nonzero(totals))
        if forgiven.any() and not forgiven.all():
            assert totals[forgiven == 1.0].min() >= totals[forgiven == 0.0].max()


def test_a_row_that_leaves_makes_room_for_another_to_be_forgiven():
    book = SlackBook(Slack(1, "hard"), capacity=3, rounds=10)
    book.step(0, 0.9)
    book.step(1, 0.5)
    assert [book.get(slot) for slot in range(3)] == [1.0, 0.0, 0.0]
    book.release(0)
    assert book.spent == 0.0
    book.step(1, 0.1)
    assert [book.get(slot) for slot in range(3)] == [0.0, 1.0, 0.0]


def test_hard_slack_has_a_whole_budget_and_no_step():
    for wrong in ({"budget": 1.5}, {"budget": 2, "step": 0.1}):
        with pytest.raises(ValueError, match="must have a whole budget and no step"):
            Slack(norm="hard", **wrong)
