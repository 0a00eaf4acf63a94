from __future__ import annotations

import pyarrow as pa
import pytest

from stream_maxloss_connectors.payloads.arrow_rows import ArrowDecoder, encode_stream

RECORDS = pa.record_batch({"x": [1.0, 2.0, None], "s": ["a", "b", "c"]})


def test_messages_are_decoded_until_there_are_rows_enough():
    message = encode_stream(RECORDS)
    decoded = ArrowDecoder().decode([message] * 5, max_rows=4)
    assert (decoded.messages, decoded.counts, decoded.records.num_rows) == (2, [3, 3], 6)
    assert decoded.records.to_pylist() == RECORDS.to_pylist() * 2


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", ""),
        (b"not arrow at all", ""),
        (encode_stream(RECORDS)[:-60], ""),
        (encode_stream(pa.record_batch({"x": ["1"]})), "column 'x' must be of type double, got string"),
    ],
    ids=["empty", "foreign", "torn", "wrong type"],
)
def test_bad_message_costs_only_itself(payload, reason):
    good = encode_stream(RECORDS)
    decoded = ArrowDecoder().decode([good, payload, good], 100)
    assert decoded.counts == [3, 0, 3]
    assert list(decoded.bad) == [1]
    assert reason in decoded.bad[1]
    assert "\n" not in decoded.bad[1]


def test_missing_column_is_null_and_a_new_one_is_ignored():
    other = encode_stream(pa.record_batch({"new": [1], "x": [9.0]}))
    decoded = ArrowDecoder().decode([encode_stream(RECORDS), other], 100)
    assert decoded.records.to_pylist()[3] == {"x": 9.0, "s": None}


def test_message_without_rows_is_good():
    empty = encode_stream(RECORDS.slice(0, 0))
    decoded = ArrowDecoder().decode([empty, encode_stream(RECORDS)], 100)
    assert (decoded.counts, decoded.bad) == ([0, 3], {})


def test_nothing_but_foreign_messages_gives_no_columns():
    decoded = ArrowDecoder().decode([b"x", b"y"], 100)
    assert decoded.records is None
    assert list(decoded.bad) == [0, 1]
