from __future__ import annotations

import datetime as dt
import json
import os
import resource
import subprocess
import sys
import time
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.contract import check_sink
from stream_maxloss_connectors.files.parquet_sink import ParquetSink
from stream_maxloss_connectors.files.sinks import CsvSink, IpcStreamSink, JsonlSink
from stream_maxloss_connectors.open import open_sink

ROWS = [{"row": i, "p": i / 8, "label": None if i % 3 == 0 else f'a,"{i}"\nb'} for i in range(8)]
BATCHES = [pa.RecordBatch.from_pylist(ROWS[i : i + 2]) for i in range(0, 8, 2)]
ENDINGS = ["jsonl", "csv", "tsv", "arrows", "parquet"]


def content(path):
    if path.is_dir():
        return {file.name: file.read_bytes() for file in sorted(path.iterdir())}
    return path.read_bytes()


@pytest.mark.parametrize("ending", ENDINGS)
def test_killed_and_resumed_file_is_the_same_byte_for_byte(ending, tmp_path):
    place = lambda name: tmp_path / f"{name}.{ending}"  # noqa: E731
    check_sink(lambda name: open_sink(place(name)), lambda name: content(place(name)), BATCHES)


@given(writes=st.lists(st.integers(0, 3), min_size=1, max_size=6), cut=st.integers(0, 5), junk=st.binary(max_size=40))
@settings(deadline=None, max_examples=30)
def test_torn_bytes_behind_the_position_are_cut_off(writes, cut, junk, tmp_path_factory):
    folder = tmp_path_factory.mktemp("torn")
    batches = [BATCHES[i] for i in writes]
    cut = min(cut, len(batches))
    for ending in ("jsonl", "csv", "arrows"):
        straight, torn = open_sink(folder / f"straight.{ending}"), open_sink(folder / f"torn.{ending}")
        straight.open()
        for records in batches:
            straight.write(records)
        straight.close()
        torn.open()
        for records in batches[:cut]:
            torn.write(records)
        position = torn.flush()
        with (folder / f"torn.{ending}").open("ab") as file:
            file.write(junk)
        resumed = open_sink(folder / f"torn.{ending}")
        resumed.open(position)
        for records in batches[cut:]:
            resumed.write(records)
        resumed.close()
        assert content(folder / f"torn.{ending}") == content(folder / f"straight.{ending}")


WRITER = """
import itertools, json, os, sys
import pyarrow as pa
from stream_maxloss_connectors.open import open_sink

target, checkpoint, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
saved = json.load(open(checkpoint)) if os.path.exists(checkpoint) else {"row": 0, "sink": None}
sink = open_sink(target)
sink.open(saved["sink"])
for row in range(saved["row"], last):
    sink.write(pa.RecordBatch.from_pylist([{"row": row, "p": row / 7, "s": "x" * (row % 50)}]))
    if row % 10 == 9:
        position = sink.flush()
        with open(checkpoint + ".new", "w") as file:
            json.dump({"row": row + 1, "sink": position}, file)
        os.rename(checkpoint + ".new", checkpoint)
sink.close()
"""


