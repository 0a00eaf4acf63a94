"""The stored rows against a dict of rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_maxloss.focus.native_window import NativeWindow


def put(window, oracle, slot, row, form, size):
    columns = np.array(sorted(row), dtype=np.int64)
    values = np.array([row[column] for column in columns.tolist()])
    width = int(columns.max()) + 1 if len(columns) else 0
    window.reserve(max(width, window.arrays.matrix.shape[1]), 1, len(columns), size)
    if form == "entries":
        window.put(slot, values, columns)
    else:
        dense = np.full(width, np.nan)
        dense[columns] = values
        window.put(slot, dense)
    oracle[slot] = {column: value for column, value in row.items() if value != 0.0}


rows = st.dictionaries(st.integers(0, 150), st.sampled_from([0.0, 1.0, -2.5, 3e7]), max_size=12)


@given(
    steps=st.lists(st.tuples(rows, st.sampled_from(["entries", "dense"])), max_size=60),
    capacity=st.integers(1, 9),
    sparse=st.booleans(),
    seed=st.integers(0, 99),
)
@settings(deadline=None, max_examples=60)
def test_every_slot_holds_the_row_last_put_there(steps, capacity, sparse, seed):
    window, oracle = NativeWindow(capacity, sparse), {}
    rng = np.random.default_rng(seed)
    for row, form in steps:
        slot = len(oracle) if len(oracle) < capacity else int(rng.integers(capacity))
        put(window, oracle, slot, row, form, len(oracle))
        for held, expected in oracle.items():
            columns, values = window.row(held)
            assert dict(zip(columns.tolist(), values.tolist(), strict=True)) == expected
    twin = NativeWindow(capacity)
    twin.load_state_dict(window.state_dict(len(oracle)), len(oracle), width=151)
    for held in oracle:
        assert [part.tolist() for part in twin.row(held)] == [part.tolist() for part in window.row(held)]


def test_a_sparse_window_stays_within_twice_its_entries():
    window, oracle = NativeWindow(100, sparse=True), {}
    rng = np.random.default_rng(0)
    for step in range(5000):
        slot = step if step < 100 else int(rng.integers(100))
        row = {int(column): 1.0 for column in rng.integers(0, 10_000, size=30)}
        put(window, oracle, slot, row, "entries", len(oracle))
    held = sum(map(len, oracle.values()))
    assert int(window.arrays.ends[1]) == held
    assert len(window.arrays.values) <= 2 * held


@pytest.mark.parametrize(("entries", "sparse"), [(40, False), (39, True)])
def test_rows_are_packed_when_less_than_a_third_is_used(entries, sparse):
    window, oracle = NativeWindow(4), {}
    row = dict.fromkeys(range(0, entries - 1), 1.0) | {119: 1.0}
    put(window, oracle, 0, row, "entries", 0)
    assert window.sparse == sparse
