"""Recursive least squares in vector registers, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from stream_maxloss.machine.compiled import compiled
from stream_maxloss.machine.covariance import deflate, project


@compiled
def step(matrix: int, x: int, out: int, factor: float, grow: float, length: int) -> None:
    project(matrix, x, out, length)
    deflate(matrix, out, factor, grow, length)


@pytest.mark.parametrize("length", [4, 12, 20])
def test_a_step_is_that_of_numpy(length: int) -> None:
    draw = np.random.default_rng(1)
    root = draw.normal(size=(length, length))
    matrix, x, out = root @ root.T, draw.normal(size=length), np.empty(length)
    expected = matrix @ x
    after = 1.25 * (matrix - 0.01 * np.outer(expected, expected))
    step(matrix.ctypes.data, x.ctypes.data, out.ctypes.data, 0.01, 1.25, length)
    assert np.allclose(out, expected, rtol=1e-12)
    assert np.allclose(matrix, after, rtol=1e-10, atol=1e-12)


def test_a_matrix_stays_symmetric_however_long_it_forgets() -> None:
    # (factor x_i) x_j rounds differently in the two halves, and 1 / 0.998^20,000 is 2e17.
    draw = np.random.default_rng(2)
    matrix, out = np.eye(8) * 0.05, np.empty(8)
    for x in draw.normal(size=(20_000, 8)) * np.linspace(0.1, 2.0, 8):
        spread = x @ matrix @ x
        step(matrix.ctypes.data, x.ctypes.data, out.ctypes.data, 0.2 / (1.0 + 0.2 * spread), 1.0 / 0.998, 8)
    assert (matrix == matrix.T).all()
    assert np.linalg.eigvalsh(matrix).min() > 0.0
