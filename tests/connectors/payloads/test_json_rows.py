from __future__ import annotations

import json

import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_maxloss_connectors.payloads.json_rows import JsonDecoder

SCHEMA = pa.schema([("a", pa.float64()), ("b", pa.bool_()), ("c", pa.string())])
GOOD = b'{"a": 1, "b": true, "c": "x"}'


def decode_one(payload, schema=SCHEMA):
    decoded = JsonDecoder(schema).decode([GOOD, payload, GOOD], 10)
    assert decoded.messages == 3
    assert set(decoded.bad) <= {1}, "a message must not decide about its neighbours"
    assert decoded.records.num_rows == 3 - len(decoded.bad)
    return decoded


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "one JSON object, got 0 bytes"),
        (b"   ", "one JSON object, got 3 bytes"),
        (b"{}{}", "one JSON object, got 4 bytes"),
        (b'{"a":1},{"a":2}', "one JSON object"),
        (b'{"a":1}\n{"a":2}', "one JSON object"),
        (b'{"a":', "one JSON object"),
        (b'{"a":[1', "one JSON object"),
        (b'{"a": NaN}', "one JSON object"),
        (b'{"a": 1}\x00', "one JSON object"),
        (b'\xef\xbb\xbf{"a": 1}', "one JSON object"),
        (b'{"c": "\xff"}', "one JSON object"),
        (b"1,2,x", "one JSON object"),
        (b"[1]", "got a list"),
        (b'"text"', "got a text"),
        (b"3", "got a number"),
        (b"null", "got null"),
        (b"true", "got true or false"),
        (b'{"a": "x"}', "field 'a' must be a number, got 'x'"),
        (b'{"a": "1"}', "field 'a' must be a number, got '1'"),
        (b'{"a": true}', "field 'a' must be a number, got True"),
        (b'{"a": [1]}', "field 'a' must be a number, got [1]"),
        (b'{"b": 1}', "field 'b' must be true or false, got 1"),
        (b'{"c": 1}', "field 'c' must be a text, got 1"),
        (b'{"c": {"d": 1}}', "field 'c' must be a text"),
        (b'{"a": 1, "a": 2}', "a key must come once in an object, got 'a' again"),
        (b'{"a" : 1, "a": 2}', "got 'a' again"),
        (b'{"c": "12:30", "a": 1, "a": 1}', "got 'a' again"),
        (b'{"c": "\\u003a", "a": 1, "a": 1}', "got 'a' again"),
        (b'{"c": "\\"a\\":1", "z": {"k": 1, "k": 2}}', "got 'k' again"),
    ],
)
def test_bad_message_costs_only_itself(payload, reason):
    decoded = decode_one(payload)
    assert list(decoded.bad) == [1]
    assert reason in decoded.bad[1]


@pytest.mark.parametrize(
    ("payload", "row"),
    [
        (b"{}", {"a": None, "b": None, "c": None}),
        (b'{"a": null}', {"a": None, "b": None, "c": None}),
        (b'{"a": 2, "extra": [1, {"deep": 2}]}', {"a": 2.0, "b": None, "c": None}),
        (b' {"a" : 2.5 , "c":"12:30:59"}\n', {"a": 2.5, "b": None, "c": "12:30:59"}),
        (b'{"c": "\\u003a:\\":"}', {"a": None, "b": None, "c": '::":'}),
        (b'{"a": 9007199254740993}', {"a": 9007199254740992.0, "b": None, "c": None}),
        (b'{"a": 123456789012345678901234567890}', {"a": 123456789012345678901234567890.0, "b": None, "c": None}),
    ],
)
def test_unusual_but_good_message_is_a_row(payload, row):
    decoded = decode_one(payload)
    assert decoded.bad == {}
    assert decoded.records.to_pylist()[1] == row


