from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa
import pytest
import safetensors.numpy

from stream_maxloss.checkpoint import Content
from stream_maxloss.checkpoint.damage import RefusedError
from stream_maxloss.checkpoint.encoding import ARRAYS_FILE, decode_files, encode_files, is_known_file


def round_trip(content: Content) -> Content:
    return decode_files({name: b"".join(data) for name, data in encode_files(content)})


@pytest.mark.parametrize(
    "array",
    [
        np.arange(10, dtype=np.int32)[::2],
        np.arange(12.0).reshape(3, 4).T,
        np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        np.arange(5.0)[::-1],
        np.arange(5, dtype=">f8"),
        np.array(3.5),
    ],
    ids=["strided", "transposed", "fortran", "reversed", "big-endian", "scalar"],
)
def test_the_view_is_stored_and_not_the_memory_under_it(array: np.ndarray) -> None:
    back = round_trip(Content(arrays={"a": array})).arrays["a"]
    assert back.shape == array.shape
    np.testing.assert_array_equal(back, array)
    assert back.dtype.isnative


def test_the_arrays_file_is_what_the_safetensors_library_itself_would_read() -> None:
    arrays = {"ü/b": np.array([True, False, True]), "a": np.arange(6.0).reshape(2, 3), "e": np.zeros((0, 2), np.int32)}
    data = b"".join(dict(encode_files(Content(arrays=arrays)))[ARRAYS_FILE])
    back = safetensors.numpy.load(data)
    assert back.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(back[name], array, strict=True)
    assert len(safetensors.numpy.save(arrays)) == len(data)


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"x": [1.5, None], "s": ["a", None]}),
        pa.table({"c": pa.array(["u", "v", "u"]).dictionary_encode()}),
        pa.table({"x": pa.array([], pa.float64())}),
        pa.concat_tables([pa.table({"x": [1]}), pa.table({"x": [2]})]),
        pa.table({"l": [[1, 2], None, []], "d": pa.array([{"k": 1}, None, {"k": None}])}),
        pa.table({"x": [1, 2, 3, 4]}).slice(1, 2),
        pa.table({}),
    ],
    ids=["nulls", "dictionary", "empty", "chunks", "nested", "slice", "no-columns"],
)
def test_tables_come_back_with_their_schema(table: pa.Table) -> None:
    back = round_trip(Content(tables={"t": table})).tables["t"]
    assert back.schema.equals(table.schema, check_metadata=True)
    assert back.equals(table)


def test_empty_content_makes_two_files() -> None:
    assert [name for name, _ in encode_files(Content())] == ["arrays.safetensors", "extra.json"]
    assert round_trip(Content()).arrays == {}


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "a.b", "x" * 101, "ä"])
def test_names_of_tables_and_blobs_must_be_plain(name: str) -> None:
    with pytest.raises(ValueError, match="letters, digits"):
        dict(encode_files(Content(tables={name: pa.table({})})))
    with pytest.raises(ValueError, match="letters, digits"):
        dict(encode_files(Content(blobs={name: b""})))
    assert not is_known_file(f"{name}.arrow")
    assert not is_known_file(f"{name}.pkl")


def test_the_reserved_name_of_an_array_is_refused() -> None:
    with pytest.raises(ValueError, match="not '__metadata__'"):
        dict(encode_files(Content(arrays={"__metadata__": np.ones(1)})))


def compressed(codec: str, table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def arrays_with(header: bytes, data: bytes = b"") -> bytes:
    return struct.pack("<Q", len(header)) + header + data


HOSTILE = {
    "no-arrays": ({ARRAYS_FILE: None}, "must hold arrays.safetensors"),
    "arrays-empty": ({ARRAYS_FILE: b""}, "unpack"),
    "arrays-header-longer-than-file": (
        {ARRAYS_FILE: struct.pack("<Q", 1 << 62) + b"{}"},
        "at most 2 bytes, got 46116860",
    ),
    "arrays-header-over-the-limit": (
        {ARRAYS_FILE: struct.pack("<Q", (64 << 20) + 1) + b" " * ((64 << 20) + 1)},
        "at most 67108864 bytes",
    ),
    "arrays-header-no-json": ({ARRAYS_FILE: arrays_with(b"}{")}, "Expecting"),
    "arrays-header-twice": (
        {ARRAYS_FILE: arrays_with(b'{"a":{"dtype":"F64","shape":[0],"data_offsets":[0,0]},"a":{}}')},
        "'a' twice",
    ),
    "arrays-absurd-shape": (
        {
            ARRAYS_FILE: arrays_with(
                b'{"a":{"dtype":"F64","shape":[4611686018427387904],"data_offsets":[0,8]}}', b"12345678"
            )
        },
        "must be readable",
    ),
    "arrays-offsets-outside": (
        {ARRAYS_FILE: arrays_with(b'{"a":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}}', b"12345678")},
        "must be readable",
    ),
    "arrays-other-type": (
        {ARRAYS_FILE: arrays_with(b'{"a":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}}', b"12")},
        "got 'F16'",
    ),
    "arrays-bool-of-two": (
        {ARRAYS_FILE: arrays_with(b'{"a":{"dtype":"BOOL","shape":[1],"data_offsets":[0,1]}}', b"\x02")},
        "booleans of 0 and 1",
    ),
    "values-no-object": ({"extra.json": b"[1]"}, "must be an object, got list"),
    "values-deep": ({"extra.json": b"[" * 100_000}, "less deeply"),
    "table-not-arrow": ({"t.arrow": b"PAR1"}, "must be an Arrow IPC file"),
    "table-only-magic": ({"t.arrow": b"ARROW1\0\0ARROW1"}, "must be readable"),
    "table-zstd": ({"t.arrow": compressed("zstd", pa.table({"x": [0.0] * 1000}))}, "must not be compressed"),
    "table-lz4": ({"t.arrow": compressed("lz4", pa.table({"x": [0.0] * 1000}))}, "must not be compressed"),
    "table-dictionary-zstd": (
        {"t.arrow": compressed("zstd", pa.table({"c": pa.array(["long" * 100]).dictionary_encode()}))},
        "must not be compressed",
    ),
}


@pytest.mark.parametrize(("files", "message"), HOSTILE.values(), ids=HOSTILE.keys())
def test_bytes_that_claim_more_than_they_hold_are_refused(files: dict[str, bytes | None], message: str) -> None:
    valid = {name: b"".join(data) for name, data in encode_files(Content(arrays={"w": np.ones(3)}))}
    merged = {name: data for name, data in {**valid, **files}.items() if data is not None}
    with pytest.raises(RefusedError, match=message):
        decode_files(merged)


def test_a_table_with_offsets_that_lead_outside_is_refused() -> None:
    good = b"".join(dict(encode_files(Content(tables={"t": pa.table({"s": ["aaaa", "bbbb"]})})))["t.arrow"])
    offsets = struct.pack("<3i", 0, 4, 8)
    assert good.count(offsets) == 1
    bad = good.replace(offsets, struct.pack("<3i", 0, 1 << 30, 8))
    with pytest.raises(RefusedError, match=r"t\.arrow must be readable"):
        decode_files({**{name: b"".join(data) for name, data in encode_files(Content())}, "t.arrow": bad})
