"""Avro records as messages, bare or in the wire format of a schema registry."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from stream_maxloss.errors import MissingExtraError
from stream_maxloss_connectors.payloads.base import Decoded, Decoder
from stream_maxloss_connectors.payloads.columns import build_records
from stream_maxloss_connectors.payloads.registry import SchemaRegistry

__all__ = ["AvroDecoder"]

_MOST_LEVELS = 64

_logger = logging.getLogger("stream_maxloss_connectors")

_TYPES = {
    "int": pa.int64(),
    "long": pa.int64(),
    "float": pa.float64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "enum": pa.string(),
    "bytes": pa.binary(),
}
_LOGICAL_TYPES = {
    "timestamp-millis": pa.timestamp("ms", "UTC"),
    "timestamp-micros": pa.timestamp("us", "UTC"),
    "date": pa.date32(),
}


class AvroDecoder(Decoder):
    """Reads messages that are one Avro record each.

    With `avro_schema` alone a message is the bare encoding. With a registry it begins with a zero byte and a schema
    number of four bytes, and each message is read by the schema that it was written with. A field that the columns have
    and the record has not is null; one that only the record has is ignored. Fields of nested types are left out.

    Parameters
    ----------
    avro_schema
        Schema of the messages as parsed JSON or as text; a record.
    registry
        Where to look up the numbers of the wire format.
    schema
        The columns; None to take them from the Avro schema.

    Examples
    --------
    >>> from stream_maxloss_connectors.payloads.avro_rows import AvroDecoder
    >>> schema = {"type": "record", "name": "order", "fields": [{"name": "amount", "type": "long"}]}
    >>> AvroDecoder(schema).decode([bytes([2]), bytes([4])], 10).records.to_pylist()
    [{'amount': 1}, {'amount': 2}]

    """

    def __init__(
        self,
        avro_schema: Any | None = None,
        registry: SchemaRegistry | None = None,
        schema: pa.Schema | None = None,
    ) -> None:
        if (avro_schema is None) == (registry is None):
            raise ValueError(
                "avro_schema or a registry must be given for Avro messages, and not both; "
                "set avro_schema, registry_schemas or schema.registry.url"
            )
        try:
            import fastavro
        except ImportError as error:
            raise MissingExtraError("reading Avro", "kafka") from error
        super().__init__(schema)
        self.registry = registry
        self._fastavro = fastavro
        self._parsed: dict[int, Any] = {}
        self._written_with = None if avro_schema is None else self._parse(avro_schema)

    def infer(self, payloads: Sequence[bytes]) -> None:
        """Take the columns from the schema of the first message that names one."""
        for payload in payloads if self.schema is None else ():
            try:
                writer, _ = self._writer(payload)
            except ValueError:
                continue
            self.schema = _arrow_schema(writer)
            return

    def decode(self, payloads: Sequence[bytes], max_rows: int) -> Decoded:
        """Decode up to `max_rows` messages."""
        payloads = payloads[:max_rows]
        self.infer(payloads)
        rows, kept, bad = [], [], {}
        for i, payload in enumerate(payloads):
            try:
                rows.append(self._read(payload))
                kept.append(i)
            except ValueError as error:
                bad[i] = str(error)
        if self.schema is None:
            return Decoded(None, len(payloads), bad)
        records, misfits = build_records(rows, self.schema)
        bad.update((kept[row], reason) for row, reason in misfits.items())
        return Decoded(records, len(payloads), dict(sorted(bad.items())))

    def _read(self, payload: bytes) -> Any:
        writer, start = self._writer(payload)
        stream = io.BytesIO(payload)
        stream.seek(start)
        try:
            row = self._fastavro.schemaless_reader(stream, writer, None)
        except Exception as error:
            # Foreign bytes make the reader fail in many ways: wrong index, end of data, too large a length, bad text.
            raise ValueError(
                f"a message must be an Avro record of its schema, got {error or type(error).__name__}"
            ) from error
        if (left := len(payload) - stream.tell()) > 0:
            raise ValueError(f"a message must end with its Avro record, got {left} bytes more")
        return row

    def _writer(self, payload: bytes) -> tuple[Any, int]:
        """Return the schema that a message was written with, and where its record begins."""
        if self.registry is None:
            return self._written_with, 0
        if len(payload) < 5 or payload[0] != 0:
            raise ValueError("a message must begin with a zero byte and a schema number, got " + repr(payload[:5]))
        number = int.from_bytes(payload[1:5], "big")
        if number not in self._parsed:
            found = self.registry.get(number)
            if found is None:
                raise ValueError(f"the schema registry must know schema {number}, got no such schema")
            self._parsed[number] = self._parse(found)
        return self._parsed[number], 5

    def _parse(self, schema: Any) -> Any:
        try:
            parsed = self._fastavro.parse_schema(json.loads(schema) if isinstance(schema, str) else schema)
        except (self._fastavro.schema.SchemaParseException, KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(f"an Avro schema must be valid, got {error}") from error
        except RecursionError as error:
            raise ValueError("an Avro schema must be valid, got one that is nested too deeply") from error
        if not isinstance(parsed, dict) or parsed.get("type") != "record":
            raise ValueError(f"an Avro schema must be a record, got {parsed!r:.80}")
        check_avro_schema(parsed)
        return parsed


def _arrow_schema(record: Any) -> pa.Schema:
    fields = []
    for column in record["fields"]:
        type_ = _arrow_type(column["type"])
        if type_ is None:
            _logger.warning(
                "field %r of the Avro schema is of a nested or unusual type and is left out", column["name"]
            )
        else:
            fields.append((column["name"], type_))
    if not fields:
        raise ValueError(f"an Avro schema must have a field of a plain type, got {record['name']!r} without one")
    return pa.schema(fields)


def _arrow_type(avro: Any) -> pa.DataType | None:
    if isinstance(avro, list):
        others = [option for option in avro if option != "null"]
        return _arrow_type(others[0]) if len(others) == 1 else None
    if isinstance(avro, dict):
        if "logicalType" in avro:
            return _LOGICAL_TYPES.get(avro["logicalType"])
        return _arrow_type(avro["type"]) if isinstance(avro["type"], str) else None
    return _TYPES.get(avro)


def check_avro_schema(schema: Any) -> None:
    """Raise ValueError if records of a schema can be nested without end, or be arrays of nothing.

    A record that contains itself is read by one call within another: some kilobytes of a message end the process. Items
    that take no bytes can be as many as a number says: a message of ten bytes would fill the memory.

    Parameters
    ----------
    schema
        As `fastavro.parse_schema` returns it.

    Examples
    --------
    >>> from stream_maxloss_connectors.payloads.avro_rows import check_avro_schema
    >>> node = {"type": "record", "name": "node", "fields": [{"name": "next", "type": ["null", "node"]}]}
    >>> check_avro_schema(node)
    Traceback (most recent call last):
    ...
    ValueError: an Avro schema must not contain itself, got 'node' within 'node'; ...

    """
    _visit(schema, (), {})


def _visit(schema: Any, within: tuple[str, ...], known: dict[str, Any]) -> None:
    if len(within) > _MOST_LEVELS:
        raise ValueError(f"an Avro schema must have at most {_MOST_LEVELS} levels, got more; flatten it")
    if isinstance(schema, list):
        for option in schema:
            _visit(option, within, known)
    elif isinstance(schema, str):
        if schema in within:
            raise ValueError(
                f"an Avro schema must not contain itself, got {schema!r} within {within[0]!r}; write rows of their own"
            )
        if schema in known:
            _visit(known[schema], within, known)
    elif schema["type"] in ("record", "error"):
        known[schema["name"]] = schema
        for field in schema["fields"]:
            _visit(field["type"], (*within, schema["name"]), known)
    elif schema["type"] in ("array", "map"):
        items = schema["items" if schema["type"] == "array" else "values"]
        _visit(items, (*within, ""), known)
        if schema["type"] == "array" and _takes_nothing(items, known):
            raise ValueError(f"items of an Avro array must take bytes, got {items!r:.80}; write their number instead")
    elif isinstance(schema["type"], dict | list):
        _visit(schema["type"], (*within, ""), known)


def _takes_nothing(schema: Any, known: dict[str, Any]) -> bool:
    if isinstance(schema, str):
        return schema == "null" or (schema in known and _takes_nothing(known[schema], known))
    if isinstance(schema, list):
        return False
    if schema["type"] in ("record", "error"):
        return all(_takes_nothing(field["type"], known) for field in schema["fields"])
    if schema["type"] == "fixed":
        return not schema["size"] > 0
    return bool(schema["type"] == "null")
