from __future__ import annotations

import csv
import io
import json
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stream_maxloss.errors import DecodeError, SourceError
from stream_maxloss_connectors.bad_records import BadRecords
from stream_maxloss_connectors.text.csv_lines import CsvDecoder
from stream_maxloss_connectors.text.json_lines import JsonDecoder
from stream_maxloss_connectors.text.lines import DecodedBlock, LineDecoder

AMOUNTS = pa.schema([("amount", pa.float64()), ("kind", pa.string())])
CSV = CsvDecoder(header=["amount", "kind"])
JSON = JsonDecoder()


def address(line: int) -> str:
    return f"day:{line}"


def decode(decoder: LineDecoder, text: bytes, schema: pa.Schema = AMOUNTS, first_line: int = 1) -> DecodedBlock:
    return decoder.decode(text, schema, first_line, address)


def faults(block: DecodedBlock) -> list[str]:
    return [str(fault.error) for fault in block.faults]


def test_rows_carry_the_byte_and_line_behind_them() -> None:
    block = decode(CSV, b'1,a\n\n2,"b\nc"\n3,d', first_line=10)
    assert block.records.to_pydict() == {"amount": [1.0, 2.0, 3.0], "kind": ["a", "b\nc", "d"]}
    assert block.ends.tolist() == [4, 13, 16]
    assert block.lines.tolist() == [10, 12, 14]
    assert block.lines_behind.tolist() == [11, 14, 14]
    assert (block.length, block.next_line) == (16, 14)


BAD_CSV = {
    "text for a number": (b"x,a\n", "day:2: column 'amount' must be a number, got 'x'"),
    "too few columns": (b"1\n", "day:2: row must have 2 columns, got 1: '1'"),
    "too many columns": (b"1,a,b\n", "day:2: row must have 2 columns, got 3: '1,a,b'"),
    "not UTF-8": (b"1,\xff\n", "day:2: column 'kind' must be UTF-8 text, got invalid UTF8 data"),
    "NUL in text": (b"1,a\0b\n", "day:2: record must be text, got a NUL byte"),
    "NUL in a number": (b"1\0,ab\n", "day:2: record must be text, got a NUL byte"),
    "bare carriage return": (b"1,a\r2,b\n", "day:2: row must stand on one line, got a carriage return inside it"),
    "byte order mark": (b"\xef\xbb\xbf1,a\n", "day:2: record must not start with a byte order mark"),
    "several lines": (b'x,"a\nb"\n', "day:2: column 'amount' must be a number, got 'x'"),
}


@pytest.mark.parametrize(("record", "message"), BAD_CSV.values(), ids=BAD_CSV)
@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_a_bad_csv_record_costs_its_row_and_is_named(record: bytes, message: str, place: str) -> None:
    before, after = b"7,good\n", b"8,fine\n9,too\n"
    if place == "first":
        block = decode(CSV, record + after, first_line=2)
    elif place == "middle":
        block = decode(CSV, before + record + after)
    else:
        block = decode(CSV, before + record)
    [fault] = block.faults
    assert str(fault.error).startswith(message)
    assert fault.error.raw == record
    expected = {"first": [8.0, 9.0], "middle": [7.0, 8.0, 9.0], "last": [7.0]}[place]
    assert block.records["amount"].to_pylist() == expected


