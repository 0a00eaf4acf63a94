from __future__ import annotations

import pyarrow as pa
import pytest

from stream_maxloss_connectors.formats import CSV_NULLS
from stream_maxloss_connectors.payloads.csv_rows import CsvDecoder
from stream_maxloss_connectors.text.csv_lines import CsvDecoder as FileCsvDecoder

NAMES = ["price", "shop", "open"]


def test_types_come_from_the_first_values():
    decoder = CsvDecoder(NAMES)
    decoded = decoder.decode([b",north,true", b"2,7,", b"3.5,,false\r\n", b'1e3,"a,b\nc",TRUE\n'], 10)
    assert decoder.schema == pa.schema([("price", pa.float64()), ("shop", pa.string()), ("open", pa.bool_())])
    assert decoded.bad == {}
    assert decoded.records.to_pylist() == [
        {"price": None, "shop": "north", "open": True},
        {"price": 2.0, "shop": "7", "open": None},
        {"price": 3.5, "shop": "", "open": False},
        {"price": 1000.0, "shop": "a,b\nc", "open": True},
    ]


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "a message must be one line of CSV, got 0"),
        (b"1,a", "a line must have 3 cells, got 2"),
        (b"1,a,true,4", "a line must have 3 cells, got 4"),
        (b"1,a,true\n2,b,true", "a message must be one line of CSV, got 2"),
        (b"xx,a,true", "field 'price' must be a number, got 'xx'"),
        (b"1_0,a,true", "field 'price' must be a number, got '1_0'"),
        (b"1,a,maybe", "field 'open' must be true or false, got 'maybe'"),
        (b'1,"a,true', "unexpected end of data"),
        (b"1,a\0,true", "got a NUL"),
        (b"1,\xff,true", "utf-8"),
    ],
)
def test_bad_line_costs_only_itself(payload, reason):
    good = b"1.5,north,true"
    decoded = CsvDecoder(NAMES).decode([good, payload, good], 10)
    assert list(decoded.bad) == [1]
    assert reason in decoded.bad[1]
    assert decoded.records.num_rows == 2


def test_schema_gives_names_and_types():
    schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
    decoded = CsvDecoder(schema=schema).decode([b"1,2", b"1.5,x"], 10)
    assert decoded.records.to_pylist() == [{"a": 1, "b": "2"}]
    assert decoded.bad == {1: "field 'a' must be a whole number, got '1.5'"}


def test_schema_may_leave_columns_out():
    decoded = CsvDecoder(NAMES, pa.schema([("open", pa.bool_())])).decode([b"1,a,true"], 10)
    assert decoded.records.to_pylist() == [{"open": True}]


def test_names_are_needed():
    with pytest.raises(ValueError, match="column_names must be given for CSV messages"):
        CsvDecoder()
    with pytest.raises(ValueError, match=r"schema must name columns among \['price', 'shop', 'open'\], got \['z'\]"):
        CsvDecoder(NAMES, pa.schema([("z", pa.string())]))


def test_messages_and_files_agree_on_what_is_missing():
    lines = [b"1.5,x", *(cell.encode() + b",x" for cell in CSV_NULLS)]
    messages = CsvDecoder(["amount", "kind"]).decode(lines, 100).records
    files = FileCsvDecoder(header=["amount", "kind"])
    text = b"".join(line + b"\n" for line in lines)
    assert messages["amount"].null_count == len(CSV_NULLS)
    assert files.parse(text, messages.schema).equals(messages)
