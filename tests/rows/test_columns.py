from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from stream_maxloss.features import FeatureMap
from stream_maxloss.rows.columns import (
    MapColumn,
    NumberColumn,
    TextColumn,
    check_finite,
    encode_keys,
    read_columns,
    read_map,
)


def test_each_type_is_its_kind_of_column_and_a_column_of_nulls_is_none() -> None:
    batch = pa.record_batch(
        {
            "n": pa.array([1], pa.decimal128(4, 1)),
            "b": [True],
            "s": ["x"],
            "l": pa.array(["x"], pa.large_string()),
            "v": pa.array(["x"], pa.string_view()),
            "c": pa.array(["x"]).dictionary_encode(),
            "m": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int8())),
            "nothing": pa.nulls(1),
        }
    )
    kinds = [type(column) for column in read_columns(list(batch.schema.names), batch)]
    assert kinds == [NumberColumn, NumberColumn, TextColumn, TextColumn, TextColumn, TextColumn, MapColumn]


def test_a_number_that_is_never_present_takes_no_column() -> None:
    features = FeatureMap()
    assert list(NumberColumn("a", np.array([np.nan, np.nan])).arrivals(features)) == []
    assert list(NumberColumn("a", np.array([np.nan, 0.0])).arrivals(features)) == [(1, "a")]


@pytest.mark.parametrize("index", [pa.int8(), pa.uint32()], ids=str)
def test_null_text_is_no_feature_whether_in_the_codes_or_in_the_dictionary(index: pa.DataType) -> None:
    array = pa.DictionaryArray.from_arrays(pa.array([0, None, 1, 2], index), pa.array(["x", None, "y"]))
    (column,) = read_columns(["c"], pa.record_batch({"c": array}))
    features = FeatureMap()
    assert sorted(column.arrivals(features)) == [(0, "c=x"), (3, "c=y")]


def test_a_sliced_map_with_null_rows_keeps_its_entries() -> None:
    kind = pa.map_(pa.string(), pa.float64())
    array = pa.array([[("z", 9.0)], [("a", 1.0)], None, [("b", None), ("a", 2.0)]], kind).slice(1)
    column = read_map("m", array)
    features = FeatureMap()
    assert list(column.arrivals(features)) == [(0, "a")]
    features.add(["a"])
    assert column.indptr.tolist() == [0, 1, 1, 3]
    assert column.entries(features).columns.tolist() == [0, -1, 0]


def test_a_map_to_anything_but_numbers_is_refused() -> None:
    array = pa.array([[("a", "x")]], pa.map_(pa.string(), pa.string()))
    with pytest.raises(ValueError, match="column 'm' must map names to numbers, got map<string, string>; convert it"):
        read_map("m", array)


@pytest.mark.parametrize("keys", [[3, 1, 3], [1 << 40, -7, 1 << 40]], ids=["near", "far apart"])
def test_whole_number_keys_are_named_by_their_digits(keys: list[int]) -> None:
    codes, names = encode_keys(pa.array(keys))
    assert [names[code] for code in codes] == [str(key) for key in keys]


def test_an_infinity_in_a_map_is_named_with_its_row() -> None:
    array = pa.array([[], [("a", 1.0), ("b", float("-inf"))]], pa.map_(pa.string(), pa.float64()))
    with pytest.raises(ValueError, match="feature 'b' of row 1 must be finite, got -inf; clip it or leave it out"):
        check_finite(read_map("m", array))