BAD_JSON = {
    "text for a number": (b'{"amount":"x"}\n', "day:2: field 'amount' must be a number, got a string"),
    "number for text": (b'{"kind":3}\n', "day:2: field 'kind' must be UTF-8 text, got a number"),
    "object for a number": (b'{"amount":{"a":1}}\n', "day:2: field 'amount' must be a number, got an object"),
    "duplicate key": (b'{"amount":1,"amount":2}\n', "day:2: field 'amount' must be given once, got it twice"),
    "two objects": (b'{"amount":1}{"amount":2}\n', "day:2: line must hold one JSON object, got several"),
    "null between": (b'{"amount":1}null{"amount":2}\n', "day:2: line must hold one JSON object, got several"),
    "null": (b"null\n", "day:2: line must hold a JSON object, got 'null'"),
    "array": (b"[1]\n", "day:2: line must hold a JSON object, got '[1]'"),
    "number": (b"3\n", "day:2: line must hold a JSON object, got '3'"),
    "torn": (b'{"amount":1,\n', "day:2: line must be valid JSON"),
    "torn inside": (b'{"kind":"a}\n', "day:2: line must be valid JSON"),
    "not UTF-8": (b'{"kind":"\xff"}\n', "day:2: record must be UTF-8"),
    "NUL": (b'{"kind":"a\0b"}\n', "day:2: record must be text, got a NUL byte"),
    "unknown field": (b'{"amount":1,"size":2}\n', "day:2: field 'size' must be in the schema"),
    "too big": (b'{"amount":1e999}\n', "day:2: "),
    "byte order mark": (b'\xef\xbb\xbf{"amount":1}\n', "day:2: "),
    "single quotes": (b"{'amount':1}\n", "day:2: line must be valid JSON"),
}


@pytest.mark.parametrize(("record", "message"), BAD_JSON.values(), ids=BAD_JSON)
@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_a_bad_json_record_costs_its_row_and_is_named(record: bytes, message: str, place: str) -> None:
    before, after = b'{"amount":7}\n', b'{"amount":8}\n{"amount":9}\n'
    if place == "first":
        block = decode(JSON, record + after, first_line=2)
    elif place == "middle":
        block = decode(JSON, before + record + after)
    else:
        block = decode(JSON, before + record)
    [fault] = block.faults
    assert str(fault.error).startswith(message)
    assert fault.error.raw == record
    expected = {"first": [8.0, 9.0], "middle": [7.0, 8.0, 9.0], "last": [7.0]}[place]
    assert block.records["amount"].to_pylist() == expected


def test_a_row_too_many_and_one_too_few_do_not_cancel_out() -> None:
    text = b'{"amount":1}{"amount":2}\n{"amount":3,\n"kind":"x"}\n{"amount":4}\n'
    block = decode(JSON, text)
    assert block.records["amount"].to_pylist() == [4.0]
    assert [fault.error.address for fault in block.faults] == ["day:1", "day:2", "day:3"]


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (pa.timestamp("us"), '"soon"', "field 'a' must be a timestamp[us], got 'soon'"),
        (pa.int32(), "1.5", "field 'a' must be a whole number, got 1.5"),
        (pa.int8(), "300", "field 'a' must be a whole number, got 300"),
        (pa.list_(pa.float64()), '["x"]', "field 'a/[]' must be of the type in the schema, got a string"),
    ],
)
def test_a_value_that_its_type_cannot_hold_is_named(kind: pa.DataType, value: str, message: str) -> None:
    schema = pa.schema([("b", pa.float64()), ("a", kind)])
    block = decode(JSON, f'{{"b":1,"a":null}}\n{{"b":1,"a":{value}}}\n'.encode(), schema)
    assert faults(block) == [f"day:2: {message}"]
    assert block.records.num_rows == 1


def test_carriage_returns_that_make_a_row_more_and_a_row_less_do_not_cancel_out() -> None:
    block = decode(CSV, b"1,a\r2,b\n\r\r\n3,c\n")
    assert block.records["amount"].to_pylist() == [3.0]
    assert [fault.error.address for fault in block.faults] == ["day:1", "day:2"]


def test_a_quote_in_the_middle_of_a_value_is_a_plain_character() -> None:
    block = decode(CSV, b'1,5" pipe\n2,"a ""b"\n3,"c"d"e\n4,f""\n5,"g\nh"\n6,i\n')
    assert block.records["kind"].to_pylist() == ['5" pipe', 'a "b', 'cd"e', 'f""', "g\nh", "i"]
    assert block.lines.tolist() == [1, 2, 3, 4, 5, 7]
    assert CSV.last_record_end(b'1,5" pipe\n2,"open\n') == 10


def test_unexpected_fields_can_be_ignored() -> None:
    block = decode(JsonDecoder(unexpected_fields="ignore"), b'{"amount":1,"size":2}\n')
    assert block.records.to_pydict() == {"amount": [1.0], "kind": [None]}


