from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_maxloss.metrics.tail_loss import LossHistogram, tail_mean

unit = st.floats(0.0, 1.0)
weighted = st.lists(st.tuples(unit, st.floats(0.01, 10.0)), min_size=1, max_size=60)
shares = st.floats(0.01, 1.0)


def tail_by_the_book(rows: list[tuple[float, float]], alpha: float) -> float:
    """Take the worst rows one by one until their weight is the share; the last one in part."""
    left = wanted = alpha * sum(w for _, w in rows)
    total = 0.0
    for loss, w in sorted(rows, reverse=True):
        taken = min(w, left)
        total += taken * loss
        left -= taken
    return total / wanted


@given(rows=weighted, alpha=shares)
@settings(deadline=None, max_examples=200)
def test_tail_mean_takes_the_worst_share_by_weight(rows: list[tuple[float, float]], alpha: float) -> None:
    losses, weights = np.array(rows).T
    assert tail_mean(losses, weights, alpha) == pytest.approx(tail_by_the_book(rows, alpha), abs=1e-12)


def test_tail_mean_of_a_whole_number_of_rows_is_their_plain_mean() -> None:
    losses = np.random.default_rng(0).random(200)
    assert tail_mean(losses, np.ones(200), 0.05) == pytest.approx(np.sort(losses)[-10:].mean(), abs=1e-14)
    assert tail_mean(losses, np.ones(200), 1.0) == pytest.approx(losses.mean(), abs=1e-14)


def test_tail_mean_of_nothing_is_zero() -> None:
    assert tail_mean(np.zeros(0), np.zeros(0), 0.5) == 0.0
    assert tail_mean(np.ones(2), np.zeros(2), 0.5) == 0.0


@given(rows=weighted, alpha=shares, bins=st.sampled_from([2, 16, 4096]))
@settings(deadline=None, max_examples=200)
def test_histogram_is_too_low_by_one_bin_at_most(rows: list[tuple[float, float]], alpha: float, bins: int) -> None:
    histogram = LossHistogram(bins)
    losses, weights = np.array(rows).T
    histogram.push_many(losses, weights)
    error = tail_by_the_book(rows, alpha) - histogram.tail_mean(alpha)
    assert -1e-12 <= error <= 1.0 / bins + 1e-12


def test_the_bound_is_nearly_reached_so_it_is_not_idle() -> None:
    # One row of bin 0 at its top, many at its bottom: the worst row alone is wanted, and counts at the mean.
    histogram = LossHistogram(10)
    losses = np.array([0.0999, *[0.0] * 99])
    histogram.push_many(losses, np.ones(100))
    assert tail_mean(losses, np.ones(100), 0.01) - histogram.tail_mean(0.01) > 0.098


@given(losses=st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=50), alpha=shares)
@settings(deadline=None, max_examples=100)
def test_histogram_is_exact_for_zero_one_losses(losses: list[float], alpha: float) -> None:
    histogram = LossHistogram(64)
    for loss in losses:
        histogram.push(loss, 1.0)
    assert histogram.tail_mean(alpha) == tail_mean(np.array(losses), np.ones(len(losses)), alpha)


@given(rows=weighted, cut=st.integers(0, 60))
@settings(deadline=None, max_examples=100)
def test_batches_and_rows_leave_the_same_bits(rows: list[tuple[float, float]], cut: int) -> None:
    one, many = LossHistogram(8), LossHistogram(8)
    for loss, w in rows:
        one.push(loss, w)
    losses, weights = np.array(rows).T
    many.push_many(losses[:cut], weights[:cut])
    many.push_many(losses[cut:], weights[cut:])
    for name, array in one.state_dict().items():
        np.testing.assert_array_equal(array, many.state_dict()[name])


@given(rows=weighted)
@settings(deadline=None, max_examples=100)
def test_without_weights_all_are_one_to_the_bit(rows: list[tuple[float, float]]) -> None:
    losses = np.array([loss for loss, _ in rows])
    plain, weighed = LossHistogram(8), LossHistogram(8)
    plain.push_many(losses)
    weighed.push_many(losses, np.ones(losses.size))
    for name, array in plain.state_dict().items():
        np.testing.assert_array_equal(array, weighed.state_dict()[name])


@given(kept=weighted, gone=weighted, alpha=shares)
@settings(deadline=None, max_examples=100)
def test_rows_taken_back_leave_no_trace(
    kept: list[tuple[float, float]], gone: list[tuple[float, float]], alpha: float
) -> None:
    histogram, plain = LossHistogram(32), LossHistogram(32)
    for loss, w in gone + kept:
        histogram.push(loss, w)
    for loss, w in kept:
        plain.push(loss, w)
    for loss, w in gone:
        histogram.remove(loss, w)
    # Rounding may put the border of the share one bin off where it falls between two; the mean moves no more than
    # the rounding of the weights, some 120 sums of 1e-15 each, over the least share 1e-4 of them.
    assert histogram.tail_mean(alpha) == pytest.approx(plain.tail_mean(alpha), abs=1e-8)


def test_an_emptied_bin_is_exactly_zero() -> None:
    histogram = LossHistogram(4)
    for w in (0.1, 0.2, 0.3):
        histogram.push(0.7, w)
    for w in (0.1, 0.2, 0.3):  # (0.1 + 0.2 + 0.3) - 0.1 - 0.2 - 0.3 is not 0 in floats
        histogram.remove(0.7, w)
    assert all(not array.any() for array in histogram.state_dict().values())
    with pytest.raises(ValueError, match=r"must have been counted before, got 0\.7"):
        histogram.remove(0.7, 0.1)


def test_merged_histograms_count_both_streams() -> None:
    rng = np.random.default_rng(1)
    left, right, both = LossHistogram(16), LossHistogram(16), LossHistogram(16)
    for histogram, losses in ((left, rng.random(50)), (right, rng.random(70))):
        histogram.push_many(losses, np.ones(losses.size))
        both.push_many(losses, np.ones(losses.size))
    left.merge(right)
    assert left.tail_mean(0.1) == pytest.approx(both.tail_mean(0.1), abs=1e-14)
    with pytest.raises(ValueError, match="bins must be 16 on both sides, got 8"):
        left.merge(LossHistogram(8))


@pytest.mark.parametrize("bins", [0, 1, -4, 2.0, True])
def test_too_few_bins_are_refused(bins: object) -> None:
    with pytest.raises(ValueError, match="bins must be a whole number of at least 2"):
        LossHistogram(bins)  # type: ignore[arg-type]


def test_a_batch_rounds_its_sums_as_the_rows_do() -> None:
    rng = np.random.default_rng(11)
    losses, weights = rng.random(500), rng.random(500)
    one, many = LossHistogram(4), LossHistogram(4)
    for loss, w in zip(losses.tolist(), weights.tolist(), strict=True):
        one.push(loss, w)
    many.push_many(losses[:200], weights[:200])
    many.push_many(losses[200:], weights[200:])
    for name, array in one.state_dict().items():
        np.testing.assert_array_equal(array, many.state_dict()[name])
