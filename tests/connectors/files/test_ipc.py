from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pytest

from stream_maxloss.errors import GapError, SourceError
from stream_maxloss_connectors.base import Position, Source
from stream_maxloss_connectors.open import open_source

TABLE = pa.table(
    {
        "n": pa.array([float(i) for i in range(100)]),
        "text": pa.array([None if i % 7 == 0 else f"t{i}" for i in range(100)]),
        "kind": pa.array([f"k{i % 3}" for i in range(100)]).dictionary_encode(),
    }
)


def encode(kind: str, table: pa.Table = TABLE, compression: str | None = None) -> bytes:
    out = io.BytesIO()
    if kind == "feather":
        pyarrow.feather.write_feather(table, out, compression or "uncompressed", chunksize=30)
        return out.getvalue()
    maker = pa.ipc.new_stream if kind == "arrows" else pa.ipc.new_file
    with maker(out, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        writer.write_table(table, max_chunksize=30)
    return out.getvalue()


def take(source: Source, rows: int, max_rows: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while len(found) < rows and not source.exhausted:
        batch = source.next_batch(min(max_rows, rows - len(found)), 1.0)
        found += [] if batch is None else batch.records.to_pylist()
    return found


def rest(path: Path, position: Position | None = None, **options: Any) -> list[dict[str, Any]]:
    with open_source(path, **options) as source:
        source.open(json.loads(json.dumps(position)))
        return take(source, 10**9, 11)


@pytest.mark.parametrize("kind", ["arrow", "arrows", "feather"])
@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
def test_a_reader_reopened_at_any_row_continues_with_the_next(
    tmp_path: Path, kind: str, compression: str | None
) -> None:
    path = tmp_path / f"day.{kind}"
    path.write_bytes(encode(kind, compression=compression))
    for cut in range(0, 101, 5):
        with open_source(path) as source:
            source.open()
            rows = take(source, cut, 8)
            position = source.position()
        entry = position[str(path)]
        assert (entry["batch"], entry["row"]) == ((cut // 30, cut % 30) if cut < 100 else (4, 0))
        assert rows + rest(path, position) == TABLE.to_pylist()


@pytest.mark.parametrize("kind", ["arrow", "arrows"])
def test_the_form_follows_from_the_contents(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "day.arrow"
    path.write_bytes(encode(kind))
    assert rest(path) == TABLE.to_pylist()


@pytest.mark.parametrize("kind", ["arrow", "arrows"])
def test_columns_are_selected_and_cast_to_the_schema(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"day.{kind}"
    path.write_bytes(encode(kind))
    assert rest(path, columns=["text", "n"]) == TABLE.select(["text", "n"]).to_pylist()
    assert rest(path, schema=pa.schema([("n", pa.int32())]))[3] == {"n": 3}
    with pytest.raises(SourceError, match=r"column must be one of the source's, got 'm'"):
        open_source(path, columns=["m"]).open()


def test_rows_of_mapped_memory_outlive_the_source(tmp_path: Path) -> None:
    path = tmp_path / "day.arrow"
    path.write_bytes(encode("arrow"))
    before = pa.total_allocated_bytes()
    with open_source(path) as source:
        source.open()
        batch = source.next_batch(30, 1.0)
    assert batch is not None
    assert batch.address(3) == f"{path}[0]@3"
    assert batch.records["n"].to_pylist() == TABLE["n"].to_pylist()[:30]
    assert pa.total_allocated_bytes() - before < 240  # nothing of the 30 float64 was copied


def test_an_empty_file_behind_another_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.arrow").write_bytes(encode("arrow"))
    (tmp_path / "b.arrow").touch()
    with open_source([str(tmp_path / "a.arrow"), str(tmp_path / "b.arrow")]) as source:
        source.open()
        with pytest.raises(SourceError, match=r"b\.arrow\[0\]: batch must be whole Arrow IPC"):
            take(source, 101, 100)


@pytest.mark.parametrize("kind", ["arrow", "arrows"])
def test_a_file_cut_at_any_byte_gives_whole_batches_or_one_line(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"day.{kind}"
    whole = encode(kind)
    refused = 0
    for cut in range(1, len(whole) - 1, 37):
        path.write_bytes(whole[:cut])
        try:
            with open_source(path) as source:
                source.open()
                rows = take(source, 1000, 1000)
        except SourceError as error:
            assert "\n" not in str(error)  # noqa: PT017 - many bytes, one of two outcomes
            refused += 1
        else:
            # A stream without its end mark is a stream; only a batch cut in two can be told from a whole one.
            assert kind == "arrows"
            assert rows == TABLE.to_pylist()[: len(rows)]
            assert len(rows) % 30 == 0 or len(rows) == 100
    assert refused > 50 if kind == "arrow" else refused > 30


@pytest.mark.parametrize("damaged", [(0, 3, 70_000_000), (0, 70_000_000, 7), (0, -5, 7)])
def test_a_damaged_offset_is_an_error_and_not_a_crash(tmp_path: Path, damaged: tuple[int, int, int]) -> None:
    table = pa.table({"text": ["abc", "defg"]})
    contents = encode("arrow", table)
    offsets = b"".join(n.to_bytes(4, "little") for n in (0, 3, 7))
    assert contents.count(offsets) == 1
    path = tmp_path / "day.arrow"
    path.write_bytes(contents.replace(offsets, b"".join(n.to_bytes(4, "little", signed=True) for n in damaged)))
    with pytest.raises(SourceError, match=r"day.arrow\[0\]: batch must be whole Arrow IPC"):
        rest(path)


OTHERS = {"text": b"n,text\n1,a\n", "Parquet": b"PAR1" + b"\0" * 99, "zeros": b"\0" * 99}


@pytest.mark.parametrize("contents", OTHERS.values(), ids=OTHERS)
def test_data_other_than_arrow_is_refused_in_one_line(tmp_path: Path, contents: bytes) -> None:
    path = tmp_path / "day.arrow"
    path.write_bytes(contents)
    with pytest.raises(SourceError, match=r"day.arrow[^\n]*\Z"):
        rest(path)


def test_the_first_version_of_feather_is_refused_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "day.feather"
    path.write_bytes(b"FEA1" + b"\0" * 99)
    with pytest.raises(SourceError, match="Feather must be of version 2, got version 1; write it again"):
        open_source(path).open()


@pytest.mark.parametrize(("kind", "grows"), [("arrow", False), ("arrows", True)])
def test_only_a_stream_may_have_grown_since_the_position(tmp_path: Path, kind: str, grows: bool) -> None:
    path = tmp_path / f"day.{kind}"
    path.write_bytes(encode(kind, TABLE.slice(0, 60)))
    with open_source(path) as source:
        source.open()
        take(source, 40, 10)
        position = source.position()
    path.write_bytes(encode(kind))
    if grows:
        assert rest(path, position) == TABLE.to_pylist()[40:]
    else:
        with pytest.raises(GapError, match="file changed under the saved position"):
            open_source(path).open(position)


PIPED = """
import json, sys
from stream_maxloss_connectors.open import open_source
source = open_source("-", format="arrow", columns=["n"])
source.open(json.loads(sys.argv[1]))
rows = []
while not source.exhausted and len(rows) < int(sys.argv[2]):
    batch = source.next_batch(7, 5.0)
    rows += [] if batch is None else batch.records.to_pylist()
print(json.dumps([rows, source.position()]))
"""


def test_a_stream_is_read_from_standard_input_and_continues_when_fed_again() -> None:
    root = Path(__file__).parents[3]
    env = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'connectors'}"}
    position, found = None, []
    for most in (42, 1000):
        command = [sys.executable, "-c", PIPED, json.dumps(position), str(most)]
        done = subprocess.run(command, input=encode("arrows"), capture_output=True, timeout=60, check=True, env=env)
        rows, position = json.loads(done.stdout)
        found += [row["n"] for row in rows]
    assert found == TABLE["n"].to_pylist()
