"""The decoder for a format's name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from stream_maxloss_connectors.payloads.arrow_rows import ArrowDecoder
from stream_maxloss_connectors.payloads.avro_rows import AvroDecoder
from stream_maxloss_connectors.payloads.base import Decoder
from stream_maxloss_connectors.payloads.csv_rows import CsvDecoder
from stream_maxloss_connectors.payloads.json_rows import JsonDecoder
from stream_maxloss_connectors.payloads.registry import SchemaRegistry

__all__ = ["FORMATS", "make_decoder"]

FORMATS = ("json", "csv", "avro", "arrow")


def make_decoder(
    format: str,
    *,
    schema: pa.Schema | None = None,
    column_names: Sequence[str] | None = None,
    avro_schema: Any | None = None,
    registry_schemas: Mapping[int, Any] | None = None,
    registry_settings: Mapping[str, str] | None = None,
) -> Decoder:
    """Make a decoder.

    Parameters
    ----------
    format
        `json`, `csv`, `avro` or `arrow`.
    schema
        The columns; None to take them from the first messages.
    column_names
        Names of the cells of CSV messages.
    avro_schema
        Schema of bare Avro messages.
    registry_schemas
        Schemas by number, for Avro messages in the wire format of a registry.
    registry_settings
        `schema.registry.url` and `schema.registry.basic.auth.user.info`.

    Raises
    ------
    ValueError
        If the format is unknown or lacks what it needs.

    """
    if format == "json":
        return JsonDecoder(schema)
    if format == "arrow":
        return ArrowDecoder(schema)
    if format == "csv":
        return CsvDecoder(column_names, schema)
    if format == "avro":
        return AvroDecoder(avro_schema, _registry(registry_schemas, registry_settings or {}), schema)
    raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")


def _registry(schemas: Mapping[int, Any] | None, settings: Mapping[str, str]) -> SchemaRegistry | None:
    url = settings.get("schema.registry.url")
    if schemas is None and url is None:
        return None
    return SchemaRegistry(schemas, url, settings.get("schema.registry.basic.auth.user.info"))
