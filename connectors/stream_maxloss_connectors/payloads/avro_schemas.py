"""What an Avro schema must not allow: that a short message makes its reader run without end, or out of its stack."""

from __future__ import annotations

from typing import Any

__all__ = ["check_avro_schema"]

_MOST_LEVELS = 64


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
    >>> from stream_maxloss_connectors.payloads.avro_schemas import check_avro_schema
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
