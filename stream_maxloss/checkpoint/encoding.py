"""Between the content of a checkpoint and the bytes of its files.

    arrays.safetensors   all arrays
    NAME.arrow           one table each, Arrow IPC file format, not compressed
    extra.json           all values
    NAME.pkl             one pickle each, with permission
    NAME.models          records of many models each (`stream_maxloss.keyed`), linked and not read

Both binary formats trust their bytes: a flipped bit loads without a word. The digests of the manifest are for that;
what is checked here is that bytes with the right digest do not claim more than they hold.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_maxloss.checkpoint import values as json_values
from stream_maxloss.checkpoint.content import ARRAY_DTYPES, Content
from stream_maxloss.checkpoint.damage import RefusedError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ARRAYS_FILE", "VALUES_FILE", "decode_files", "encode_files", "is_known_file", "is_linked_file"]

ARRAYS_FILE = "arrays.safetensors"
VALUES_FILE = "extra.json"
_STEM = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_MAGIC = b"ARROW1\x00\x00"
_SAFETENSORS_DTYPES = dict(zip(ARRAY_DTYPES, ("F64", "F32", "I64", "I32", "U64", "U8", "BOOL"), strict=True))
Parts = list[bytes | memoryview]


def is_known_file(name: str) -> bool:
    """Return whether a checkpoint may hold a file of this name: no separator, no dots but the one of the suffix."""
    stem, dot, suffix = name.partition(".")
    return name in (ARRAYS_FILE, VALUES_FILE) or (
        dot == "." and suffix in ("arrow", "models", "pkl") and _STEM.fullmatch(stem) is not None
    )


def is_linked_file(name: str) -> bool:
    """Return whether a file is one that checkpoints share, and that may be larger than the memory."""
    return name.endswith(".models")


def encode_files(content: Content) -> Iterator[tuple[str, Parts]]:
    """Yield the name and the bytes, in parts, of one file after another; arrays are not copied.

    Something that cannot be stored is a TypeError or ValueError.
    """
    yield ARRAYS_FILE, _encode_arrays(content.arrays)
    for name, table in content.tables.items():
        yield f"{_checked_stem(name)}.arrow", [_encode_table(table)]
    yield VALUES_FILE, [json_values.encode(content.values, "values").encode("ascii")]
    for name, blob in content.blobs.items():
        yield f"{_checked_stem(name)}.pkl", [blob]


def decode_files(files: Mapping[str, bytes]) -> Content:
    """Return the content of the files; everything but arrays, tables, values and blobs is left empty.

    A file that is missing or not what its name says is a `RefusedError`.
    """
    content = Content()
    for name in (ARRAYS_FILE, VALUES_FILE):
        if name not in files:
            raise RefusedError(f"checkpoint must hold {name}, got {sorted(files)}")
    for name, data in files.items():
        stem, _, suffix = name.partition(".")
        try:
            if name == ARRAYS_FILE:
                content.arrays = _decode_arrays(data)
            elif name == VALUES_FILE:
                content.values = _decode_values(data)
            elif suffix == "arrow":
                content.tables[stem] = _decode_table(data)
            else:
                content.blobs[stem] = data
        except (ValueError, TypeError, OSError, struct.error, MemoryError) as error:
            raise RefusedError(f"{name} must be readable, since its digest is right: {error}") from error
    return content


def _checked_stem(name: str) -> str:
    if _STEM.fullmatch(name) is None:
        raise ValueError(f"name of a table or blob must be of letters, digits, '-' and '_', got {name!r}")
    return name


def _encode_arrays(arrays: Mapping[str, np.ndarray]) -> Parts:
    """Lay arrays out as safetensors does. Its own writer copies everything twice, most of the time of a large save."""
    header: dict[str, Any] = {}
    parts: Parts = []
    end = 0
    # The widest first, so that each begins at a multiple of its item size.
    for name, array in sorted(_ready_arrays(arrays).items(), key=lambda item: (-item[1].itemsize, item[0])):
        begin, end = end, end + array.nbytes
        dtype = _SAFETENSORS_DTYPES[array.dtype.name]
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [begin, end]}
        parts.append(array.reshape(-1).view(np.uint8).data)
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return [struct.pack("<Q", len(text)), text, *parts]


def _ready_arrays(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    ready: dict[str, np.ndarray] = {}
    for name, array in arrays.items():
        if type(name) is not str or name == "__metadata__":
            raise ValueError(f"name of an array must be a string and not '__metadata__', got {name!r}")
        if array.dtype.name not in ARRAY_DTYPES:
            raise TypeError(f"array {name!r} must be of {', '.join(ARRAY_DTYPES)}, got {array.dtype}; convert it")
        # The memory under a strided or byte-swapped view holds other numbers than the view.
        ready[name] = np.asarray(array, dtype=array.dtype.newbyteorder("="), order="C")
    return ready


def _decode_arrays(data: bytes) -> dict[str, np.ndarray]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    _check_header(data)
    try:
        arrays: dict[str, np.ndarray] = load(data)
    except SafetensorError as error:
        raise ValueError(str(error)) from error
    for name, array in arrays.items():
        # A byte other than 0 and 1 under a bool is neither True nor False to NumPy.
        if array.dtype == np.bool_ and array.size and array.view(np.uint8).max() > 1:
            raise ValueError(f"array {name!r} must hold booleans of 0 and 1")
    return {name: array if array.flags.writeable else array.copy() for name, array in sorted(arrays.items())}


def _check_header(data: bytes) -> None:
    (length,) = struct.unpack_from("<Q", data)
    limit = min(64 << 20, len(data) - 8)
    if length > limit:
        raise ValueError(f"header must hold at most {limit} bytes, got {length}")
    header = json_values.decode(data[8 : 8 + length])
    for name, entry in header.items() if isinstance(header, dict) else ():
        dtype = entry.get("dtype") if isinstance(entry, dict) else entry
        if dtype not in _SAFETENSORS_DTYPES.values():
            raise ValueError(f"array {name!r} must be of {', '.join(_SAFETENSORS_DTYPES.values())}, got {dtype!r}")


def _decode_values(data: bytes) -> dict[str, Any]:
    values = json_values.decode(data)
    if type(values) is not dict:
        raise ValueError(f"JSON must be an object, got {type(values).__name__}")
    return values


def _encode_table(table: pa.Table) -> memoryview:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return memoryview(sink.getvalue())


def _decode_table(data: bytes) -> pa.Table:
    import pyarrow as pa

    if not data.startswith(_MAGIC) or not data.endswith(b"ARROW1"):
        raise ValueError("table must be an Arrow IPC file")
    # Behind its magic an IPC file is an IPC stream. Reading that one, and not where the footer points, makes sure that
    # the messages decoded are the messages looked at.
    stream = pa.py_buffer(data)[len(_MAGIC) :]
    for message in pa.ipc.MessageReader.open_stream(stream):
        if _is_compressed(message):
            raise ValueError("table must not be compressed: a few bytes could claim any size")
    table = pa.ipc.open_stream(stream).read_all()
    table.validate(full=True)
    return table


def _is_compressed(message: pa.ipc.Message) -> bool:
    """Return whether the buffers of a record or dictionary batch are compressed (Message.fbs of the Arrow format)."""
    metadata = memoryview(message.metadata)
    batch = _flatbuffer_field(metadata, struct.unpack_from("<I", metadata)[0], 2)
    if message.type == "dictionary" and batch is not None:
        batch = _flatbuffer_field(metadata, batch, 1)
    elif message.type != "record batch":
        return False
    return batch is not None and _flatbuffer_field(metadata, batch, 3) is not None


def _flatbuffer_field(buffer: memoryview, table: int, index: int) -> int | None:
    """Return where the sub-table in field `index` of a table begins, None if the field is absent."""
    vtable = table - struct.unpack_from("<i", buffer, table)[0]
    slot = 4 + 2 * index
    if slot >= struct.unpack_from("<H", buffer, vtable)[0]:
        return None
    offset = struct.unpack_from("<H", buffer, vtable + slot)[0]
    if offset == 0:
        return None
    place: int = table + offset
    return place + int(struct.unpack_from("<I", buffer, place)[0])
