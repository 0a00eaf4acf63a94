"""JSON messages that all look alike: the way around Python objects for the usual case."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

__all__ = ["PlainObjects"]

_WORDS = np.frombuffer(b"nulltruefalse", np.uint8)


class PlainObjects:
    """Reads flat objects that have the keys of an example in its order; anything else is left to the caller.

    What it reads it reads as a general parser and `build_records` would: numbers rounded once, null where null stands.

    Parameters
    ----------
    schema
        The columns: numbers and booleans.
    keys
        The keys of an example; those that are no column are passed over.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss_connectors.payloads.json_plain import PlainObjects
    >>> plain = PlainObjects.of(b'{"a": 1, "note": "x", "b": true}', pa.schema([("a", "double"), ("b", "bool")]))
    >>> plain.read([b'{"a":2.5,"note":"y","b":false}', b'{"a":null,"note":null,"b":true}']).to_pylist()
    [{'a': 2.5, 'b': False}, {'a': None, 'b': True}]
    >>> plain.read([b'{"b": true, "a": 1, "note": "x"}']) is None
    True

    """

    def __init__(self, schema: pa.Schema, keys: Sequence[str]) -> None:
        from stream_maxloss_connectors.payloads.json_kernel import BOOLEAN, NUMBER, SKIPPED

        quoted = [orjson.dumps(key) for key in keys]
        places = [schema.get_field_index(key) for key in keys]
        kinds = [BOOLEAN if pa.types.is_boolean(field.type) else NUMBER for field in schema]
        self.schema = schema
        self._keys = np.frombuffer(b"".join(quoted), np.uint8)
        self._key_ends = np.cumsum([len(key) for key in quoted])
        self._kinds = np.array([SKIPPED if place < 0 else kinds[place] for place in places])
        self._columns = np.array(places)

    @classmethod
    def of(cls, example: bytes, schema: pa.Schema) -> PlainObjects | None:
        """Return a reader for messages like an example, None if they are not of the kind."""
        if not all(pa.types.is_float64(field.type) or pa.types.is_boolean(field.type) for field in schema):
            return None
        try:
            row = orjson.loads(example)
        except orjson.JSONDecodeError:
            return None
        if type(row) is not dict or not set(schema.names) <= set(row) or not all(field.nullable for field in schema):
            return None
        return cls(schema, list(row))

    def read(self, payloads: Sequence[bytes]) -> pa.RecordBatch | None:
        """Return the messages as rows, None if one of them is not like the example."""
        from stream_maxloss_connectors.payloads.json_kernel import parse_objects

        text = b"".join(payloads)
        rows, width = len(payloads), len(self.schema)
        ends = np.cumsum(np.fromiter(map(len, payloads), np.int64, rows))
        values = np.empty((width, rows))
        hard = np.empty((width * rows, 4), np.int64)
        layout = (self._keys, self._key_ends, self._kinds, self._columns, _WORDS)
        parsed, n_hard = parse_objects(np.frombuffer(text, np.uint8), ends, *layout, values, hard)
        if parsed < rows:
            return None
        for column, row, start, end in hard[:n_hard].tolist():
            values[column, row] = float(text[start:end])
            if math.isinf(values[column, row]):
                return None
        arrays = [_to_array(field.type, values[j]) for j, field in enumerate(self.schema)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _to_array(kind: pa.DataType, values: Any) -> pa.Array:
    # Infinite stands for null: JSON has no such number.
    missing = np.isinf(values)
    validity = pa.py_buffer(np.packbits(~missing, bitorder="little")) if missing.any() else None
    data = np.packbits(values == 1.0, bitorder="little") if pa.types.is_boolean(kind) else values
    return pa.Array.from_buffers(kind, len(values), [validity, pa.py_buffer(data)])
