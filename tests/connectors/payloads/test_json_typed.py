"""The way around dicts gives the same rows as the way through them, or none."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_maxloss_connectors.payloads import json_rows
from stream_maxloss_connectors.payloads.json_rows import JsonDecoder, TypedObjects

SCHEMA = pa.schema([("a", pa.float64()), ("b", pa.bool_()), ("é", pa.float64())])
EXAMPLE = '{"a": 1, "note": "x", "b": true, "é": 2.5}'.encode()

numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**70), 2**70), st.integers(-9, 9), st.none()
)
rows = st.fixed_dictionaries(
    {
        "a": numbers,
        "note": st.one_of(st.text(st.characters(codec="ascii"), max_size=5), st.none(), st.booleans(), st.integers()),
        "b": st.one_of(st.booleans(), st.none()),
        "é": numbers,
    }
)


def slow(payloads: list[bytes]) -> tuple[pa.RecordBatch | None, dict[int, str]]:
    decoder = JsonDecoder(SCHEMA)
    decoded = decoder.decode(payloads, len(payloads))
    return decoded.records, dict(decoded.bad)


def typed() -> TypedObjects:
    found = TypedObjects.of(EXAMPLE, SCHEMA)
    assert found is not None
    return found


@settings(deadline=None, max_examples=200)
@given(st.lists(rows, min_size=1, max_size=8), st.sampled_from([None, 1]), st.booleans())
def test_rows_are_those_of_the_general_parser(found: list[dict[str, object]], indent: int | None, wide: bool) -> None:
    separators = None if wide else (",", ":")
    payloads = [json.dumps(row, indent=indent, separators=separators, ensure_ascii=False).encode() for row in found]
    records = typed().read(payloads)
    if records is not None:
        assert slow(payloads) == (records, {})


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_a_damaged_message_is_never_read_as_another_row(data: st.DataObject) -> None:
    good = b'{"a":-1.5e3,"note":"x","b":false,"\xc3\xa9":20}'
    place = data.draw(st.integers(0, len(good) - 1))
    byte = data.draw(st.binary(min_size=0, max_size=2))
    damaged = good[:place] + byte + good[place + data.draw(st.integers(0, 2)) :]
    records = typed().read([good, damaged])
    if records is not None:
        assert slow([good, damaged]) == (records, {})


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"{}",
        b"[1]",
        b'{"a":1,"note":"x","b":true}',
        b'{"a":1,"note":"x","b":true,"\xc3\xa9":2}{}',
        b'{"a":1,"note":"x","b":true,"\xc3\xa9":2,"a":3}',
        b'{"a":true,"note":"x","b":true,"\xc3\xa9":2}',
        b'{"a":1,"note":"x","b":1,"\xc3\xa9":2}',
        b'{"a":"1","note":"x","b":true,"\xc3\xa9":2}',
        b'{"a":1,"note":"\xff","b":true,"\xc3\xa9":2}',
        b'{"a":1,"note":"x","b":true,"\xc3\xa9":1e999}',
        b'{"a":1,"note":"x","b":true,"\xc3\xa9":NaN}',
        b'{"a":1,"note":"x","b":true,"\xc3\xa9":2},',
        b'{"a":1,"note":{"c":2},"b":true,"\xc3\xa9":2}',
    ],
)
def test_what_is_not_like_the_example_is_left_to_the_general_parser(payload: bytes) -> None:
    assert typed().read([EXAMPLE]) is not None
    assert typed().read([EXAMPLE, payload]) is None


@pytest.mark.parametrize(
    "names", [["a"], ["b"], ["b", "a"], ["a", "b"], ["a", "b", "c"], ["c", "b", "a"]], ids="-".join
)
def test_columns_come_in_the_order_of_the_schema(names: list[str]) -> None:
    schema = pa.schema([(name, pa.bool_() if name == "c" else pa.float64()) for name in names])
    payloads = [b'{"a":1,"b":2.5,"c":true}', b'{"c":false,"b":4,"a":-3e2}']
    found = TypedObjects.of(payloads[0], schema)
    assert found is not None
    whole = {"a": [1.0, -300.0], "b": [2.5, 4.0], "c": [True, False]}
    assert found.read(payloads).to_pydict() == {name: whole[name] for name in names}


@pytest.mark.parametrize("messages", [0, 1, 999, 1000, 1001, 2500])
def test_any_number_of_messages_is_read_in_order(messages: int) -> None:
    found = TypedObjects.of(b'{"a":0}', pa.schema([("a", pa.float64())]))
    assert found is not None
    payloads = [b'{"a":%d}' % i for i in range(messages)]
    assert found.read(payloads)["a"].to_pylist() == list(range(messages))


@pytest.mark.parametrize("place", [0, 1000, 2499])
@pytest.mark.parametrize("damaged", [b'{"a":1,"a":2}', b"{", b"", b'{"a":"1"}'])
def test_one_message_that_is_not_like_the_example_is_found_among_thousands(place: int, damaged: bytes) -> None:
    found = TypedObjects.of(b'{"a":0}', pa.schema([("a", pa.float64())]))
    assert found is not None
    payloads = [b'{"a":1}'] * 2500
    payloads[place] = damaged
    assert found.read(payloads) is None


@pytest.mark.parametrize(
    "schema",
    [
        pa.schema([("a", pa.string())]),
        pa.schema([("a", pa.int64())]),
        pa.schema([("zzz", pa.float64())]),
    ],
    ids=["text", "whole numbers", "a field that the example lacks"],
)
def test_columns_of_another_kind_are_left_to_the_general_parser(schema: pa.Schema) -> None:
    assert TypedObjects.of(EXAMPLE, schema) is None


@pytest.mark.parametrize("example", [b"", b"[1]", b"{", b"3"])
def test_an_example_that_is_not_an_object_is_ignored(example: bytes) -> None:
    assert TypedObjects.of(example, SCHEMA) is None


def test_the_decoder_takes_the_short_way_and_leaves_it_for_a_bad_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_rows, "_WORTHWHILE", 2)
    parsed = []
    general = json_rows._parse
    monkeypatch.setattr(json_rows, "_parse", lambda payloads: parsed.append(len(payloads)) or general(payloads))
    decoder = JsonDecoder(pa.schema([("a", pa.float64())]))
    assert decoder.decode([b'{"a":1}', b'{"a":2}'], 9).records.to_pydict() == {"a": [1.0, 2.0]}
    assert parsed == []
    decoded = decoder.decode([b'{"a":3}', b'{"a":"x"}', b'{"a":5}'], 9)
    assert (decoded.records.to_pydict(), list(decoded.bad)) == ({"a": [3.0, 5.0]}, [1])
    assert parsed == [3]
    assert decoder.decode([b'{"z":0,"a":6}', b'{"z":0,"a":7}'], 9).records.to_pydict() == {"a": [6.0, 7.0]}
    assert parsed == [3]
