from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from stream_maxloss.evaluate import RowBatch

FRAMES = {"arrow": pa.table, "record batch": pa.RecordBatch.from_pydict, "pandas": pd.DataFrame}


@pytest.mark.parametrize("kind", FRAMES)
def test_a_part_has_the_rows_between_two_counts(kind):
    batch = RowBatch(FRAMES[kind]({"x": [1, 2, 3, 4]}), np.array([5, 6, 7, 8]), np.array([1.0, 2.0, 3.0, 4.0]))
    part = batch.part(1, 3)
    column = part.X["x"].tolist() if kind == "pandas" else part.X.column("x").to_pylist()
    assert (len(part), column, part.y.tolist(), part.w.tolist()) == (2, [2, 3], [6, 7], [2.0, 3.0])
    assert part.address(0) == "row 1"
    assert batch.part(0, 4) is batch


def test_rows_left_out_keep_the_addresses_of_the_others():
    slices = np.array(["a", "b", "c", "d"], dtype=object)
    batch = RowBatch(pa.table({"x": [1, 2, 3, 4]}), np.array([5, 6, 7, 8]), None, slices, "day.csv:{}".format)
    rest = batch.without([0, 2]).without([0])
    assert rest.X.to_pydict() == {"x": [4]}
    assert (rest.y.tolist(), rest.w, rest.slices.tolist(), rest.address(0)) == ([8], None, ["d"], "day.csv:3")
