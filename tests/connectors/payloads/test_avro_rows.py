from __future__ import annotations

import io
import json
import threading
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer

import fastavro
import pyarrow as pa
import pytest

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.payloads.avro_rows import AvroDecoder
from stream_maxloss_connectors.payloads.registry import SchemaRegistry

ORDER = {
    "type": "record",
    "name": "order",
    "fields": [
        {"name": "amount", "type": ["null", "double"]},
        {"name": "count", "type": "int"},
        {"name": "shop", "type": {"type": "enum", "name": "shops", "symbols": ["north", "south"]}},
        {"name": "fraud", "type": "boolean"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
    ],
}
ROW = {"amount": 2.5, "count": 3, "shop": "south", "fraud": True, "at": datetime(2026, 1, 2, tzinfo=UTC), "tags": ["a"]}
KEPT = {name: value for name, value in ROW.items() if name != "tags"}
LATER = {
    "type": "record",
    "name": "order",
    "fields": [{"name": "fraud", "type": "boolean"}, {"name": "amount", "type": "double"}],
}


def encode(row, schema=ORDER, number=None):
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), row)
    return (b"" if number is None else b"\0" + number.to_bytes(4, "big")) + stream.getvalue()


@contextmanager
def registry_server(schemas, status=200):
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append((self.path, self.headers.get("Authorization")))
            number = int(self.path.rsplit("/", 1)[1])
            code = status if number in schemas else 404
            body = json.dumps({"schema": json.dumps(schemas.get(number))}).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", requests
    finally:
        server.shutdown()
        server.server_close()


def test_bare_records_are_read_by_the_given_schema(caplog):
    decoder = AvroDecoder(json.dumps(ORDER))
    decoded = decoder.decode([encode(ROW), encode({**ROW, "amount": None})], 10)
    assert decoded.records.to_pylist() == [KEPT, {**KEPT, "amount": None}]
    assert decoder.schema.field("count").type == pa.int64()
    assert "'tags'" in caplog.text


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "Avro record"),
        (encode(ROW)[:-4], "Avro record"),
        (encode(ROW) + b"more", "got 4 bytes more"),
        (b'{"amount": 1}', "Avro record"),
    ],
    ids=["empty", "torn", "longer", "json"],
)
def test_bad_message_costs_only_itself(payload, reason):
    decoded = AvroDecoder(ORDER).decode([encode(ROW), payload, encode(ROW)], 10)
    assert list(decoded.bad) == [1]
    assert reason in decoded.bad[1]
    assert decoded.records.num_rows == 2


def test_wire_format_reads_each_message_by_its_own_schema():
    registry = SchemaRegistry({7: ORDER, 8: json.dumps(LATER)})
    decoder = AvroDecoder(registry=registry)
    messages = [encode(ROW, number=7), encode({"fraud": False, "amount": 1.0}, LATER, number=8)]
    decoded = decoder.decode([*messages, encode(ROW, number=9), encode(ROW), b"\0\0"], 10)
    assert decoded.records.to_pylist()[1] == {**dict.fromkeys(KEPT), "fraud": False, "amount": 1.0}
    assert decoded.bad[2] == "the schema registry must know schema 9, got no such schema"
    assert "must begin with a zero byte" in decoded.bad[3]
    assert "must begin with a zero byte" in decoded.bad[4]


def test_registry_is_queried_once_for_each_schema_id():
    with registry_server({7: ORDER}) as (url, requests):
        decoder = AvroDecoder(registry=SchemaRegistry(url=url, user_info="user:pass"))
        decoded = decoder.decode([encode(ROW, number=7)] * 3 + [encode(ROW, number=5)] * 3, 10)
        assert decoded.records.num_rows == 3
        assert list(decoded.bad) == [3, 4, 5]
        decoder.decode([encode(ROW, number=5)], 10)
    assert requests == [("/schemas/ids/7", "Basic dXNlcjpwYXNz"), ("/schemas/ids/5", "Basic dXNlcjpwYXNz")]


def test_registry_that_fails_stops_the_source_instead_of_condemning_messages():
    with (
        registry_server({7: ORDER}, status=503) as (url, _),
        pytest.raises(SourceError, match=r"schema 7 was not given, got HTTP status 503"),
    ):
        AvroDecoder(registry=SchemaRegistry(url=url)).decode([encode(ROW, number=7)], 10)
    with pytest.raises(SourceError, match="the schema registry does not answer"):
        SchemaRegistry(url=url, timeout=2.0).get(7)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "avro_schema or a registry must be given"),
        ({"avro_schema": ORDER, "registry": SchemaRegistry({})}, "and not both"),
        ({"avro_schema": "long"}, "an Avro schema must be valid"),
        ({"avro_schema": '"long"'}, "an Avro schema must be a record"),
        ({"avro_schema": {"type": "nonsense"}}, "an Avro schema must be valid"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        AvroDecoder(**arguments)


def test_schema_without_plain_fields_is_refused():
    nested = {"type": "record", "name": "n", "fields": [{"name": "l", "type": {"type": "array", "items": "int"}}]}
    with pytest.raises(ValueError, match="must have a field of a plain type"):
        AvroDecoder(nested).decode([b"\0"], 1)
