"""JSON messages that all look alike, decoded by type: the way around dicts for the usual case."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

__all__ = ["TypedObjects"]

# What a field that is no column may hold; an object or a list could hide a key given twice.
_PASSED_OVER = float | bool | str | None


class TypedObjects:
    """Reads flat objects that have exactly the keys of an example; anything else is left to the caller.

    Parameters
    ----------
    schema
        The columns: numbers and booleans.
    keys
        The keys of an example; those that are no column are passed over.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss_connectors.payloads.json_typed import TypedObjects
    >>> typed = TypedObjects.of(b'{"a": 1, "note": "x", "b": true}', pa.schema([("a", "double"), ("b", "bool")]))
    >>> typed.read([b'{"a":2.5,"note":"y","b":false}', b'{"note":null,"a":3,"b":true}']).to_pylist()
    [{'a': 2.5, 'b': False}, {'a': 3.0, 'b': True}]
    >>> typed.read([b'{"a": 1, "note": "x"}']) is None
    True

    """

    def __init__(self, schema: pa.Schema, keys: Sequence[str]) -> None:
        import msgspec

        self.schema = schema
        self._keys = len(keys)
        kinds = {field.name: bool if pa.types.is_boolean(field.type) else float for field in schema}
        # The names of the fields are ours, those of the keys can be anything.
        fields = [(f"field_{i}", kinds.get(key, _PASSED_OVER), msgspec.field(name=key)) for i, key in enumerate(keys)]
        row = msgspec.defstruct("Row", fields, gc=False, forbid_unknown_fields=True)
        self._decode = msgspec.json.Decoder(row).decode
        self._values = attrgetter(*(f"field_{list(keys).index(name)}" for name in schema.names))

    @classmethod
    def of(cls, example: bytes, schema: pa.Schema) -> TypedObjects | None:
        """Return a reader for messages like an example, None if they are not of the kind."""
        if not all(pa.types.is_float64(field.type) or pa.types.is_boolean(field.type) for field in schema):
            return None
        try:
            row = orjson.loads(example)
        except orjson.JSONDecodeError:
            return None
        if type(row) is not dict or not set(schema.names) <= set(row):
            return None
        return cls(schema, list(row))

    def read(self, payloads: Sequence[bytes]) -> pa.RecordBatch | None:
        """Return the messages as rows, None if one of them is not like the example."""
        # A key given twice would be passed over in silence; each key has a colon.
        if b"".join(payloads).count(b":") != len(payloads) * self._keys:
            return None
        try:
            rows = list(map(self._decode, payloads))
        except ValueError:  # msgspec's errors are such, and those of text that is no text
            return None
        width = len(self.schema)
        found: Any = map(self._values, rows)
        values = np.fromiter(found if width == 1 else chain.from_iterable(found), np.float64, width * len(rows))
        columns = np.ascontiguousarray(values.reshape(-1, width).T)
        arrays = [
            pa.array(column == 1.0 if pa.types.is_boolean(field.type) else column)
            for field, column in zip(self.schema, columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)
