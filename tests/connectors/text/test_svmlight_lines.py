from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_maxloss_connectors.text.lines import DecodedBlock
from stream_maxloss_connectors.text.svmlight_lines import SvmlightDecoder

DECODER = SvmlightDecoder()
FEATURES = pa.map_(pa.int32(), pa.float64())
SCHEMA = pa.schema([("target", pa.float64()), ("features", FEATURES)])


def decode(text: bytes, schema: pa.Schema | None = None) -> DecodedBlock:
    return DECODER.decode(text, schema or DECODER.infer(text), 1, "day.svm:{}".format)


def test_comments_blanks_signs_and_label_only_rows_are_read() -> None:
    text = b"# head: 1,2\n\n+1 1:0.5  3:-2e-1 # tail 9:9\n-1\n\t \n 0\t7:+1 \r\n1.5 0:1"
    block = decode(text)
    assert block.records.schema.equals(SCHEMA)
    assert block.records.to_pydict() == {
        "target": [1.0, -1.0, 0.0, 1.5],
        "features": [[(1, 0.5), (3, -0.2)], [], [(7, 1.0)], [(0, 1.0)]],
    }
    assert block.lines.tolist() == [3, 4, 6, 7]
    assert block.faults == ()


def test_a_query_number_is_its_own_column() -> None:
    block = decode(b"1 qid:3 1:2\n0 1:1\n0 qid:4\n")
    assert block.records.to_pydict() == {
        "target": [1.0, 0.0, 0.0],
        "features": [[(1, 2.0)], [(1, 1.0)], []],
        "qid": [3, None, 4],
    }


BAD = {
    "no target": (b"1:2 3:4\n", "target must be a number, got '1:2'"),
    "text target": (b"yes 3:4\n", "target must be a number, got 'yes'"),
    "two targets": (b"1,2 3:4\n", "target must be a number, got '1,2'"),
    "text index": (b"1 a:4\n", "feature must be index:value with a whole index below 2147483648, got 'a:4'"),
    "negative index": (b"1 -3:4\n", "feature must be index:value with a whole index below 2147483648, got '-3:4'"),
    "huge index": (b"1 2147483648:4\n", "feature must be index:value"),
    "text value": (b"1 3:x\n", "feature must be index:value with a whole index below 2147483648, got '3:x'"),
    "no value": (b"1 3:\n", "feature must be index:value with a whole index below 2147483648, got '3:'"),
    "no index": (b"1 :3\n", "feature must be index:value with a whole index below 2147483648, got ':3'"),
    "no colon": (b"1 3\n", "feature must be index:value with a whole index below 2147483648, got '3'"),
    "comma": (b"1 3,4\n", "feature must be index:value with a whole index below 2147483648, got '3,4'"),
    "two colons": (b"1 3:4:5\n", "feature must be index:value with a whole index below 2147483648, got '3:4:5'"),
    "twice": (b"1 3:4 2:1 3:4\n", "feature 3 must be given once, got it twice"),
    "late query": (b"1 3:4 qid:1\n", "feature must be index:value"),
    "unexpected query": (b"1 qid:1 3:4\n", "qid must be given in the first records if at all"),
    "NUL": (b"1 3:4\0\n", "record must be text, got a NUL byte"),
    "an index in hexadecimal": (b"1 0x10:4\n", "feature must be index:value"),
    "an index that would mean a query": (b"1 0x80000000:4\n", "feature must be index:value"),
    "an index of 5000 digits": (b"1 " + b"9" * 5000 + b":4\n", "feature must be index:value"),
    "a form feed": (b"\x0c\n", "target must be a number, got ''"),
}


@pytest.mark.parametrize(("record", "message"), BAD.values(), ids=BAD)
def test_a_bad_record_costs_its_row_and_is_named(record: bytes, message: str) -> None:
    block = decode(b"1 3:4\n" + record + b"0 4:4\n1 5:5 # c\n", SCHEMA)
    [fault] = block.faults
    assert str(fault.error).startswith(f"day.svm:2: {message}")
    assert block.records["target"].to_pylist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize("number", [b"inf", b"1e300", b"9223372036854775808", b"1.5", b"nan"])
def test_a_query_is_a_whole_number_of_64_bits(number: bytes) -> None:
    text = b"1 qid:7 3:4\n1 qid:" + number + b" 4:4\n"
    block = decode(text, SvmlightDecoder().infer(text))
    assert block.records["qid"].to_pylist() == [7]
    assert str(block.faults[0].error).startswith("day.svm:2: qid must be a whole number of 64 bits")


def test_a_nul_byte_in_a_comment_costs_no_row() -> None:
    block = decode(b"1 3:4\n# \0\n0 4:4\n", SCHEMA)
    assert (block.records["target"].to_pylist(), block.faults) == ([1.0, 0.0], ())


def test_indices_need_not_be_sorted() -> None:
    assert decode(b"1 3:4 2:1\n").records["features"].to_pylist() == [[(3, 4.0), (2, 1.0)]]


ROWS = st.lists(
    st.tuples(
        st.integers(-3, 3),
        st.dictionaries(st.integers(0, 2**31 - 1), st.floats(allow_nan=False, allow_infinity=False), max_size=4),
    ),
    max_size=6,
)


@settings(deadline=None, max_examples=60)
@given(ROWS)
def test_rows_round_trip(rows: list[tuple[int, dict[int, float]]]) -> None:
    text = "".join(f"{target} " + " ".join(f"{k}:{v!r}" for k, v in row.items()) + "\n" for target, row in rows)
    records = decode(text.encode(), SCHEMA).records
    assert records["target"].to_pylist() == [target for target, _ in rows]
    assert [dict(row) for row in records["features"].to_pylist()] == [row for _, row in rows]


def test_the_same_rows_come_as_from_scikit_learn() -> None:
    datasets: Any = pytest.importorskip("sklearn.datasets", reason="scikit-learn is the oracle here")
    matrix = np.random.default_rng(0).normal(size=(50, 8)) * (np.random.default_rng(1).random((50, 8)) < 0.3)
    out = io.BytesIO()
    datasets.dump_svmlight_file(matrix, np.arange(50) % 2, out, zero_based=True)
    records = decode(out.getvalue()).records
    rebuilt = np.zeros_like(matrix)
    for row, features in enumerate(records["features"].to_pylist()):
        for index, value in features:
            rebuilt[row, index] = value
    np.testing.assert_allclose(rebuilt, matrix, rtol=1e-15)
