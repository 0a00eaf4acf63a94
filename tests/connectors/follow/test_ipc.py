from __future__ import annotations

import os

import pyarrow as pa
import pytest

from followed_files import append, drain, follow, numbers, reopen
from stream_maxloss.errors import SourceError
from stream_maxloss_connectors import FollowedSource


def write_ipc(path, *groups, end=False):
    with path.open("ab") as file:
        schema = pa.schema([("n", pa.int64()), ("c", pa.dictionary(pa.int8(), pa.string()))])
        if file.tell() == 0:
            file.write(schema.serialize())
        sink = pa.BufferOutputStream()
        writer = pa.ipc.new_stream(sink, schema, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=False))
        for group in groups:
            values = pa.array([f"v{n}" for n in group]).dictionary_encode().cast(schema.field("c").type)
            writer.write_batch(pa.record_batch([pa.array(group), values], schema=schema))
        file.write(sink.getvalue().to_pybytes()[len(schema.serialize()) :])
        if end:
            file.write(b"\xff\xff\xff\xff\0\0\0\0")


def test_ipc_stream_with_dictionaries_is_the_same_wherever_it_is_torn_and_resumed(tmp_path):
    whole = tmp_path / "whole.arrows"
    write_ipc(whole, [1, 2], [3], [4, 5, 6], end=True)
    data = whole.read_bytes()
    expected = [{"n": n, "c": f"v{n}"} for n in range(1, 7)]
    for cut in range(0, len(data) + 1, 16):
        path = tmp_path / f"{cut}.arrows"
        path.write_bytes(data[:cut])
        source = follow(path)
        rows = drain(source)
        append(path, data[cut:])
        source = reopen(source, path)
        one = source.next_batch(1, 0.0)
        rows += [] if one is None else one.records.to_pylist()
        source = reopen(source, path)
        assert rows + drain(source) == expected, cut
        source.close()


def test_ipc_end_mark_that_a_resumed_writer_cuts_off_is_no_truncation(tmp_path):
    path = tmp_path / "live.arrows"
    write_ipc(path, [1], end=True)
    source = follow(path)
    assert numbers(source) == [1]
    os.truncate(path, path.stat().st_size - 8)
    write_ipc(path, [2], end=True)
    assert numbers(source) == [2]
    assert source.truncations == 0


def test_ipc_file_form_cannot_be_followed_as_a_stream(tmp_path):
    path = tmp_path / "live.arrows"
    with pa.ipc.new_file(str(path), pa.schema([("n", pa.int64())])) as writer:
        writer.write_batch(pa.record_batch({"n": [1]}))
    source = follow(path)
    with pytest.raises(SourceError, match="an Arrow IPC file cannot grow; follow its directory"):
        source.next_batch(10, 0.0)


def test_new_generation_without_a_known_column_is_refused(tmp_path):
    path = tmp_path / "live.arrows"
    write_ipc(path, [1])
    source = follow(path)
    assert numbers(source) == [1]
    path.rename(tmp_path / "live.arrows.1")
    path.write_bytes(pa.schema([("other", pa.int64())]).serialize())
    with pytest.raises(SourceError, match=r"live.arrows: column must be one of the source's, got 'n'"):
        source.next_batch(1, 0.0)


def test_damaged_ipc_message_is_named_by_its_byte(tmp_path):
    path = tmp_path / "live.arrows"
    write_ipc(path, [1])
    size = path.stat().st_size
    append(path, b"garbage!")
    source = follow(path)
    assert numbers_until_error(source) == [1]
    with pytest.raises(SourceError, match=rf"live.arrows@{size}: an Arrow IPC message must start here, got b'gar"):
        source.next_batch(1, 0.0)


def numbers_until_error(source):
    batch = source.next_batch(100, 0.0)
    return [int(n) for n in batch.records.column("n").to_pylist()]


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_stream_is_an_error_and_never_rows_from_elsewhere(tmp_path, seed):
    import random

    path = tmp_path / "live.arrows"
    table = pa.table({"x": [1.0, 2.0, 3.0], "t": ["one", "two", "three"]})
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table)
    data = bytearray(path.read_bytes())
    data[random.Random(seed).randrange(len(data))] ^= 0xFF
    path.write_bytes(data)
    with FollowedSource(path, until_eof=True) as source:
        try:
            source.open()
            while (batch := source.next_batch(10, 0.0)) is not None:
                batch.records.to_pylist()
        except SourceError:
            return