@pytest.mark.parametrize("ending", ["jsonl", "csv", "arrows", "parquet"])
def test_writer_killed_with_sigkill_leaves_the_same_bytes(ending, tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    def run(name, last, kill_at=None):
        target, checkpoint = tmp_path / f"{name}.{ending}", tmp_path / f"{name}.json"
        process = subprocess.Popen([sys.executable, "-c", WRITER, target, checkpoint, str(last)], env=environment)
        try:
            deadline = time.monotonic() + 60
            while kill_at is not None and process.poll() is None and time.monotonic() < deadline:
                if checkpoint.exists() and json.loads(checkpoint.read_text())["row"] >= kill_at:
                    process.kill()
                time.sleep(0.005)
            assert process.wait(timeout=60) == (0 if kill_at is None else -9)
        finally:
            process.kill()
            process.wait()
        return target

    straight = content(run("straight", 200))
    for kill_at in (50, 120):
        # Far more rows than needed, so that the kill falls in the middle of the writing.
        run("killed", 1_000_000, kill_at)
    saved = json.loads((tmp_path / "killed.json").read_text())["row"]
    last = max(200, (saved // 10 + 1) * 10)
    assert content(run("killed", last)) == (straight if last == 200 else content(run("longer", last)))


def test_jsonl_writes_what_json_can_say(tmp_path):
    records = pa.RecordBatch.from_arrays(
        [
            pa.array([float("nan")]),
            pa.array([dt.datetime(2026, 1, 2, 3, 4, 5)]),
            pa.array([b"\x00\xff"]),
            pa.array([Decimal("1.50")]),
            pa.array([[("7", 0.5)]], pa.map_(pa.string(), pa.float64())),
            pa.array([dt.timedelta(seconds=1.5)]),
        ],
        names=["nan", "when", "bytes", "price", "features", "wait"],
    )
    with JsonlSink(tmp_path / "p.jsonl") as sink:
        sink.open()
        sink.write(records)
    assert json.loads((tmp_path / "p.jsonl").read_bytes()) == {
        "nan": None,
        "when": "2026-01-02T03:04:05",
        "bytes": "AP8=",
        "price": "1.50",
        "features": {"7": 0.5},
        "wait": 1.5,
    }


def test_csv_header_is_written_once_over_two_runs(tmp_path):
    first = CsvSink(tmp_path / "p.csv")
    first.open()
    first.write(BATCHES[0].select(["row", "p"]))
    position = first.flush()
    second = CsvSink(tmp_path / "p.csv")
    second.open(position)
    second.write(BATCHES[1].select(["row", "p"]))
    second.close()
    assert (tmp_path / "p.csv").read_text() == '"row","p"\n0,0\n1,0.125\n2,0.25\n3,0.375\n'


def test_csv_refuses_lists_and_leaves_the_file_as_it_was(tmp_path):
    sink = CsvSink(tmp_path / "p.csv")
    sink.open()
    with pytest.raises(ValueError, match="columns must be of types that CSV can hold"):
        sink.write(pa.RecordBatch.from_pylist([{"a": [1]}]))
    assert sink.flush()["length"] == 0


def test_ipc_stream_unfolds_dictionaries(tmp_path):
    path = tmp_path / "p.arrows"
    with IpcStreamSink(path) as sink:
        sink.open()
        for values in (["x", "y"], ["y", "z"]):
            sink.write(pa.record_batch({"c": pa.array(values).dictionary_encode()}))
    assert pa.ipc.open_stream(path.read_bytes()).read_all().column("c").to_pylist() == ["x", "y", "y", "z"]


def test_ipc_stream_without_end_mark_can_be_read_while_it_grows(tmp_path):
    path = tmp_path / "p.arrows"
    sink = IpcStreamSink(path)
    sink.open()
    sink.write(BATCHES[0])
    sink.flush()
    assert pa.ipc.open_stream(path.read_bytes()).read_all().to_pylist() == ROWS[:2]


def test_parquet_parts_hold_one_flush_each(tmp_path):
    path = tmp_path / "p.parquet"
    with ParquetSink(path) as sink:
        sink.open()
        sink.write(BATCHES[0])
        sink.write(BATCHES[1])
        assert sink.flush()["parts"] == 1
        assert sink.flush()["parts"] == 1
        sink.write(BATCHES[2])
    assert [pq.read_table(file).num_rows for file in sorted(path.iterdir())] == [4, 2]
    assert pq.read_table(path).to_pylist() == ROWS[:6]


def test_opening_anew_leaves_foreign_files_alone(tmp_path):
    path = tmp_path / "p.parquet"
    path.mkdir()
    (path / "notes.txt").write_text("mine")
    (path / "part-x.parquet").write_text("mine")
    with ParquetSink(path) as sink:
        sink.open()
        sink.write(BATCHES[0])
    with ParquetSink(path) as sink:
        sink.open()
    assert sorted(file.name for file in path.iterdir()) == ["notes.txt", "part-x.parquet"]


def test_missing_part_of_the_checkpoint_is_named(tmp_path):
    path = tmp_path / "p.parquet"
    sink = ParquetSink(path)
    sink.open()
    sink.write(BATCHES[0])
    position = sink.flush()
    (path / "part-000001.parquet").unlink()
    with pytest.raises(SourceError, match=r"part-000001.parquet: a part of the checkpoint must be there"):
        ParquetSink(path).open(position)


@pytest.mark.parametrize("ending", ["jsonl", "csv", "arrows"])
def test_file_shorter_than_the_checkpoint_is_refused_and_not_changed(ending, tmp_path):
    path = tmp_path / f"p.{ending}"
    sink = open_sink(path)
    sink.open()
    sink.write(BATCHES[0])
    position = sink.flush()
    os.truncate(path, 5)
    with pytest.raises(
        SourceError, match=rf"must hold at least the {position['length']} bytes of the checkpoint, got 5"
    ):
        open_sink(path).open(position)
    assert path.stat().st_size == 5


@pytest.mark.parametrize("ending", ENDINGS)
def test_rows_of_another_schema_are_refused_also_after_resuming(ending, tmp_path):
    sink = open_sink(tmp_path / f"p.{ending}")
    sink.open()
    sink.write(BATCHES[0])
    position = sink.flush()
    resumed = open_sink(tmp_path / f"p.{ending}")
    resumed.open(position)
    with pytest.raises(ValueError, match="records must have the schema of the first ones"):
        resumed.write(pa.RecordBatch.from_pylist([{"other": 1}]))


@pytest.mark.parametrize("ending", ENDINGS)
def test_sink_in_a_missing_directory_says_so(ending, tmp_path):
    with pytest.raises(SourceError, match=rf"p\.{ending}: cannot be opened for writing: No such file"):
        open_sink(tmp_path / "missing" / f"p.{ending}").open()


@pytest.mark.parametrize("ending", ENDINGS)
def test_writing_to_a_closed_sink_is_an_error(ending, tmp_path):
    sink = open_sink(tmp_path / f"p.{ending}")
    sink.open()
    sink.close()
    sink.close()
    with pytest.raises(SourceError, match="the sink must be open to be written"):
        sink.write(BATCHES[0])


@pytest.mark.parametrize("ending", ["jsonl", "csv", "arrows"])
def test_failed_write_leaves_no_half_batch_and_can_be_tried_again(ending, tmp_path):
    path, straight = tmp_path / f"p.{ending}", tmp_path / f"straight.{ending}"
    with open_sink(straight) as sink:
        sink.open()
        sink.write(BATCHES[0])
        sink.write(BATCHES[1])
    sink = open_sink(path)
    sink.open()
    sink.write(BATCHES[0])
    length = sink.flush()["length"]
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Python ignores SIGXFSZ, so a file at its limit is an OSError, as a full disk is.
    resource.setrlimit(resource.RLIMIT_FSIZE, (length + 3, limits[1]))
    try:
        with pytest.raises(SourceError, match=f"{path}: cannot be written: File too large"):
            sink.write(BATCHES[1])
        assert path.stat().st_size == length
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    sink.write(BATCHES[1])
    sink.close()
    assert content(path) == content(straight)


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("p.feather", "p.feather: a sink must be a format that can be appended to, got 'feather'; use .arrows"),
        ("p.xlsx", r"p.xlsx: the format must be one of \['arrows', 'csv', .*\], got 'xlsx'"),
        ("p", "p: the format must be one of .* got ''; pass format="),
        ("s3://bucket/p.csv", "scheme must be file:// or kafka://, got 's3'"),
    ],
)
def test_unknown_sinks_are_refused(uri, message):
    with pytest.raises(ValueError, match=message):
        open_sink(uri)


def test_format_can_be_given_where_the_ending_says_nothing(tmp_path):
    assert isinstance(open_sink(tmp_path / "out", format="ndjson"), JsonlSink)
    assert isinstance(open_sink(f"file://{tmp_path}/out.CSV"), CsvSink)
