from __future__ import annotations

import re
from datetime import datetime

import pyarrow as pa
import pytest

from stream_maxloss_connectors.payloads.columns import build_records, infer_schema


def test_nothing_to_infer_from_gives_no_schema():
    assert infer_schema([]) is None
    assert infer_schema([{}, {"list": [1]}]) is None


def test_first_reason_of_a_row_is_reported():
    schema = pa.schema([("a", pa.float64()), ("b", pa.string())])
    records, bad = build_records([{"a": "x", "b": 1}, {"a": 1, "b": "y"}, {"a": 2, "b": 3}], schema)
    assert records.to_pylist() == [{"a": 1.0, "b": "y"}]
    assert bad == {0: "field 'a' must be a number, got 'x'", 2: "field 'b' must be a text, got 3"}


@pytest.mark.parametrize(
    ("type_", "good", "wrong", "reason"),
    [
        (pa.int8(), 5, 300, "must be a whole number, got 300"),
        (pa.int64(), 5, 1.5, "must be a whole number, got 1.5"),
        (pa.float32(), 5, "5", "must be a number, got '5'"),
        (pa.timestamp("ms"), datetime(2026, 1, 1), "x", r"must be of type timestamp\[ms\], got 'x'"),
        (pa.list_(pa.int64()), [1], ["x"], r"must be of type list<.*>, got \['x'\]"),
        (pa.string(), "a", b"a", "must be a text, got b'a'"),
    ],
    ids=str,
)
def test_given_types_are_kept_to(type_, good, wrong, reason):
    records, bad = build_records([{"v": good}, {"v": wrong}, {"v": None}], pa.schema([("v", type_)]))
    assert records.column("v").type == type_
    assert records.column("v").to_pylist() == [good, None]
    assert list(bad) == [1]
    assert re.search(reason, bad[1])


def test_long_value_is_shortened_in_the_reason():
    _, bad = build_records([{"v": "x" * 1000}], pa.schema([("v", pa.float64())]))
    assert len(bad[0]) < 150
