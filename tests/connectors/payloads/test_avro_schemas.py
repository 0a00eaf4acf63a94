from __future__ import annotations

import struct
from typing import Any

import pytest

from stream_maxloss_connectors.payloads.avro_rows import AvroDecoder


def record(name: str, **fields: Any) -> dict[str, Any]:
    return {"type": "record", "name": name, "fields": [{"name": key, "type": kind} for key, kind in fields.items()]}


HARMFUL = {
    "a record within itself": record("node", amount="double", next=["null", "node"]),
    "through an array": record("node", amount="double", all={"type": "array", "items": "node"}),
    "through another record": record("a", x="double", b=record("b", back={"type": "map", "values": "a"})),
    "an array of null": record("r", amount="double", tags={"type": "array", "items": "null"}),
    "an array of empty records": record("r", amount="double", tags={"type": "array", "items": record("e")}),
    "an array of records of null": record("r", amount="double", tags={"type": "array", "items": record("e", n="null")}),
    "an array of nothing fixed": record(
        "r", amount="double", tags={"type": "array", "items": {"type": "fixed", "name": "f", "size": 0}}
    ),
}


@pytest.mark.parametrize("name", HARMFUL)
def test_a_schema_whose_messages_could_do_harm_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"must not contain itself|must take bytes"):
        AvroDecoder(HARMFUL[name])


def test_a_schema_as_deep_as_the_parser_allows_is_refused() -> None:
    nested: Any = "double"
    for number in range(200):
        nested = record(f"r{number}", inner=nested)
    with pytest.raises(ValueError, match=r"at most 64 levels|nested too deeply"):
        AvroDecoder(nested)


def test_types_that_are_used_twice_side_by_side_are_read() -> None:
    point = record("point", x="double")
    schema = record("r", amount="double", first=point, second="point", tags={"type": "array", "items": "string"})
    message = struct.pack("<ddd", 1.5, 2.0, 3.0) + b"\0"
    assert AvroDecoder(schema).decode([message], 10).records.to_pylist() == [{"amount": 1.5}]
