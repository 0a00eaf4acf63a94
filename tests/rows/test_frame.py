from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from stream_maxloss.features import FeatureMap, HashedFeatureMap
from stream_maxloss.rows import Rows, read_frame
from stream_maxloss.rows.frame import open_numbers, stretches


def one(frame: Any, features: Any, learn: bool = True) -> Rows:
    (rows,) = read_frame(frame, features, learn)
    return rows


def test_numbers_become_a_matrix_in_the_learners_order() -> None:
    features = FeatureMap()
    features.add(["b"])
    rows = one(pa.table({"a": [1, None], "b": [True, False]}), features)
    assert features.names == ["b", "a"]
    assert rows.prefix
    assert rows.indptr is None
    np.testing.assert_array_equal(rows.values, [[1.0, 1.0], [0.0, np.nan]])


def test_new_names_get_columns_in_the_order_of_their_first_row() -> None:
    features = FeatureMap()
    one(
        pa.table({"a": [None, None, 1.0], "b": [None, 2.0, None], "c": [3.0, None, None], "d": [None, 1.0, 1.0]}),
        features,
    )
    assert features.names == ["c", "b", "d", "a"]


def test_without_learning_nothing_is_added() -> None:
    features = FeatureMap()
    features.add(["a"])
    rows = one(pd.DataFrame({"x": [1.0], "a": [2.0]}), features, learn=False)
    assert features.names == ["a"]
    assert rows.values.tolist() == [[2.0]]


def test_two_columns_of_one_name_add_up() -> None:
    features = FeatureMap()
    rows = one(pa.RecordBatch.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["a", "a"]), features)
    assert features.names == ["a"]
    assert rows.values.tolist() == [3.0]


def test_hashed_columns_that_collide_add_up() -> None:
    rows = one(pa.table({f"f{j}": [1.0] for j in range(9)}), HashedFeatureMap(2))
    assert rows.values.sum() == 9.0
    assert rows.columns.tolist() == sorted(set(rows.columns.tolist()))


WIDTHS = [pa.int8(), pa.uint16(), pa.int32(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.bool_()]


@pytest.mark.parametrize("left", WIDTHS, ids=str)
@pytest.mark.parametrize("right", WIDTHS, ids=str)
def test_any_two_widths_of_numbers_mix_without_loss(left: pa.DataType, right: pa.DataType) -> None:
    arrays = [pa.array([1, 0, None]).cast(kind) for kind in (left, right)]
    large = {pa.uint16(): 65535, pa.int32(): 2**31 - 1, pa.uint64(): 2**53, pa.int8(): -128}.get(left, 1)
    arrays[0] = pa.concat_arrays([arrays[0], pa.array([large]).cast(left)])
    arrays[1] = pa.concat_arrays([arrays[1], pa.array([1]).cast(right)])
    numbers = open_numbers(pa.RecordBatch.from_arrays(arrays, names=["a", "b"]), FeatureMap(), learn=True)
    np.testing.assert_array_equal(numbers.table.rows(0, 4), [[1.0, 1.0], [0.0, 0.0], [np.nan, np.nan], [large, 1.0]])


@pytest.mark.parametrize("rows", [0, 1, 256, 257, 5000])
def test_stretches_cover_every_row_once(rows: int) -> None:
    spans = list(stretches(rows, 300))
    assert [row for first, last in spans for row in range(first, last)] == list(range(rows))
    assert spans


@pytest.mark.parametrize("columns", [0, 1, 20, 33, 300])
def test_stretches_begin_at_a_cache_line_of_every_column(columns: int) -> None:
    assert {first % 64 for first, _ in stretches(100_000, columns)} == {0}
    assert {first % 64 for first, _ in stretches(100_000, columns, start=5)} == {5}


def test_a_name_that_arrives_behind_the_first_stretch_still_gets_its_column() -> None:
    late = np.full(40_000, np.nan)
    late[39_999] = 1.0
    features = FeatureMap()
    for _ in read_frame(
        pa.table({"late": late, "never": np.full(40_000, np.nan), "b": np.ones(40_000)}), features, True
    ):
        pass
    assert features.names == ["b", "late"]


def test_the_callers_data_is_never_written_to() -> None:
    frame = pd.DataFrame({"a": [1.0, np.nan]})
    rows = one(frame, FeatureMap())
    rows.values[:] = 7.0
    assert frame["a"].tolist()[0] == 1.0
    table = pa.table({"a": [1.0, 2.0]})
    rows = one(table, FeatureMap())
    rows.values[:] = 7.0
    assert table["a"].to_pylist() == [1.0, 2.0]


@pytest.mark.parametrize("frame", [pd.DataFrame({"c": pd.Categorical(["x", None])}), pl.DataFrame({"c": ["x", None]})])
def test_text_of_pandas_and_polars_is_a_feature_of_its_value(frame: Any) -> None:
    features = FeatureMap()
    rows = one(frame, features)
    assert features.names == ["c=x"]
    assert rows.indptr is not None
    assert rows.indptr.tolist() == [0, 1, 1]


def test_an_empty_polars_frame_with_categories_has_no_rows() -> None:
    frame = pl.DataFrame({"c": pl.Series([], dtype=pl.Categorical), "n": pl.Series([], dtype=pl.Float64)})
    assert [len(rows) for rows in read_frame(frame, FeatureMap(), learn=True)] == [0]
