from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from stream_maxloss.rows.dicts import frame_to_dicts


def test_missing_values_are_left_out_also_inside_maps() -> None:
    maps = pa.array([[("k", 1.0), ("l", None), ("m", float("nan"))], None], pa.map_(pa.string(), pa.float64()))
    table = pa.table({"a": [1.0, float("nan")], "s": [None, "x"], "m": maps})
    assert list(frame_to_dicts(table)) == [{"a": 1.0, "k": 1.0}, {"s": "x"}]


def test_a_category_is_text_whatever_its_values_are() -> None:
    frame = pd.DataFrame({"c": pd.Categorical([1, None, 2])})
    assert list(frame_to_dicts(frame)) == [{"c": "1"}, {}, {"c": "2"}]


def test_rows_without_columns_are_still_rows() -> None:
    assert list(frame_to_dicts(pd.DataFrame(index=range(2)))) == [{}, {}]


@pytest.mark.parametrize("rows", [0, 1, 1024, 2500])
def test_every_row_comes_once_and_in_order(rows: int) -> None:
    frame = pl.DataFrame({"a": list(range(rows))})
    assert [x["a"] for x in frame_to_dicts(frame)] == list(range(rows))


def test_names_stay_as_the_caller_spells_them() -> None:
    assert list(frame_to_dicts(pd.DataFrame({0: [1.0], "b": ["x"]}))) == [{0: 1.0, "b": "x"}]
