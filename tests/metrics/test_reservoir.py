from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_maxloss.metrics.reservoir import Reservoir


@given(n_rows=st.integers(0, 80), cut=st.integers(0, 80), capacity=st.integers(1, 12), seed=st.integers(0, 2**64 - 1))
@settings(deadline=None, max_examples=100)
def test_batches_and_rows_draw_the_same_sample(n_rows: int, cut: int, capacity: int, seed: int) -> None:
    one, many = Reservoir(capacity, seed), Reservoir(capacity, seed)
    values = np.arange(n_rows, dtype=float)
    for value in values:
        one.push(value)
    many.push_many(values[:cut])
    many.push_many(values[cut:])
    assert one.values().tolist() == many.values().tolist()
    assert one.n_rows == many.n_rows == n_rows
    sample = one.values().tolist()
    assert len(sample) == len(set(sample)) == min(n_rows, capacity)


def test_every_row_is_kept_with_the_same_chance() -> None:
    # 4,000 samples of 10 from 50 rows: each row is kept 800 times on average, standard deviation
    # sqrt(4000 * 0.2 * 0.8) = 25.3; 50 rows within 4.5 deviations.
    kept = np.zeros(50)
    for seed in range(4000):
        reservoir = Reservoir(10, seed)
        reservoir.push_many(np.arange(50.0))
        kept[reservoir.values().astype(int)] += 1
    assert np.abs(kept - 800.0).max() < 4.5 * math.sqrt(4000 * 0.2 * 0.8)


def test_a_restored_reservoir_continues_like_the_original() -> None:
    original, restored = Reservoir(5, seed=3), Reservoir(5, seed=99)
    original.push_many(np.arange(20.0))
    restored.load_state_dict(original.state_dict())
    for reservoir in (original, restored):
        reservoir.push_many(np.arange(100.0, 160.0))
    assert restored.values().tolist() == original.values().tolist()


def test_no_seed_means_another_sample_each_time() -> None:
    samples = set()
    for _ in range(3):
        reservoir = Reservoir(5)
        reservoir.push_many(np.arange(1000.0))
        samples.add(tuple(reservoir.values().tolist()))
    assert len(samples) == 3


def test_a_state_of_another_capacity_is_refused() -> None:
    reservoir = Reservoir(5, seed=1)
    reservoir.push_many(np.arange(20.0))
    with pytest.raises(ValueError, match="state must hold 4 values, got 5"):
        Reservoir(4, seed=1).load_state_dict(reservoir.state_dict())


@pytest.mark.parametrize("capacity", [0, -3, 1.5, False])
def test_a_capacity_that_is_not_a_positive_count_is_refused(capacity: object) -> None:
    with pytest.raises(ValueError, match="capacity must be a whole number"):
        Reservoir(capacity)  # type: ignore[arg-type]
