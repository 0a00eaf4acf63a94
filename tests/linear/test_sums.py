"""Sums over rows, called as kernels call them."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from stream_maxloss.linear.sums import dot, dot_in_lanes


@njit
def in_lanes(v, X, i, length):
    return dot_in_lanes(v.ctypes.data, X.ctypes.data + 8 * i * X.shape[1], length)


@njit
def stored(v, X, i, length):
    return dot(v.ctypes.data, (0, X.ctypes.data + 8 * i * X.shape[1], length, 1))


@njit
def dense(v, X, i, length):
    return dot(v.ctypes.data, (0, X.ctypes.data + 8 * i * X.shape[1], length, 0))


@njit
def packed(v, columns, values):
    return dot(v.ctypes.data, (columns.ctypes.data, values.ctypes.data, len(columns), 1))


def lanes_by_hand(v, x):
    lanes = [0.0] * 4
    for j, (weight, value) in enumerate(zip(v, x, strict=True)):
        lanes[j % 4] += weight * value
    return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])


@pytest.mark.parametrize("length", range(13))
def test_lanes_are_summed_by_column_and_stop_at_the_length(length):
    generator = np.random.default_rng(length)
    v, X = generator.standard_normal(13), generator.standard_normal((3, 13))
    # What lies behind the length must not be read into the sum.
    v[length:] = np.nan
    assert in_lanes(v, X, 1, length) == lanes_by_hand(v[:length].tolist(), X[1, :length].tolist())


def test_zeros_behind_the_last_column_change_no_bit():
    generator = np.random.default_rng(7)
    v, X = generator.standard_normal(64), generator.standard_normal((2, 64))
    for length in range(64):
        X[1, length:] = 0.0
        sums = {stored(v, X, 1, counted) for counted in range(length, 65)}
        assert len(sums) == 1
        X[1] = generator.standard_normal(64)


@pytest.mark.parametrize("length", [1, 5, 20, 64, 65, 200])
def test_a_stored_row_has_the_sum_of_a_dense_one_up_to_rounding(length):
    generator = np.random.default_rng(length)
    v, X = generator.standard_normal(length), generator.standard_normal((2, length))
    exact = np.abs(v * X[0]).sum()
    assert abs(stored(v, X, 0, length) - dense(v, X, 0, length)) <= 4e-16 * length * exact


@pytest.mark.parametrize("length", [0, 1, 7, 20, 64])
def test_a_packed_row_has_the_bits_of_a_stored_one(length):
    generator = np.random.default_rng(length)
    v, X = generator.standard_normal(64), generator.standard_normal((1, 64))
    X[0, generator.random(64) < 0.5] = 0.0
    columns = np.flatnonzero(X[0, :length]).astype(np.int32)
    assert packed(v, columns, X[0, columns]) == stored(v, X, 0, length)
