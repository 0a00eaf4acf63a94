from __future__ import annotations

import pyarrow as pa

from stream_maxloss_connectors.kafka.batch_maker import add_headers


def test_last_header_of_a_name_counts_and_missing_ones_are_null():
    records = pa.record_batch({"x": [1, 2, 3]})
    rows = [[("a", b"1"), ("b", b"\xc3\xa9"), ("a", b"2")], None, [("b", None)]]
    assert add_headers(records, ["b", "a"], rows).to_pylist() == [
        {"x": 1, "header.b": "é", "header.a": "2"},
        {"x": 2, "header.b": None, "header.a": None},
        {"x": 3, "header.b": None, "header.a": None},
    ]
