from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_maxloss.rows.heading import Heading
from stream_maxloss.rows.matrix import NumberTable


def table_of(columns) -> NumberTable:
    batch = pa.RecordBatch.from_arrays(columns, names=[f"f{j}" for j in range(len(columns))])
    return NumberTable(batch, Heading(batch.schema).is_wide, np.arange(len(columns)))


@given(st.integers(0, 600), st.integers(1, 11), st.integers(0, 5), st.integers(0, 9_999))
@settings(max_examples=40, deadline=None)
def test_rows_are_the_columns_turned(length, width, offset, seed) -> None:
    values = np.random.default_rng(seed).standard_normal((width, length + offset))
    table = table_of([pa.array(column).slice(offset) for column in values])
    first = length // 3
    np.testing.assert_array_equal(table.rows(first, length), values[:, offset + first :].T)


@pytest.mark.parametrize("kind", ["int8", "uint64", "float32", "float16", "bool", "float64"])
def test_every_number_type_becomes_float64_with_nan_for_null(kind) -> None:
    column = pa.array([1, None, 0], type=pa.int64()).cast(pa.float64()).cast(kind)
    table = table_of([column, pa.array([1.5, 2.5, 3.5])])
    np.testing.assert_array_equal(table.rows(0, 3), [[1.0, 1.5], [np.nan, 2.5], [0.0, 3.5]])


def test_columns_are_taken_in_the_given_order() -> None:
    batch = pa.record_batch({"a": [1.0, 2.0], "b": [3, 4], "c": [5.0, None]})
    table = NumberTable(batch, Heading(batch.schema).is_wide, np.array([2, 0]))
    np.testing.assert_array_equal(table.rows(0, 2), [[5.0, 1.0], [np.nan, 2.0]])


@pytest.mark.parametrize("first", [0, 1, 3])
def test_a_slice_whose_count_of_nulls_is_not_known_is_read_right(first) -> None:
    batch = pa.record_batch({"a": [1.0, None, 3.0, 4.0], "b": [5.0, 6.0, 7.0, 8.0]}).slice(first)
    whole = np.array([[1.0, 5.0], [np.nan, 6.0], [3.0, 7.0], [4.0, 8.0]])
    table = NumberTable(batch, Heading(batch.schema).is_wide, np.arange(2))
    np.testing.assert_array_equal(table.rows(0, 4 - first), whole[first:])


def test_a_matrix_begins_where_a_vector_of_four_does() -> None:
    table = table_of([pa.array(np.arange(300.0))] * 5)
    assert {table.rows(0, length).ctypes.data % 32 for length in range(1, 300)} == {0}


def test_no_columns_make_rows_without_values() -> None:
    table = NumberTable(pa.record_batch({"a": [1.0, 2.0]}), np.array([True]), np.array([], dtype=np.int64))
    assert table.rows(0, 2).shape == (2, 0)
