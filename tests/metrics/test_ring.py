from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_maxloss.metrics.ring import Ring

batches = st.lists(st.lists(st.integers(0, 1000), max_size=12), max_size=8)


@given(capacity=st.integers(1, 9), cuts=batches)
@settings(deadline=None, max_examples=150)
def test_ring_holds_the_last_rows_however_they_are_cut_into_batches(capacity: int, cuts: list[list[int]]) -> None:
    many, one = Ring(capacity), Ring(capacity)
    for batch in cuts:
        many.push_many(np.array(batch, dtype=float), np.array(batch, dtype=float) + 0.5)
        for value in batch:
            one.push(float(value), value + 0.5)
    last = [float(v) for batch in cuts for v in batch][-capacity:]
    assert many.values().tolist() == one.values().tolist() == last
    assert many.weights().tolist() == one.weights().tolist() == [v + 0.5 for v in last]
    assert len(many) == len(last)


@given(before=st.integers(0, 12), after=st.integers(0, 12))
@settings(deadline=None, max_examples=50)
def test_a_restored_ring_continues_like_the_original(before: int, after: int) -> None:
    original, restored = Ring(5), Ring(5)
    original.push_many(np.arange(before, dtype=float), np.ones(before))
    restored.push_many(np.full(3, -1.0), np.ones(3))
    restored.load_state_dict(original.state_dict())
    for ring in (original, restored):
        ring.push_many(100.0 + np.arange(after), np.ones(after))
    assert restored.values().tolist() == original.values().tolist()


def test_a_state_with_too_many_rows_is_refused() -> None:
    ring = Ring(4)
    ring.push_many(np.arange(4.0), np.ones(4))
    with pytest.raises(ValueError, match="at most 3 rows, got 4"):
        Ring(3).load_state_dict(ring.state_dict())


@pytest.mark.parametrize("capacity", [0, -1, 2.5, True, None])
def test_a_window_that_is_not_a_positive_count_is_refused(capacity: object) -> None:
    with pytest.raises(ValueError, match="window_size must be a whole number"):
        Ring(capacity)  # type: ignore[arg-type]
