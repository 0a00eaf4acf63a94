"""Arrow schemas as text, so that a position can carry one through JSON unchanged."""

from __future__ import annotations

import base64

import pyarrow as pa

__all__ = ["schema_from_text", "schema_to_text"]


def schema_to_text(schema: pa.Schema) -> str:
    """Encode a schema exactly, with every type, nullability and metadata.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss_connectors.schema_text import schema_from_text, schema_to_text
    >>> schema = pa.schema([("x", pa.float64()), ("when", pa.timestamp("us", "UTC"))])
    >>> schema_from_text(schema_to_text(schema)) == schema
    True

    """
    return base64.b64encode(schema.serialize()).decode("ascii")


def schema_from_text(text: str) -> pa.Schema:
    """Decode what `schema_to_text` made."""
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))
