"""Arrow schemas: widened after inference, written into positions, and narrowed to chosen columns."""

from __future__ import annotations

import base64
import difflib
from collections.abc import Sequence

import pyarrow as pa

from stream_maxloss.errors import SourceError

__all__ = [
    "conform",
    "decode_schema",
    "describe_type",
    "empty_batch",
    "encode_schema",
    "merge",
    "missing_column",
    "require_columns",
    "select",
    "widen",
]


def widen(schema: pa.Schema) -> pa.Schema:
    """Return the types to fix after seeing only the first records.

    Whole numbers become float64, so that a later 1.5 is no error, and so do columns without any value. Seconds
    become microseconds, so that a later fraction is none. Bytes that are no UTF-8 were meant as text.
    """
    return pa.schema([pa.field(field.name, _widen_type(field.type)) for field in schema])


def _widen_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_integer(kind) or pa.types.is_null(kind):
        return pa.float64()
    if pa.types.is_timestamp(kind) and kind.unit == "s":
        return pa.timestamp("us", kind.tz)
    if pa.types.is_binary(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(_widen_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _widen_type(field.type)) for field in kind])
    return kind


def merge(schemas: Sequence[pa.Schema]) -> pa.Schema:
    """Return every field of the schemas; where types differ the first one that is not null wins."""
    types: dict[str, pa.DataType] = {}
    for schema in schemas:
        for field in schema:
            types[field.name] = _merge_types(types.get(field.name, pa.null()), field.type)
    return pa.schema(list(types.items()))


def _merge_types(first: pa.DataType, second: pa.DataType) -> pa.DataType:
    if pa.types.is_null(first) or (pa.types.is_integer(first) and pa.types.is_floating(second)):
        return second
    if pa.types.is_struct(first) and pa.types.is_struct(second):
        return pa.struct(list(merge([pa.schema(list(first)), pa.schema(list(second))])))
    if pa.types.is_list(first) and pa.types.is_list(second):
        return pa.list_(_merge_types(first.value_type, second.value_type))
    return first


def describe_type(kind: pa.DataType) -> str:
    """Return what a user calls a value of the type."""
    if pa.types.is_integer(kind):
        return "a whole number"
    if pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "a number"
    if pa.types.is_boolean(kind):
        return "true or false"
    if pa.types.is_temporal(kind):
        return f"a {kind}"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "UTF-8 text"
    return f"of type {kind}"


def empty_batch(schema: pa.Schema) -> pa.RecordBatch:
    """Return no rows of the schema."""
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)


def encode_schema(schema: pa.Schema) -> str:
    """Return a schema as text for a position."""
    return base64.b64encode(schema.serialize().to_pybytes()).decode("ascii")


def decode_schema(text: str) -> pa.Schema:
    """Return the schema that `encode_schema` wrote.

    Raises
    ------
    SourceError
        If the text is not one that it wrote.

    """
    try:
        return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))
    except (ValueError, pa.ArrowException, OSError) as error:
        raise SourceError(
            f"the saved columns must be an Arrow schema, got {text[:40]!r}; resume from another checkpoint"
        ) from error


def select(schema: pa.Schema, columns: Sequence[str] | None, name: str) -> pa.Schema:
    """Narrow a schema to some columns, in the order in which they are named.

    Raises
    ------
    SourceError
        If there is no such column in the source called `name`.

    """
    if columns is None:
        return schema
    require_columns(columns, schema.names, name)
    return pa.schema([schema.field(column) for column in columns])


def choose(found: pa.Schema, wanted: pa.Schema | None, columns: Sequence[str] | None, name: str) -> pa.Schema:
    """Return the columns to read of a source called `name`: those of the wanted schema, or else the chosen ones."""
    if wanted is None:
        return select(found, columns, name)
    require_columns(wanted.names, found.names, name)
    return wanted


def require_columns(columns: Sequence[str], names: Sequence[str], name: str) -> None:
    """Raise `SourceError` unless the source called `name` has all of the columns; linear in their number."""
    known = set(names)
    for column in columns:
        if column not in known:
            raise missing_column(column, names, name)


def missing_column(column: str, names: Sequence[str], name: str) -> SourceError:
    """Return the error for a column that the source called `name` does not have."""
    close = difflib.get_close_matches(column, names, 1, 0.6)
    hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(map(repr, list(names)[:20]))}"
    return SourceError(f"{name}: column must be one of the source's, got {column!r}; {hint}")


def conform(batch: pa.RecordBatch, schema: pa.Schema, name: str) -> pa.RecordBatch:
    """Return a batch with the columns and types of the schema.

    Raises
    ------
    SourceError
        If a column is missing, or holds values that the type of the schema cannot.

    """
    if batch.schema.equals(schema):
        return batch
    arrays = []
    require_columns(schema.names, batch.schema.names, name)
    for field in schema:
        column = batch.column(field.name)
        try:
            arrays.append(column if column.type.equals(field.type) else column.cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise SourceError(
                f"{name}: column {field.name!r} must be {describe_type(field.type)}, got {column.type}: {error}"
            ) from error
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
