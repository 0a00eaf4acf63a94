from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from stream_maxloss.machine.vectors import copy_bytes, count_beyond, prefetch, prefetch_far, turn_four


@njit
def score_eight(weights, values, stride, constant, targets, limit, ceiling, scores) -> int:
    return count_beyond(
        weights.ctypes.data,
        weights.shape[0],
        values.ctypes.data,
        8 * stride,
        constant,
        targets.ctypes.data,
        limit,
        ceiling,
        scores.ctypes.data,
    )


@given(
    st.integers(0, 12), st.sampled_from([0.0, 0.5]), st.integers(0, 9_999), st.sampled_from([0.0, math.nan, math.inf])
)
@settings(max_examples=60, deadline=None)
def test_eight_scores_have_the_bits_of_a_loop_and_stop_at_the_first_within_the_limit(width, limit, seed, odd) -> None:
    generator = np.random.default_rng(seed)
    weights, values = generator.standard_normal(width), generator.standard_normal((width, 8))
    targets, scores = np.where(generator.random(8) < 0.5, 1.0, -1.0), np.empty(8)
    if width and odd:
        values[0, 5] = odd
    expected = np.zeros(8)
    for weight, column in zip(weights, values, strict=True):
        expected += weight * column
    expected += 0.25
    beyond = (limit < expected * targets) & (expected * targets < math.inf)
    count = 8 if beyond.all() else int(np.argmin(beyond))
    assert score_eight(weights, values, 8, 0.25, targets, limit, math.inf, scores) == count
    np.testing.assert_array_equal(scores, expected)


@njit
def turn_and_copy(columns, rows, copied) -> None:
    first = columns.ctypes.data
    prefetch(first)
    prefetch_far(first)
    turn_four(first, first + 32, first + 64, first + 96, rows.ctypes.data, 8 * rows.shape[1])
    copy_bytes(copied.ctypes.data, first, columns.nbytes)


def test_four_columns_become_four_rows() -> None:
    columns, rows, copied = np.arange(16.0).reshape(4, 4), np.full((4, 5), -1.0), np.zeros((4, 4))
    turn_and_copy(columns, rows, copied)
    np.testing.assert_array_equal(rows[:, :4], columns.T)
    np.testing.assert_array_equal(rows[:, 4], -1.0)
    np.testing.assert_array_equal(copied, columns)
