"""Dicts to Arrow columns of fixed types, telling which rows do not fit."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

__all__ = ["build_records", "infer_schema"]

_logger = logging.getLogger("stream_maxloss_connectors")

_NONE = type(None)


def infer_schema(rows: Iterable[Mapping[str, Any]]) -> pa.Schema | None:
    """Infer the type of each field from its first value: number (float64), boolean or text.

    A field that is null throughout is taken for a number. Lists and objects are no features: they are left out, with a
    warning. None if no field is left.
    """
    types: dict[str, pa.DataType | None] = {}
    nested: set[str] = set()
    for row in rows:
        for name, value in row.items():
            kind = type(value)  # `isinstance` takes four times as long, for a thousand rows at a source's start
            if kind is list or kind is dict:
                nested.add(name)
            elif types.get(name) is None:
                types[name] = _type_of(value)
    for name in sorted(nested - set(types)):
        _logger.warning("field %r holds lists or objects and is left out; give a schema to read it", name)
    fields = [(name, type_ or pa.float64()) for name, type_ in types.items()]
    return pa.schema(fields) if fields else None


def build_records(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> tuple[pa.RecordBatch, dict[int, str]]:
    """Return the rows that fit the schema as columns, and for each other row what is wrong with it.

    A missing field is null; a field that the schema does not have is ignored.
    """
    arrays = []
    bad: dict[int, str] = {}
    for column in schema:
        array, wrong = _to_array(_column(rows, column.name), column)
        arrays.append(array)
        for row, reason in wrong.items():
            bad.setdefault(row, reason)
    if not bad:
        return pa.RecordBatch.from_arrays(arrays, schema=schema), {}
    records, _ = build_records([row for i, row in enumerate(rows) if i not in bad], schema)
    return records, bad


def _column(rows: Sequence[Mapping[str, Any]], name: str) -> list[Any]:
    try:
        return [row[name] for row in rows]
    except KeyError:
        return [row.get(name) for row in rows]


def _to_array(values: Sequence[Any], column: pa.Field) -> tuple[pa.Array | None, dict[int, str]]:
    """Return the column, or None and the rows whose value does not fit."""
    allowed, wanted = _allowed(column.type)
    if not column.nullable and any(value is None for value in values):
        return None, {i: f"field {column.name!r} is missing" for i, value in enumerate(values) if value is None}
    # Arrow itself would read true as 1.0 and bytes as text: a change of type in the stream is to be seen.
    if allowed is not None and not allowed.issuperset(map(type, values)):
        wrong = {i: value for i, value in enumerate(values) if type(value) not in allowed}
        return None, {i: _misfit(column.name, wanted, value) for i, value in wrong.items()}
    try:
        return pa.array(values, column.type), {}
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return _one_by_one(values, column, wanted)


def _one_by_one(values: Sequence[Any], column: pa.Field, wanted: str) -> tuple[pa.Array | None, dict[int, str]]:
    floats = pa.types.is_floating(column.type)
    converted, bad = [], {}
    for i, value in enumerate(values):
        try:
            # Arrow refuses whole numbers past 2^53 in a float column; here they are rounded like any other number.
            converted.append(float(value) if floats and value is not None else value)
            pa.array(converted[-1:], column.type)
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            bad[i] = _misfit(column.name, wanted, value)
    return (None, bad) if bad else (pa.array(converted, column.type), {})


def _allowed(type_: pa.DataType) -> tuple[set[type] | None, str]:
    if pa.types.is_floating(type_):
        return {float, int, _NONE}, "a number"
    if pa.types.is_integer(type_):
        return {int, _NONE}, "a whole number"
    if pa.types.is_boolean(type_):
        return {bool, _NONE}, "true or false"
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        return {str, _NONE}, "a text"
    return None, f"of type {type_}"


def _misfit(name: str, wanted: str, value: Any) -> str:
    shown = repr(value)
    return f"field {name!r} must be {wanted}, got {shown if len(shown) <= 80 else shown[:77] + '...'}"


def _type_of(value: Any) -> pa.DataType | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return pa.bool_()
    return pa.string() if isinstance(value, str) else pa.float64()
