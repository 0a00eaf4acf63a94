"""JSON messages that all look alike, decoded by type: the way around dicts for the usual case."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import starmap
from operator import attrgetter
from struct import Struct
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

__all__ = ["TypedObjects"]

# What a field that is no column may hold; an object or a list could hide a key given twice.
_PASSED_OVER = float | bool | str | None

_COLON = ord(":")

# Messages read at once: what is made of them on the way stays in the cache.
_PIECE = 1000


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
        self._pack = Struct(f"{len(schema)}d").pack
        # All fields at once cost half of what they cost one by one.
        self._values: Any = msgspec.structs.astuple
        self._each: Any = starmap
        if list(keys) != schema.names:
            places = {name: place for place, name in enumerate(keys)}
            self._values = attrgetter(*(f"field_{places[name]}" for name in schema.names))
            self._each = map if len(schema) == 1 else starmap

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
        try:
            return cls(schema, list(row))
        except ValueError:  # of msgspec, which takes no keys with quotes, backslashes or control characters
            return None

    def read(self, payloads: Sequence[bytes]) -> pa.RecordBatch | None:
        """Return the messages as rows, None if one of them is not like the example."""
        pieces = []
        for first in range(0, len(payloads), _PIECE):
            piece = payloads[first : first + _PIECE]
            # A key given twice would be passed over in silence; each key has a colon. numpy counts bytes as frequent
            # as these four times as fast as Python does.
            text = np.frombuffer(b"".join(piece), np.uint8)
            if np.count_nonzero(text == _COLON) != len(piece) * self._keys:
                return None
            try:
                pieces.append(b"".join(self._each(self._pack, map(self._values, map(self._decode, piece)))))
            except ValueError:  # msgspec's errors are such, and those of text that is no text
                return None
        columns = np.ascontiguousarray(np.frombuffer(b"".join(pieces)).reshape(-1, len(self.schema)).T)
        arrays = [
            pa.array(column == 1.0 if pa.types.is_boolean(field.type) else column)
            for field, column in zip(self.schema, columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)
