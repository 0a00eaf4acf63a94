"""How large an Arrow stream becomes when its buffers are unpacked, found out before any of them is."""

from __future__ import annotations

import struct
from collections.abc import Iterator

__all__ = ["unpacked_bytes"]

CONTINUATION = b"\xff\xff\xff\xff"
DICTIONARY_BATCH, RECORD_BATCH = 2, 3
# Fields of the tables Message, DictionaryBatch and RecordBatch in Arrow's format, by their places.
HEADER_TYPE, HEADER, BODY_LENGTH = 1, 2, 3
DATA = 1
BUFFERS, COMPRESSION = 2, 3


def unpacked_bytes(stream: bytes) -> int:
    """Return how many bytes the buffers of a stream say that they become.

    A few kilobytes may say that they become a terabyte, and Arrow would ask for that much memory. Buffers that are not
    compressed count as nothing: they are no larger than the stream.

    Raises
    ------
    ValueError
        If the stream is not framed as Arrow frames it.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.serve.arrow_size import unpacked_bytes
    >>> sink = pa.BufferOutputStream()
    >>> options = pa.ipc.IpcWriteOptions(compression="zstd")
    >>> batch = pa.RecordBatch.from_pydict({"x": [0.0] * 100_000})
    >>> with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
    ...     writer.write_batch(batch)
    >>> data = bytes(sink.getvalue())
    >>> len(data) < 1000, unpacked_bytes(data)
    (True, 800000)

    """
    try:
        return sum(size for metadata, start in messages(stream) for size in sizes_in(metadata, stream, start))
    except (struct.error, IndexError) as error:
        raise ValueError(f"a message must lie within the stream, got one that does not: {error}") from error


def messages(stream: bytes) -> Iterator[tuple[bytes, int]]:
    """Yield the metadata of each message and the place where its body begins."""
    place = 0
    while place + 4 <= len(stream):
        if stream[place : place + 4] == CONTINUATION:
            place += 4
        (length,) = struct.unpack_from("<i", stream, place)
        if length == 0:
            return
        if length < 8 or place + 4 + length > len(stream):
            raise ValueError(f"metadata must lie within the stream, got {length} bytes at {place}")
        metadata, body = stream[place + 4 : place + 4 + length], place + 4 + length
        yield metadata, body
        size = field_at(metadata, root_of(metadata), BODY_LENGTH)
        length = 0 if size is None else struct.unpack_from("<q", metadata, size)[0]
        if not 0 <= length <= len(stream) - body:
            raise ValueError(f"a body must lie within the stream, got {length} bytes at {body}")
        place = body + length


def sizes_in(metadata: bytes, stream: bytes, body: int) -> Iterator[int]:
    """Yield what each compressed buffer of a message says that it becomes."""
    message = root_of(metadata)
    kind, header = field_at(metadata, message, HEADER_TYPE), field_at(metadata, message, HEADER)
    if kind is None or header is None or metadata[kind] not in (DICTIONARY_BATCH, RECORD_BATCH):
        return
    batch = follow(metadata, header)
    if metadata[kind] == DICTIONARY_BATCH:
        data = field_at(metadata, batch, DATA)
        if data is None:
            return
        batch = follow(metadata, data)
    buffers = field_at(metadata, batch, BUFFERS)
    if buffers is None or field_at(metadata, batch, COMPRESSION) is None:
        return
    vector = follow(metadata, buffers)
    (count,) = struct.unpack_from("<I", metadata, vector)
    for number in range(count):
        offset, length = struct.unpack_from("<qq", metadata, vector + 4 + 16 * number)
        if length < 8:
            continue
        if offset < 0 or body + offset + 8 > len(stream):
            raise ValueError(f"a buffer must lie within the stream, got {length} bytes at {offset}")
        (size,) = struct.unpack_from("<q", stream, body + offset)
        yield max(0, size)  # -1 for one that is not compressed after all


def root_of(metadata: bytes) -> int:
    """Return the place of the first table."""
    return follow(metadata, 0)


def follow(metadata: bytes, place: int) -> int:
    """Return where the offset at a place leads."""
    found: int = place + struct.unpack_from("<I", metadata, place)[0]
    if found + 4 > len(metadata):
        raise ValueError(f"an offset must lead into the metadata, got {found} of {len(metadata)}")
    return found


def field_at(metadata: bytes, table: int, number: int) -> int | None:
    """Return the place of a table's field; None where it has none."""
    entries = table - struct.unpack_from("<i", metadata, table)[0]
    if not 0 <= entries <= len(metadata) - 4:
        raise ValueError(f"a table must lie within the metadata, got {entries} of {len(metadata)}")
    (size,) = struct.unpack_from("<H", metadata, entries)
    if 4 + 2 * number + 2 > size:
        return None
    (offset,) = struct.unpack_from("<H", metadata, entries + 4 + 2 * number)
    return table + offset if offset else None
