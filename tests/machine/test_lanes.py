"""Eight models in one register, against numpy."""

from __future__ import annotations

import numpy as np

from stream_maxloss.machine.compiled import compiled
from stream_maxloss.machine.lanes import (
    CELL_BYTES,
    count_below,
    merge_bits,
    score_cells,
    score_leaves,
    sigmoids,
    step_cells,
    step_leaves,
)


@compiled
def run_sigmoids(scores: int, out: int) -> None:
    sigmoids(scores, 14.0, out)


@compiled
def run_cells(cells: int, indices: int, values: int, count: int, lanes: int, out: int) -> None:
    score_cells(cells, CELL_BYTES, indices, values, count, lanes, np.float32(0.5), out)
    step_cells(cells, CELL_BYTES, indices, values, count, lanes + 32, lanes, lanes + 64, lanes + 96, np.float32(0.25))


@compiled
def run_leaves(cells: int, leaves: int, first: int, count: int, lanes: int, out: int) -> None:
    score_leaves(cells, CELL_BYTES, leaves, first, count, 2, 1, lanes, np.float32(0.5), out)
    step_leaves(
        cells, CELL_BYTES, leaves, first, count, 2, 1, lanes + 32, lanes, lanes + 64, lanes + 96, np.float32(0.25)
    )


@compiled
def run_count(numbers: int, count: int, value: float) -> int:
    return count_below(numbers, count, np.float32(value))


@compiled
def run_merge(goal: int, source: int, count: int) -> None:
    merge_bits(goal, source, count)


def stepped(cells: np.ndarray, chosen: np.ndarray, x: np.ndarray, lanes: np.ndarray) -> np.ndarray:
    """Step as the module's words say, one feature after the other."""
    mask, gradient, adaptive, steady = lanes.astype(np.float64)
    after = cells.astype(np.float64)
    for cell, value in zip(chosen, x, strict=True):
        g = gradient * mask * 0.25 * value
        after[cell, 8:] += g**2
        after[cell, :8] += g * (adaptive / np.sqrt(after[cell, 8:] + 1e-12) + steady)
    return after


def lanes_of(draw: np.random.Generator) -> np.ndarray:
    mask = (draw.random(8) < 0.7).astype(np.float32)
    return np.array([mask, draw.normal(size=8), draw.random(8), draw.random(8)], dtype=np.float32)


def test_sigmoids_are_those_of_numpy_and_are_cut_off() -> None:
    draw = np.random.default_rng(1)
    for scale in (0.1, 5.0, 100.0):
        scores, out = (draw.normal(size=8) * scale).astype(np.float32), np.empty(8)
        run_sigmoids(scores.ctypes.data, out.ctypes.data)
        expected = 1.0 / (1.0 + np.exp(-np.clip(scores.astype(np.float64), -14, 14)))
        assert np.allclose(out, expected, rtol=1e-13)


def test_listed_features_are_scored_and_stepped_as_by_numpy() -> None:
    draw = np.random.default_rng(2)
    for count in (0, 1, 3, 4, 9, 30):
        cells = np.abs(draw.normal(size=(40, 16))).astype(np.float32)
        chosen, x = draw.permutation(40)[:count], draw.normal(size=count).astype(np.float32)
        lanes, out = lanes_of(draw), np.ones(8, dtype=np.float32)
        score = 1.0 + 0.5 * lanes[0] * (x.astype(np.float64) @ cells[chosen, :8])
        expected = stepped(cells, chosen, x, lanes)
        run_cells(cells.ctypes.data, chosen.ctypes.data, x.ctypes.data, count, lanes.ctypes.data, out.ctypes.data)
        assert np.allclose(out, score, rtol=1e-5, atol=1e-5)
        # The root is found to 5e-6.
        assert np.allclose(cells, expected, rtol=2e-5, atol=1e-6)


def test_leaves_are_scored_and_stepped_as_by_numpy() -> None:
    draw = np.random.default_rng(3)
    cells = np.abs(draw.normal(size=(40, 16))).astype(np.float32)
    leaves = draw.integers(0, 8, 10).astype(np.uint16)
    lanes, out = lanes_of(draw), np.zeros(8, dtype=np.float32)
    ferns = np.arange(3, 10)
    chosen = 4 * ferns + leaves[ferns] // 2
    score = 0.5 * lanes[0] * cells[chosen, :8].sum(axis=0)
    expected = stepped(cells, chosen, np.ones(7), lanes)
    run_leaves(cells.ctypes.data, leaves.ctypes.data, 3, 7, lanes.ctypes.data, out.ctypes.data)
    assert np.allclose(out, score, rtol=1e-5, atol=1e-5)
    assert np.allclose(cells, expected, rtol=2e-5, atol=1e-6)


def test_what_lies_below_a_value_is_counted() -> None:
    draw = np.random.default_rng(5)
    numbers = np.append(draw.normal(size=22), [np.inf, np.inf]).astype(np.float32)
    for value in (-np.inf, -1.0, float(numbers[3]), 0.0, 9.0, np.inf):
        assert run_count(numbers.ctypes.data, 3, value) == (numbers < np.float32(value)).sum()


def test_bits_are_merged_in_whole_registers() -> None:
    draw = np.random.default_rng(4)
    goal, source = (draw.integers(0, 1 << 16, 48).astype(np.uint16) for _ in range(2))
    expected = np.concatenate([goal[:32] | source[:32], goal[32:]])
    run_merge(goal.ctypes.data, source.ctypes.data, 2)
    assert (goal == expected).all()