def test_blank_lines_are_neither_rows_nor_faults() -> None:
    block = decode(JSON, b'\n{"amount":1}\r\n \t\r\n\n {"amount":2} \n')
    assert block.records["amount"].to_pylist() == [1.0, 2.0]
    assert block.lines.tolist() == [2, 5]
    assert faults(block) == []
    assert decode(CSV, b"\r\n\n1,a\r\n\r\n").lines.tolist() == [3]


def test_a_block_without_rows_is_empty_and_typed() -> None:
    for decoder in (CSV, JSON):
        for text in (b"", b"\n\r\n", b"oops\n"):
            block = decode(decoder, text)
            assert block.records.num_rows == 0
            assert block.records.schema.equals(AMOUNTS)
            assert block.length == len(text)


def test_faults_are_reported_at_once_to_a_policy_that_is_passed_in() -> None:
    bad = BadRecords("skip")
    CSV.decode(b"1,a\nx,b\ny,c\n", AMOUNTS, 1, address, bad)
    assert (bad.count, bad.seen) == (2, 3)
    with pytest.raises(DecodeError, match="day:2: column 'amount' must be a number, got 'x'"):
        CSV.decode(b"1,a\nx,b\n", AMOUNTS, 1, address, BadRecords())


def test_the_search_for_faults_can_be_stopped() -> None:
    block = CSV.decode(b"1,a\n" + b"x,b\n" * 100, AMOUNTS, 1, address, stop_after=3)
    assert [fault.error.address for fault in block.faults] == ["day:2", "day:3", "day:4"]
    assert block.records["amount"].to_pylist() == [1.0]


def test_an_open_quote_costs_its_line_alone() -> None:
    block = decode(CSV, b'1,a\n2,"b\n3,c\n4,d\n')
    assert block.records["amount"].to_pylist() == [1.0, 3.0, 4.0]
    assert faults(block) == ["day:2: a quote is opened and never closed"]
    assert faults(decode(CSV, b'1,"a')) == ["day:1: a quote is opened and never closed"]


@pytest.mark.parametrize(
    "decoder", [CsvDecoder(header=["amount", "kind"], max_record_bytes=20), JsonDecoder(max_record_bytes=40)]
)
def test_a_record_that_is_too_long_is_bad_wherever_the_block_ends(decoder: LineDecoder) -> None:
    record = (b'7,"' + b"x\n" * 20 + b'"\n') if isinstance(decoder, CsvDecoder) else b'{"kind":"' + b"x" * 40 + b'"}\n'
    rest = b"8,a\n" if isinstance(decoder, CsvDecoder) else b'{"amount":8}\n'
    block = decode(decoder, record + rest)
    assert block.records["amount"].to_pylist() == [8.0]
    assert "must be at most" in str(block.faults[0].error)


def test_numbers_are_inferred_as_floats_and_seconds_as_microseconds() -> None:
    schema = CsvDecoder(header=list("abcdef")).infer(b"1,1.5,x,true,2020-01-01T00:00:00,\n2\n")
    assert [str(kind) for kind in schema.types] == ["double", "double", "string", "bool", "timestamp[us]", "double"]
    schema = JSON.infer(b'{"a":1,"b":[1],"c":{"d":1},"e":"2020-01-01","f":null,"g":true,"h":"x"}\n')
    kinds = ["double", "list<item: double>", "struct<d: double>", "timestamp[us]", "double", "bool", "string"]
    assert [str(kind) for kind in schema.types] == kinds


def test_bad_records_do_not_spoil_the_inference() -> None:
    assert CSV.infer(b"1\n1,a,b\n2,a\n").equals(AMOUNTS)
    text = b'null\n{"amount":1,"kind":null}\n{]\n{"amount":"x","kind":"a"}\n\xff\n'
    assert JSON.infer(text).equals(AMOUNTS)


def test_the_header_is_taken_from_the_first_line() -> None:
    decoder, start = CsvDecoder().begin(b'\xef\xbb\xbfamount,"a ""b"", c"\r\n1,2\r\n')
    assert isinstance(decoder, CsvDecoder)
    assert decoder.header == ["amount", 'a "b", c']
    assert start == len(b'\xef\xbb\xbfamount,"a ""b"", c"\r\n')
    assert JSON.begin(b"\xef\xbb\xbf{}\n")[1] == 3


