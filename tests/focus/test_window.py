"""Rows as given: copied, kept with their keywords, iterated from frames."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from stream_maxloss.focus.window import RowWindow, column_values, copy_row, iterate_frame


def test_plain_rows_are_copied_flat_and_others_deep():
    plain, nested = {"a": 1.0, "b": np.float64(2.0)}, {"a": [1]}
    assert copy_row(plain) == plain
    assert copy_row(plain) is not plain
    assert copy_row(nested)["a"] is not nested["a"]
    assert copy_row("text") == "text"


def test_a_row_keeps_its_keywords_and_shares_all_but_the_weight():
    window = RowWindow(2)
    window.put(0, {"a": 1}, True, {"w": 2.0, "t": 3})
    assert window.rows[0] == ({"a": 1}, True, {"w": 2.0, "t": 3}, {"t": 3})


def test_the_state_survives_json():
    window = RowWindow(3)
    window.put(0, {"a": np.float64(1.5), "b": "x"}, np.bool_(True), {"w": 2.0})
    window.put(1, "some text", 7, {})
    twin = RowWindow(3)
    twin.load_state_dict(json.loads(json.dumps(window.state_dict())))
    assert twin.rows == window.rows
    assert window.nbytes > 0


@pytest.mark.parametrize(
    "column", [pd.Series([1, 2]), np.array([1, 2]), pa.array([1, 2]), pa.chunked_array([[1], [2]]), (1, 2)]
)
def test_columns_of_any_kind_give_plain_values(column):
    assert column_values(column) == [1, 2]


def test_frames_give_rows_with_their_labels_and_without_missing_values():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", None]})
    expected = [({"a": 1.0, "b": "x"}, True), ({"a": 2.0}, False)]
    for X in (frame, pa.Table.from_pandas(frame), pa.RecordBatch.from_pandas(frame)):
        assert list(iterate_frame(X, [True, False])) == expected
