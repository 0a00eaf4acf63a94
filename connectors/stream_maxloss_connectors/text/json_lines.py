"""JSON lines: one object per line."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.json as arrow_json

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.schemas import describe_type, empty_batch, merge, widen
from stream_maxloss_connectors.text.lines import (
    BYTE_ORDER_MARK,
    MAX_RECORD_BYTES,
    Frames,
    LineDecoder,
    mark_damage,
    positions,
    shorten,
    too_long_reason,
)
from stream_maxloss_connectors.text.nesting import deep_records, nesting_reason

__all__ = ["JsonDecoder"]

_OPEN, _CLOSE = ord("{"), ord("}")


class JsonDecoder(LineDecoder):
    r"""Decodes JSON lines.

    pyarrow's parser reads values until the block ends and takes line ends for blanks: two objects on a line become two
    rows, one over two lines becomes one, and a first value `null` ends the process. So only records that start with
    `{` and end with `}` reach it: then no object can span two lines, and the number of rows tells the rest. It calls
    itself for every list and object inside another, so records nested more than `MAX_NESTING` deep do not reach it.

    Parameters
    ----------
    unexpected_fields
        A field that is not in the schema: `"error"` makes the record bad, `"ignore"` drops the field.
    max_record_bytes
        Longer records are bad.

    Examples
    --------
    >>> from stream_maxloss_connectors.text.json_lines import JsonDecoder
    >>> decoder = JsonDecoder()
    >>> schema = decoder.infer(b'{"amount": 3, "kind": "card"}\n')
    >>> text = b'{"amount": 3}\n{"amount": "x"}\n'
    >>> block = decoder.decode(text, schema, 1, "day.jsonl:{}".format)
    >>> block.records.to_pydict()
    {'amount': [3.0], 'kind': [None]}
    >>> print(block.faults[0].error)
    day.jsonl:2: field 'amount' must be a number, got a string

    """

    def __init__(self, unexpected_fields: str = "error", max_record_bytes: int = MAX_RECORD_BYTES) -> None:
        if unexpected_fields not in ("error", "ignore"):
            raise ValueError(f"unexpected_fields must be 'error' or 'ignore', got {unexpected_fields!r}")
        self.unexpected_fields = unexpected_fields
        self.max_record_bytes = max_record_bytes

    def begin(self, block: bytes) -> tuple[LineDecoder, int]:
        """Refuse a file that holds all its rows in one value."""
        found = one_value(block)
        if found is not None:
            raise SourceError(f"file must hold one JSON object a line, got {found}")
        return super().begin(block)

    def infer(self, block: bytes) -> pa.Schema:
        """Return the types of the fields as the records of `block` show them, numbers as float64."""
        frames = self.frame(block, whole=True)
        schemas: list[tuple[int, pa.Schema]] = []
        start = 0
        for index in [*sorted(frames.broken), len(frames.starts)]:
            self._infer_range(block, frames, start, index, schemas)
            start = index + 1
        # Where records differ, what most of them say is the type, and the others are bad records.
        return in_order_of_sight(schemas, widen(merge([schema for _, schema in sorted(schemas, key=by_size)])))

    def frame(self, block: bytes, whole: bool) -> Frames:
        """Find the lines of a block, and those that hold no object."""
        ends = positions(block, ord("\n"), 0, len(block)) + 1
        newlines = len(ends)
        if whole and (newlines == 0 or ends[-1] < len(block)) and block:
            ends = np.append(ends, len(block))
        starts = np.concatenate(([0], ends[:-1])) if len(ends) else ends
        length = int(ends[-1]) if len(ends) else 0
        data = np.frombuffer(block, np.uint8)
        last = ends - 2 if newlines == len(ends) else np.where(data[ends - 1] == ord("\n"), ends - 2, ends - 1)
        suspect = (data[starts] != _OPEN) | (data[last] != _CLOSE) | (ends - starts > self.max_record_bytes)
        blank, reasons = [], {}
        for index in np.flatnonzero(suspect).tolist():
            text = block[starts[index] : ends[index]].strip(b" \t\r\n")
            if not text:
                blank.append(index)
            elif ends[index] - starts[index] > self.max_record_bytes:
                reasons[index] = too_long_reason(self.max_record_bytes)
            elif not (text.startswith(b"{") and text.endswith(b"}")):
                reasons[index] = _describe_line(text)
        kept = np.delete(np.arange(len(starts)), blank)
        broken = {int(np.searchsorted(kept, index)): reason for index, reason in reasons.items()}
        mark_damage(block, starts[kept], ends[kept], length, broken)
        for index in deep_records(block, starts[kept], ends[kept], len(kept) - len(broken)):
            broken.setdefault(index, nesting_reason())
        return Frames(starts[kept], ends[kept], kept, kept + 1, broken, frozenset(), length, newlines)

    def last_record_end(self, block: bytes) -> int:
        """Return how many bytes of `block`, which more may follow, are whole records."""
        return block.rfind(b"\n") + 1

    def parse(self, piece: bytes, schema: pa.Schema) -> pa.RecordBatch:
        """Parse whole records of one block."""
        if not schema.names:
            raise pa.ArrowInvalid("no field is known")
        # pyarrow.json hands out text that is no UTF-8 as it is.
        piece.decode()
        table = self._read(piece, arrow_json.ParseOptions(schema, False, self.unexpected_fields))
        if table.num_rows == 0:
            return empty_batch(schema)
        return table.select(schema.names).combine_chunks().to_batches()[0]

    def reason(self, record: bytes, schema: pa.Schema, error: Exception | None) -> str:
        """Describe what pyarrow found in terms that the user knows."""
        text = str(error)
        if error is None:
            return f"line must hold one JSON object, got several: {shorten(record)}"
        if isinstance(error, UnicodeError):
            return f"record must be UTF-8, got {shorten(record)}; is it Latin-1? iconv converts it"
        if match := re.search(r"Column\(/(.*)\) changed from \w+ to (\w+)", text):
            return f"field {match[1]!r} must be {self._wanted(match[1], schema)}, got {_article(match[2])}"
        if match := re.search(r"Column\(/(.*)\) was specified twice", text):
            return f"field {match[1]!r} must be given once, got it twice: {shorten(record)}"
        if "unexpected field" in text and _fields(record):
            return self._unexpected(record, schema)
        if "Failed to convert JSON" in text:
            return self._inconvertible(record, schema)
        try:
            orjson.loads(record)
        except orjson.JSONDecodeError as finding:
            return f"line must be valid JSON: {finding}, got {shorten(record)}"
        if not schema.names:
            return f"record must have a field as long as none is known, got {shorten(record)}; give a schema"
        return f"record cannot be read: {text}"

    def _wanted(self, path: str, schema: pa.Schema) -> str:
        return describe_type(schema.field(path).type) if path in schema.names else "of the type in the schema"

    def _inconvertible(self, record: bytes, schema: pa.Schema) -> str:
        """Find the value of the right kind that its type cannot hold: pyarrow does not name the field."""
        for field in schema:
            try:
                self._read(record, arrow_json.ParseOptions(pa.schema([field]), False, "ignore"))
            except pa.ArrowInvalid:
                shown = repr(_fields(record).get(field.name))
                shown = shown if len(shown) <= 80 else shown[:77] + "..."
                return f"field {field.name!r} must be {describe_type(field.type)}, got {shown}"
        return f"record cannot be read, got {shorten(record)}"

    def _unexpected(self, record: bytes, schema: pa.Schema) -> str:
        known = set(schema.names)
        names = [name for name in _fields(record) if name not in known]
        what = f"field {names[0]!r}" if names else "a nested field"
        return (
            f"{what} must be in the schema, which was fixed by the first records; give a schema, or ignore such fields"
        )

    def _infer_range(
        self, block: bytes, frames: Frames, start: int, stop: int, schemas: list[tuple[int, pa.Schema]]
    ) -> None:
        if start >= stop:
            return
        piece = block[frames.starts[start] : frames.ends[stop - 1]]
        try:
            piece.decode()
            schemas.append((stop - start, self._read(piece, arrow_json.ParseOptions()).schema))
        except (pa.ArrowInvalid, UnicodeError):
            if stop - start > 1:
                middle = (start + stop) // 2
                self._infer_range(block, frames, start, middle, schemas)
                self._infer_range(block, frames, middle, stop, schemas)

    def _read(self, piece: bytes, parse: arrow_json.ParseOptions) -> pa.Table:
        read = arrow_json.ReadOptions(use_threads=False, block_size=len(piece) + 1)
        return arrow_json.read_json(pa.BufferReader(pa.py_buffer(piece)), read, parse)


ONE_VALUE = {
    rb"\s*\[\s*\{": "an array of them; jq -c '.[]' FILE converts it",
    rb"\s*\{[ \t\r]*\n[ \t]": "one over several lines; jq -c . FILE converts it",
    rb'\{"[^"]*":\{"0":': "a frame by its columns; df.to_json(FILE, orient='records', lines=True) writes it by rows",
}


def one_value(block: bytes) -> str | None:
    """Return what a file is that holds its rows in one value rather than in lines, and the remedy; None if it does not.

    Examples
    --------
    >>> from stream_maxloss_connectors.text.json_lines import one_value
    >>> one_value(b'[{"a": 1}, {"a": 2}]'), one_value(b'{"a": 1}')
    ("an array of them; jq -c '.[]' FILE converts it", None)

    """
    start = block[:1024].removeprefix(BYTE_ORDER_MARK)
    return next((what for pattern, what in ONE_VALUE.items() if re.match(pattern, start)), None)


def by_size(found: tuple[int, pa.Schema]) -> int:
    """Return what sorts the types of many records before those of few."""
    return -found[0]


def in_order_of_sight(schemas: list[tuple[int, pa.Schema]], merged: pa.Schema) -> pa.Schema:
    """Return a schema with its fields in the order in which they were first seen."""
    names = dict.fromkeys(name for _, schema in schemas for name in schema.names)
    return pa.schema([merged.field(name) for name in names])


def _fields(record: bytes) -> dict[str, Any]:
    """Return the fields of an object, none if pyarrow had found a fault before it came to an error of syntax."""
    try:
        # Unlike orjson it knows NaN, as pyarrow does.
        fields = json.loads(record)
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}


def _describe_line(text: bytes) -> str:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as finding:
        return f"line must be valid JSON: {finding}, got {shorten(text)}"
    return f"line must hold a JSON object, got {shorten(text)} ({type(value).__name__})"


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else kind if kind == "null" else f"a {kind}"
