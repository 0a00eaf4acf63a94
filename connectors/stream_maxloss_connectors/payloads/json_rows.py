"""One JSON object per message."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from itertools import starmap
from operator import attrgetter
from struct import Struct
from typing import Any

import numpy as np
import orjson
import pyarrow as pa

from stream_maxloss_connectors.payloads.base import Decoded, Decoder
from stream_maxloss_connectors.payloads.columns import build_records, infer_schema
from stream_maxloss_connectors.text.nesting import is_deep, nesting_reason

__all__ = ["JsonDecoder"]

# What a field that is no column may hold; an object or a list could hide a key given twice.
_PASSED_OVER = float | bool | str | None
_COLON = ord(":")
# Messages read at once: what is made of them on the way stays in the cache.
_PIECE = 1000

# Messages for which it is worth looking at the first one twice.
_WORTHWHILE = 16


class JsonDecoder(Decoder):
    """Reads messages that are one JSON object each.

    Every message is parsed by itself: by msgspec, straight into its fields, as long as all are flat objects of numbers
    and booleans with the same keys, else by orjson. To join them and parse the whole by `pyarrow.json` would be slower
    than either, and there an empty message takes its row away and `{}{}` adds one, after which rows and offsets no
    longer belong together.

    Numbers become float64, whole ones too. A missing field is null; fields that the first messages did not have are
    ignored. Anything else is a bad message: no object, more than one, a value of another type, a key given twice.

    Parameters
    ----------
    schema
        The columns; None to take them from the first messages.

    Examples
    --------
    >>> from stream_maxloss_connectors.payloads.json_rows import JsonDecoder
    >>> decoder = JsonDecoder()
    >>> decoder.infer([b'{"a": 1, "b": true}'])
    >>> decoded = decoder.decode([b'{"a": 1, "b": true}', b'{"a": "x"}', b'{"b": false, "c": 0}'], 10)
    >>> decoded.records.to_pylist()
    [{'a': 1.0, 'b': True}, {'a': None, 'b': False}]
    >>> decoded.bad
    {1: "field 'a' must be a number, got 'x'"}

    """

    def __init__(self, schema: pa.Schema | None = None) -> None:
        super().__init__(schema)
        self._typed: TypedObjects | None = None

    def infer(self, payloads: Sequence[bytes]) -> None:
        """Fix the schema from the objects among the messages."""
        if self.schema is None:
            rows, bad = _parse(payloads)
            self.schema = infer_schema(row for i, row in enumerate(rows) if i not in bad)

    def decode(self, payloads: Sequence[bytes], max_rows: int) -> Decoded:
        """Decode up to `max_rows` messages."""
        payloads = payloads if len(payloads) <= max_rows else payloads[:max_rows]
        self.infer(payloads)
        typed = self._read_typed(payloads)
        if typed is not None:
            return Decoded(typed, len(payloads))
        rows, bad = _parse(payloads)
        if self.schema is None:
            unnamed = dict.fromkeys(range(len(payloads)), "an object without fields cannot tell the columns")
            return Decoded(None, len(payloads), {**unnamed, **bad})
        kept = [i for i in range(len(rows)) if i not in bad] if bad else range(len(rows))
        records, misfits = build_records([rows[i] for i in kept] if bad else rows, self.schema)
        bad.update((kept[row], reason) for row, reason in misfits.items())
        return Decoded(records, len(payloads), dict(sorted(bad.items())))

    def _read_typed(self, payloads: Sequence[bytes]) -> pa.RecordBatch | None:
        if self.schema is None or len(payloads) < _WORTHWHILE:
            return None
        if self._typed is None or self._typed.schema is not self.schema:
            self._typed = TypedObjects.of(payloads[0], self.schema)
        records = None if self._typed is None else self._typed.read(payloads)
        if records is None:
            # The next messages may look alike again, in another order of keys.
            self._typed = None
        return records


def _parse(payloads: Sequence[bytes]) -> tuple[list[Any], dict[int, str]]:
    """Return one value per message, and what is wrong with those that are no proper object."""
    bad: dict[int, str] = {i: nesting_reason() for i, payload in enumerate(payloads) if is_deep(payload)}
    if bad:
        payloads = [b"{}" if i in bad else payload for i, payload in enumerate(payloads)]
    try:
        rows = list(map(orjson.loads, payloads))
    except orjson.JSONDecodeError:
        rows = [_parse_one(payload, i, bad) for i, payload in enumerate(payloads)]
    if not {dict}.issuperset(map(type, rows)):
        for i, row in enumerate(rows):
            if type(row) is not dict and i not in bad:
                bad[i] = f"a message must be one JSON object, got {_kind(row)}"
    if bad or not _keys_are_unique(payloads, rows):
        for i, row in enumerate(rows):
            if i not in bad and not _keys_are_unique([payloads[i]], [row]):
                _name_repeated_key(payloads[i], i, bad)
    return rows, bad


def _parse_one(payload: bytes, index: int, bad: dict[int, str]) -> Any:
    try:
        return orjson.loads(payload)
    except orjson.JSONDecodeError as error:
        bad[index] = f"a message must be one JSON object, got {len(payload)} bytes that are not ({error.msg})"
        return {}


def _keys_are_unique(payloads: Sequence[bytes], rows: Sequence[dict[str, Any]]) -> bool:
    """Return whether a quick look rules out that a key occurs twice; False means that it has to be checked.

    The parser keeps the last of two equal keys silently. Each key has a colon, so colons can only outnumber the keys
    that were kept; where text or inner objects bring more colons, the objects are written out again and colons
    compared, which is exact as long as no colon was escaped.
    """
    text = b"".join(payloads)
    colons = text.count(b":")
    if colons == sum(map(len, rows)):
        return True
    return b"\\" not in text and colons == orjson.dumps(rows).count(b":")


def _name_repeated_key(payload: bytes, index: int, bad: dict[int, str]) -> None:
    def check(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            repeated = next(name for name, times in Counter(name for name, _ in pairs).items() if times > 1)
            bad.setdefault(index, f"a key must come once in an object, got {repeated!r} again")
        return found

    json.loads(payload, object_pairs_hook=check)


def _kind(value: Any) -> str:
    names = {list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(value), "null")


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
    >>> from stream_maxloss_connectors.payloads.json_rows import TypedObjects
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
