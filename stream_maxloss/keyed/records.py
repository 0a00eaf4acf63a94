"""The state of one model as bytes, without pickle: a checksum, names and numbers as JSON, arrays as they lie.

    record = [crc32 | form | length of the rest | payload]
    payload = [length of the JSON | JSON | array | array | ...]

Large payloads are compressed: a model that has seen few rows is mostly zeros.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
import pyarrow as pa

from stream_maxloss.checkpoint.content import ARRAY_DTYPES, State, join_state, split_state
from stream_maxloss.checkpoint.values import decode, encode
from stream_maxloss.errors import CheckpointError

__all__ = ["decode_record", "encode_record"]

PLAIN, COMPRESSED = 0, 1
_HEAD = struct.Struct("<IBQ")
_LENGTH = struct.Struct("<I")
# Bytes from which on compressing is worth its time.
LARGE = 16 << 10
# More than any model has: a damaged length must not fill the memory.
MOST_BYTES = 4 << 30


def encode_record(state: State) -> bytes:
    """Return a flat state of arrays and JSON as bytes.

    Examples
    --------
    >>> import numpy as np
    >>> from stream_maxloss.keyed.records import decode_record, encode_record
    >>> decode_record(encode_record({"weights": np.array([0.5, -1.0]), "rounds": 7}))
    {'weights': array([ 0.5, -1. ]), 'rounds': 7}

    """
    arrays, values = split_state(state)
    kept = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    forms = [[name, array.dtype.name, list(array.shape)] for name, array in kept.items()]
    text = encode([forms, values]).encode("ascii")
    payload = b"".join([_LENGTH.pack(len(text)), text, *(array.tobytes() for array in kept.values())])
    form, body = PLAIN, payload
    if len(payload) >= LARGE:
        form, body = COMPRESSED, pa.compress(payload, codec="zstd", asbytes=True)
    head = _HEAD.pack(0, form, len(payload))[4:]
    return struct.pack("<I", zlib.crc32(body, zlib.crc32(head))) + head + body


def decode_record(record: bytes) -> State:
    """Return the state that was encoded.

    Raises
    ------
    CheckpointError
        If the bytes are not those that were written.

    """
    try:
        checksum, form, length = _HEAD.unpack_from(record)
        if zlib.crc32(record[4:]) != checksum or length > MOST_BYTES:
            raise ValueError("its checksum differs")
        body: Any = memoryview(record)[_HEAD.size :]
        if form == COMPRESSED:
            body = memoryview(pa.decompress(body, decompressed_size=length, codec="zstd", asbytes=True))
        return _decode_payload(body)
    except (ValueError, TypeError, KeyError, struct.error, OSError) as error:
        raise CheckpointError(
            f"the state of a model must be read as it was written, got damaged bytes ({error}); use another checkpoint"
        ) from error


def _decode_payload(payload: memoryview) -> State:
    (length,) = _LENGTH.unpack_from(payload)
    end = _LENGTH.size + length
    forms, values = decode(bytes(payload[_LENGTH.size : end]))
    arrays: dict[str, np.ndarray] = {}
    for name, kind, shape in forms:
        if kind not in ARRAY_DTYPES:
            raise ValueError(f"an array cannot be of {kind!r:.40}")
        count = int(np.prod(shape, dtype=np.int64))
        first, end = end, end + count * np.dtype(kind).itemsize
        arrays[name] = np.frombuffer(payload[first:end], dtype=kind).reshape(shape).copy()
    return join_state(arrays, values)