HEADERS = {"twice": (b"a,b,a\n", "'a' twice"), "not text": (b"\xff,b\n", "UTF-8"), "NUL": (b"a\0b\n", "header")}


@pytest.mark.parametrize(("text", "message"), HEADERS.values(), ids=HEADERS)
def test_a_bad_header_is_refused(text: bytes, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        CsvDecoder().begin(text)


@pytest.mark.parametrize("option", [{"delimiter": ""}, {"delimiter": "\n"}, {"quote": "ab"}, {"decimal_point": "·"}])
def test_a_separator_must_be_one_character(option: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be one ASCII character"):
        CsvDecoder(**option)


ALPHABET = st.sampled_from(list('a1," \n;é'))


@settings(deadline=None, max_examples=150)
@given(st.lists(st.tuples(st.text(ALPHABET, max_size=4), st.text(ALPHABET, max_size=4)), max_size=5))
def test_csv_written_by_pythons_writer_is_split_into_its_rows(rows: list[tuple[str, str]]) -> None:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    decoder = CsvDecoder(header=["a", "b"])
    schema = pa.schema([("a", pa.string()), ("b", pa.string())])
    block = decode(decoder, out.getvalue().encode(), schema)
    assert faults(block) == []
    assert list(zip(*block.records.to_pydict().values(), strict=True)) == rows


@settings(deadline=None, max_examples=200)
@given(st.text(st.sampled_from(list('1x,"\n\r')), max_size=14), st.integers(0, 14))
@example('"\n,"\n\n', 2)
@example('1,x"1\n"', 4)
def test_csv_cut_at_any_byte_gives_the_same_rows_and_faults(text: str, cut: int) -> None:
    _check_cut(CSV, text.encode(), cut)


@settings(deadline=None, max_examples=100)
@given(
    st.lists(st.sampled_from(['{"amount":1}', "{}", "null", "", " ", '{"amount":', "\r", "}"]), max_size=6),
    st.integers(0, 40),
)
def test_json_cut_at_any_byte_gives_the_same_rows_and_faults(pieces: list[str], cut: int) -> None:
    _check_cut(JSON, "\n".join(pieces).encode(), cut)


def _check_cut(decoder: LineDecoder, text: bytes, cut: int) -> None:
    whole = decode(decoder, text)
    end = decoder.last_record_end(text[:cut])
    assert 0 <= end <= min(cut, len(text))
    first = decode(decoder, text[:end])
    second = decode(decoder, text[end:], first_line=first.next_line)
    assert first.records.to_pylist() + second.records.to_pylist() == whole.records.to_pylist()
    assert faults(first) + faults(second) == faults(whole)
    assert [*first.lines, *second.lines] == whole.lines.tolist()
    for row, byte in enumerate(whole.ends.tolist()):
        rest = decode(decoder, text[byte:], first_line=int(whole.lines_behind[row]))
        assert rest.records.to_pylist() == whole.records.to_pylist()[row + 1 :]
        assert rest.lines.tolist() == whole.lines.tolist()[row + 1 :]


@settings(deadline=None, max_examples=50)
@given(st.lists(st.fixed_dictionaries({"amount": st.integers(-5, 5), "kind": st.text(max_size=3)}), max_size=5))
def test_json_lines_round_trip(rows: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode(errors="surrogatepass")
    block = decode(JSON, text)
    assert block.records.to_pylist() == rows


def test_a_fault_before_an_error_of_syntax_is_one_bad_record() -> None:
    """Pyarrow stops at the unknown field, and never gets to what is no JSON at all behind it."""
    block = decode(JSON, b'{"amount": 1}\n{"other": 1, "amount" 2}\n{"amount": 3}\n')
    assert block.records["amount"].to_pylist() == [1.0, 3.0]
    assert len(block.faults) == 1
    assert "day:2: " in faults(block)[0]


def test_columns_are_inferred_although_a_row_of_another_width_is_no_text() -> None:
    assert CSV.infer(b"1,a\n\xff\n2,b\n").types == [pa.float64(), pa.string()]
