from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import datasets, evaluate, linear_model, utils

from stream_maxloss.metrics import MaxLoss, RollingTailLoss, TailLoss, ZeroOneLoss

probabilities = st.lists(st.tuples(st.booleans(), st.floats(0.0, 1.0)), min_size=1, max_size=50)


def exact(losses: list[float], alpha: float) -> float:
    """Mean of the worst alpha * n losses, the one on the border in part."""
    left = wanted = alpha * len(losses)
    total = 0.0
    for loss in sorted(losses, reverse=True):
        total += min(1.0, left) * loss
        left -= min(1.0, left)
    return total / wanted


@given(rows=probabilities, alpha=st.floats(0.01, 1.0), window_size=st.integers(1, 20), cut=st.integers(0, 50))
@settings(deadline=None, max_examples=150)
def test_rolling_tail_is_exact_and_the_whole_one_within_a_bin(
    rows: list[tuple[bool, float]], alpha: float, window_size: int, cut: int
) -> None:
    losses = [1.0 - p if y else 1.0 - (1.0 - p) for y, p in rows]
    whole, rolling = TailLoss(alpha), RollingTailLoss(alpha, window_size)
    whole_many, rolling_many = TailLoss(alpha), RollingTailLoss(alpha, window_size)
    for y, p in rows:
        for metric in (whole, rolling):
            metric.update(y, {False: 1.0 - p, True: p})
    for metric in (whole_many, rolling_many):
        metric.update_many(losses[:cut])
        metric.update_many(losses[cut:])
    assert rolling.get() == rolling_many.get() == pytest.approx(exact(losses[-window_size:], alpha), abs=1e-12)
    assert whole.get() == whole_many.get()
    assert -1e-12 <= exact(losses, alpha) - whole.get() <= 1 / 4096


@given(rows=probabilities, window_size=st.integers(1, 20))
@settings(deadline=None, max_examples=50)
def test_rivers_rolling_wrapper_agrees_with_the_rolling_class(rows: list[tuple[bool, float]], window_size: int) -> None:
    wrapped = utils.Rolling(TailLoss, window_size=window_size, alpha=0.3)
    ours = RollingTailLoss(alpha=0.3, window_size=window_size)
    for y, p in rows:
        wrapped.update(y, {False: 1.0 - p, True: p})
        ours.update(y, {False: 1.0 - p, True: p})
        assert -1e-9 <= ours.get() - wrapped.get() <= 1 / 4096 + 1e-9


def test_a_long_stream_is_within_the_bound_of_the_exact_sort() -> None:
    losses = np.random.default_rng(5).beta(0.5, 4.0, size=20_000)
    for bins in (64, 1024, 4096):
        metric = TailLoss(alpha=0.03, bins=bins)
        metric.update_many(losses)
        worst = np.sort(losses)[-600:].mean()
        assert 0.0 <= worst - metric.get() + 1e-12 <= 1 / bins


def test_alpha_goes_from_the_mean_to_the_maximum() -> None:
    losses = np.random.default_rng(6).random(1000)
    values = []
    for alpha in (1.0, 0.5, 0.1, 0.001):
        metric = RollingTailLoss(alpha, window_size=1000)
        metric.update_many(losses)
        values.append(metric.get())
    assert values == sorted(values)
    assert values[0] == pytest.approx(losses.mean())
    assert values[-1] == pytest.approx(losses.max())


def test_weights_count_like_repeated_rows() -> None:
    weighted, repeated = TailLoss(0.25), TailLoss(0.25)
    for loss, times in ((0.2, 1), (0.9, 3), (0.5, 4)):
        weighted.update_loss(loss, float(times))
        repeated.update_many([loss] * times)
    assert weighted.get() == pytest.approx(repeated.get(), abs=1e-12)


def test_streams_scored_apart_can_be_merged() -> None:
    losses = np.random.default_rng(8).random(300)
    left, right, both = TailLoss(0.1), TailLoss(0.1), TailLoss(0.1)
    left.update_many(losses[:100])
    right.update_many(losses[100:])
    both.update_many(losses)
    left.merge(right)
    assert left.get() == pytest.approx(both.get(), abs=1e-12)


def test_it_is_never_above_the_maximum_in_progressive_validation() -> None:
    metric = TailLoss(0.02) + MaxLoss() + TailLoss(1.0) + TailLoss(0.2, ZeroOneLoss())
    evaluate.progressive_val_score(datasets.Phishing(), linear_model.LogisticRegression(), metric)
    tail, greatest, mean, _ = metric.get()
    assert mean < tail < greatest


def test_a_row_that_was_never_counted_cannot_be_taken_back() -> None:
    metric = TailLoss()
    metric.update(True, 0.75)
    with pytest.raises(ValueError, match=r"must have been counted before, got 0\.5"):
        metric.revert(True, 0.5)
    metric.revert(True, 0.75)
    assert metric.get() == 0.0


@pytest.mark.parametrize("alpha", [0.0, -0.1, 1.1, float("nan")])
@pytest.mark.parametrize("kind", [TailLoss, RollingTailLoss])
def test_alpha_out_of_range_is_refused(kind: type, alpha: float) -> None:
    with pytest.raises(ValueError, match=r"alpha must be in \(0, 1\]"):
        kind(alpha)
