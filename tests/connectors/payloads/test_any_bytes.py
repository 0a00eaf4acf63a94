"""Whatever a message holds: it is a row or a fault, in every format, and its neighbours are rows as before."""

from __future__ import annotations

import io
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_maxloss_connectors.payloads.formats import make_decoder

AVRO = {
    "type": "record",
    "name": "row",
    "fields": [
        {"name": "amount", "type": ["null", "double"]},
        {"name": "kind", "type": "string"},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
    ],
}


def avro(number: int | None) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, AVRO, {"amount": 2.5, "kind": "a", "tags": ["t"]})
    return (b"" if number is None else b"\0" + number.to_bytes(4, "big")) + stream.getvalue()


FORMATS: dict[str, tuple[str, dict[str, Any], bytes]] = {
    "json": ("json", {}, b'{"amount": 2.5, "kind": "a"}'),
    "csv": ("csv", {"column_names": ["amount", "kind"]}, b"2.5,a"),
    "avro": ("avro", {"avro_schema": AVRO}, avro(None)),
    "avro in a frame": ("avro", {"registry_schemas": {7: AVRO}}, avro(7)),
}


@pytest.mark.parametrize("name", FORMATS)
@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_any_bytes_are_a_row_or_a_fault_beside_whole_rows(name: str, data: st.DataObject) -> None:
    kind, options, good = FORMATS[name]
    cut = data.draw(st.integers(0, len(good)))
    odd = data.draw(st.one_of(st.binary(max_size=40), st.binary(max_size=6).map(lambda b: good[:cut] + b + good[cut:])))
    decoder = make_decoder(kind, **options)
    decoder.infer([good])
    decoded = decoder.decode([good, odd, good], 100)
    assert decoded.messages == 3
    assert set(decoded.bad) <= {1}
    rows = decoded.records.to_pylist()
    assert len(rows) == 3 - len(decoded.bad)
    for row in (rows[0], rows[-1]):
        assert (row["amount"], row["kind"]) == (2.5, "a")
