from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_maxloss.rows.matrix import NumberTable


@given(st.integers(0, 600), st.integers(1, 11), st.integers(0, 5), st.integers(0, 9_999))
@settings(max_examples=40, deadline=None)
def test_rows_are_the_columns_turned(length, width, offset, seed) -> None:
    values = np.random.default_rng(seed).standard_normal((width, length + offset))
    table = NumberTable([pa.array(column).slice(offset) for column in values])
    first = length // 3
    np.testing.assert_array_equal(table.rows(first, length), values[:, offset + first :].T)


@pytest.mark.parametrize("kind", ["int8", "uint64", "float32", "float16", "bool", "float64"])
def test_every_number_type_becomes_float64_with_nan_for_null(kind) -> None:
    column = pa.array([1, None, 0], type=pa.int64()).cast(pa.float64()).cast(kind)
    table = NumberTable([column, pa.array([1.5, 2.5, 3.5])])
    np.testing.assert_array_equal(table.rows(0, 3), [[1.0, 1.5], [np.nan, 2.5], [0.0, 3.5]])