def test_types_are_those_of_the_first_values():
    decoder = JsonDecoder()
    decoder.infer([b"junk", b'{"n": 1, "t": "x", "f": false, "none": null}', b'{"n": "later", "more": 2.5}'])
    assert decoder.schema == pa.schema(
        [("n", pa.float64()), ("t", pa.string()), ("f", pa.bool_()), ("none", pa.float64()), ("more", pa.float64())]
    )


def test_nested_fields_are_left_out_with_a_warning(caplog):
    decoder = JsonDecoder()
    decoder.infer([b'{"n": 1, "list": [1], "object": {"k": 1}}'])
    assert decoder.schema.names == ["n"]
    assert "'list'" in caplog.text
    assert "'object'" in caplog.text


def test_fixed_types_are_not_inferred_again():
    decoder = JsonDecoder(SCHEMA)
    decoder.infer([b'{"a": "x"}'])
    assert decoder.schema == SCHEMA


def test_message_from_which_no_columns_follow_is_bad():
    decoded = JsonDecoder().decode([b"{}", b"junk"], 10)
    assert decoded.records is None
    assert "cannot tell the columns" in decoded.bad[0]
    assert "JSON" in decoded.bad[1]


def test_field_that_must_be_there_is_missed():
    schema = pa.schema([pa.field("a", pa.float64(), nullable=False)])
    assert decode_one(b'{"z": 1}', schema).bad == {1: "field 'a' is missing"}


def test_no_more_than_max_rows_are_looked_at():
    decoded = JsonDecoder(SCHEMA).decode([GOOD, GOOD, b"junk"], 2)
    assert (decoded.messages, decoded.records.num_rows, decoded.bad) == (2, 2, {})


values = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**60), 2**60),
    st.text(max_size=5),
)
payloads = st.one_of(
    st.dictionaries(st.sampled_from("abcd"), values).map(orjson.dumps),
    st.sampled_from(
        [b"", b"{}{}", b'{"a":[{}', b"{}]}", b'{"a":1,"a":2}', b"{},{}", b'{"c":"x', b'y"}', b"nul", b"[]"]
    ),
    st.binary(max_size=8),
)


@settings(deadline=None, max_examples=150)
@given(st.lists(payloads, min_size=1, max_size=8), st.data())
def test_rows_do_not_depend_on_how_messages_are_cut(messages, data):
    """The oracle decodes each message alone."""
    whole = JsonDecoder(SCHEMA).decode(messages, len(messages))
    alone = [JsonDecoder(SCHEMA).decode([message], 1) for message in messages]
    assert {i: one.bad[0] for i, one in enumerate(alone) if one.bad} == whole.bad
    assert whole.records.to_pylist() == [row for one in alone for row in one.records.to_pylist()]
    cut = data.draw(st.integers(0, len(messages)))
    parts = [part for part in (messages[:cut], messages[cut:]) if part]
    rows = [row for part in parts for row in JsonDecoder(SCHEMA).decode(part, 10).records.to_pylist()]
    assert rows == whole.records.to_pylist()


@settings(deadline=None, max_examples=100)
@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c:", 'd"']), values), max_size=5))
def test_repeated_keys_are_found_exactly_where_python_finds_them(pairs):
    payload = ("{" + ", ".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in pairs) + "}").encode()
    schema = pa.schema([("other", pa.string())])
    repeated = len({key for key, _ in pairs}) < len(pairs)
    assert bool(JsonDecoder(schema).decode([payload], 1).bad) == repeated


@pytest.mark.parametrize("name", ["a\0b", "\n", 'say "a"', "a\\b"], ids=["NUL", "line end", "quotes", "backslash"])
@pytest.mark.parametrize("is_column", [True, False], ids=["a column", "passed over"])
def test_keys_may_be_called_as_they_like(name: str, is_column: bool) -> None:
    decoder = JsonDecoder(pa.schema([(name if is_column else "x", pa.float64())]))
    found = decoder.decode([orjson.dumps({"x": float(row), name: float(row)}) for row in range(40)], 40)
    assert found.records.column(0).to_pylist() == list(map(float, range(40)))
    assert not found.bad
