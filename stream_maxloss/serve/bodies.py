"""Bodies of requests as rows: JSON, JSON lines or Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import orjson
import pyarrow as pa

from stream_maxloss.errors import UsageError
from stream_maxloss.serve.arrow_size import unpacked_bytes
from stream_maxloss.serve.log.record import Kind
from stream_maxloss_connectors.text.nesting import is_deep, nesting_reason

__all__ = ["ARROW_TYPE", "Body", "read_body"]

ARROW_TYPE = "application/vnd.apache.arrow.stream"
KINDS = {
    "application/json": Kind.JSON,
    "application/x-ndjson": Kind.LINES,
    "application/jsonl": Kind.LINES,
    ARROW_TYPE: Kind.ARROW,
}
UNPACKED_BYTES = 512 << 20
_RAW_ROWS = msgspec.json.Decoder(list[msgspec.Raw])


@dataclass(frozen=True)
class Body:
    """The rows of a request, not yet looked into.

    Parameters
    ----------
    kind
        How they came.
    data
        The bytes, as they came.
    payloads
        Each row as JSON; empty for Arrow.
    records
        The rows of an Arrow body, else None.

    """

    kind: Kind
    data: bytes
    payloads: Sequence[bytes] = ()
    records: pa.RecordBatch | None = None

    @property
    def rows(self) -> int:
        """How many rows."""
        return len(self.payloads) if self.records is None else int(self.records.num_rows)


def read_body(data: bytes, kind: Kind | str) -> Body:
    """Return the rows of a body.

    Parameters
    ----------
    data
        The bytes.
    kind
        What they are, or the value of the header `Content-Type`.

    Raises
    ------
    UsageError
        If the bytes are not that. What is wrong with one row is for whoever reads the rows.

    Examples
    --------
    >>> from stream_maxloss.serve.bodies import read_body
    >>> read_body(b'[{"x": 1}, {"x": 2}]', "application/json").payloads
    [b'{"x": 1}', b'{"x": 2}']
    >>> read_body(b'{"x": 1}', "application/json; charset=utf-8").rows
    1

    """
    if isinstance(kind, str):
        kind = kind_of(kind)
        if kind == Kind.ARROW:
            require_bounded(data)
    if kind == Kind.ARROW:
        return Body(kind, data, records=read_arrow(data))
    if kind == Kind.LINES:
        return Body(kind, data, [line for line in data.split(b"\n") if line.strip()])
    if data[:1] == b"{" and not is_deep(data):
        return Body(kind, data, [data])
    return Body(kind, data, split_array(data))


def kind_of(content_type: str) -> Kind:
    """Return what a `Content-Type` says."""
    name = content_type.partition(";")[0].strip().lower()
    if name not in KINDS:
        # Not even none: a page of another site could send that here from the browser of somebody who may.
        known = ", ".join(sorted(KINDS))
        raise UsageError(f"Content-Type must be one of {known}, got {name[:100]!r}")
    return KINDS[name]


def split_array(data: bytes) -> list[bytes]:
    """Return the elements of a JSON array, or the one value that it is, each as JSON."""
    if is_deep(data):
        raise UsageError(f"the body: {nesting_reason()}")
    text = data.lstrip()
    try:
        if text[:1] == b"[":
            return [bytes(row) for row in _RAW_ROWS.decode(text)]
        orjson.loads(text)
    except (msgspec.DecodeError, orjson.JSONDecodeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"the body must be a JSON object or a list of them, got {len(data)} bytes that are not: {error}"
        ) from error
    return [text]


def require_bounded(data: bytes) -> None:
    """Raise UsageError for Arrow bytes that would fill the memory: compressed buffers say how large they become."""
    try:
        size = unpacked_bytes(data)
    except ValueError as error:
        raise UsageError(f"the body must be an Arrow IPC stream, got {len(data)} bytes that are not: {error}") from None
    if size > UNPACKED_BYTES:
        raise UsageError(
            f"the body must have at most {UNPACKED_BYTES:,} bytes when it is unpacked, got {size:,}; send fewer rows"
        )


def read_arrow(data: bytes) -> pa.RecordBatch:
    """Return the rows of an Arrow stream or file, every byte of it checked."""
    try:
        opener = pa.ipc.open_file if data[:6] == b"ARROW1" else pa.ipc.open_stream
        with opener(pa.BufferReader(data)) as reader:
            table = reader.read_all()
        table.validate(full=True)
        batches = table.combine_chunks().to_batches()
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError, IndexError, MemoryError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UsageError(
            f"the body must be an Arrow IPC stream, got {len(data)} bytes that are not: {reason}"
        ) from None
    if len(set(table.schema.names)) < len(table.schema.names):
        raise UsageError(f"columns must have different names, got {table.schema.names[:20]}")
    if not batches:
        return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in table.schema], schema=table.schema)
    return batches[0]


def arrow_bytes(records: Any) -> bytes:
    """Return rows as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, records.schema) as writer:
        writer.write_batch(records)
    return bytes(sink.getvalue())
