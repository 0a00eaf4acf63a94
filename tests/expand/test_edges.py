from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_maxloss.expand.edges import edges_of

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False, min_value=-(2.0**100), max_value=2.0**100)


@given(st.lists(FLOATS, min_size=1, max_size=80), st.integers(2, 63), st.booleans())
def test_edges_ascend_are_few_and_cut_between_values(values: list[float], most: int, absent: bool) -> None:
    column = np.array([*values, *([-np.inf] if absent else [])], dtype=np.float32)
    edges = edges_of(column, most)
    assert len(edges) <= most
    assert (np.diff(edges) > 0).all()
    different = np.unique(column)
    # No edge has all values on one side.
    for edge in edges:
        assert (different > edge).any()
        assert (different <= edge).any()


def test_few_values_have_an_edge_between_any_two() -> None:
    edges = edges_of(np.array([3, 1, 2, 2, 1], dtype=np.float32), 63)
    assert edges.tolist() == [1.5, 2.5]


def test_neighbouring_floats_are_told_apart() -> None:
    low = np.float32(1.0)
    high = np.nextafter(low, np.float32(2.0))
    edges = edges_of(np.array([low, high], dtype=np.float32), 63)
    assert low <= edges[0] < high


def test_many_values_are_cut_into_even_parts() -> None:
    values = np.random.default_rng(1).exponential(size=6400).astype(np.float32)
    counts = np.bincount(np.searchsorted(edges_of(values, 63), values), minlength=64)
    assert counts.min() >= 90
    assert counts.max() <= 110


@pytest.mark.parametrize("values", [[], [-np.inf, -np.inf]])
def test_a_column_without_values_has_no_edges(values: list[float]) -> None:
    assert len(edges_of(np.array(values, dtype=np.float32), 63)) == 0
