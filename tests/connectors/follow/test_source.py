from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pyarrow as pa
import pytest

from followed_files import append, drain, follow, lines, numbers, reopen
from stream_maxloss.errors import DecodeError, GapError, SourceError
from stream_maxloss_connectors.bad_records import BadRecords
from stream_maxloss_connectors.contract import check_source
from stream_maxloss_connectors.follow.source import FollowedSource
from stream_maxloss_connectors.open import open_source


def test_missing_file_is_waited_for(tmp_path):
    path = tmp_path / "live.jsonl"
    source = follow(path)
    assert numbers(source) == []
    assert not source.exhausted
    writer = threading.Timer(0.05, lambda: append(path, lines(1)))
    writer.start()
    assert source.next_batch(10, 30.0).records.to_pylist() == [{"n": 1.0}]
    writer.join()


@pytest.mark.parametrize("cut", range(1, 20))
def test_torn_last_line_is_never_parsed(tmp_path, cut):
    path = tmp_path / "live.csv"
    text = b"n,x\n1,3.14159\n2,2.718\n"
    path.write_bytes(text[: 4 + cut] if cut < 18 else text[:-1])
    source = follow(path)
    first = drain(source)
    append(path, text[path.stat().st_size :])
    assert first + drain(source) == [{"n": 1.0, "x": 3.14159}, {"n": 2.0, "x": 2.718}]


def test_every_cut_of_a_file_with_bom_crlf_and_quoted_line_ends_gives_the_same_rows(tmp_path):
    text = b'\xef\xbb\xbfn,s\r\n1,"a\r\nb"\r\n\r\n2,"say ""x"""\r\n3,c\r\n'
    expected = [{"n": 1.0, "s": "a\r\nb"}, {"n": 2.0, "s": 'say "x"'}, {"n": 3.0, "s": "c"}]
    for cut in range(len(text) + 1):
        path = tmp_path / f"{cut}.csv"
        path.write_bytes(text[:cut])
        source = follow(path)
        first = drain(source)
        append(path, text[cut:])
        source = reopen(source, path)
        assert first + drain(source) == expected, cut
        source.close()


@pytest.mark.parametrize("length", [5_000, 3_000_000])
def test_line_that_is_too_long_is_bad_wherever_the_file_was_torn(tmp_path, length):
    path = tmp_path / "live.jsonl"
    long = b'{"n": 2, "s": "' + b"x" * length + b'"}\n'
    bad = BadRecords("skip")
    path.write_bytes(lines(1) + long[: length // 2])
    source = follow(path, bad_records=bad, max_record_bytes=4096, schema=pa.schema([("n", pa.float64())]))
    assert numbers(source) == [1]
    append(path, long[length // 2 :] + lines(3))
    source = reopen(source, path, bad_records=bad, max_record_bytes=4096, schema=pa.schema([("n", pa.float64())]))
    assert numbers(source) == [3]
    assert bad.count == 1


def test_nul_bytes_are_one_bad_record_with_its_address(tmp_path):
    path = tmp_path / "live.jsonl"
    path.write_bytes(lines(1) + b"\0\0\0\n" + lines(2))
    source = follow(path)
    assert source.next_batch(10, 0.0).num_rows == 1
    with pytest.raises(DecodeError, match=r"live.jsonl:2: "):
        source.next_batch(10, 0.0)
    skipping = follow(path, bad_records=BadRecords("skip"))
    assert numbers(skipping) == [1, 2]


def test_schema_of_the_first_batch_stays_after_a_restart_and_in_the_next_file(tmp_path):
    path = tmp_path / "live.csv"
    path.write_bytes(b"n,s\n1,\n")
    source = follow(path)
    first = source.next_batch(10, 0.0).records.schema
    append(path, b"2,7\n")
    source = reopen(source, path)
    assert source.next_batch(10, 0.0).records.schema == first
    path.rename(tmp_path / "live.csv.1")
    path.write_bytes(b"s,n\n8,3\n")
    batch = source.next_batch(10, 0.0)
    assert batch.records.schema == first
    assert batch.records.to_pylist() == [{"n": 3.0, "s": 8.0}]


def test_address_names_the_line_also_after_a_restart(tmp_path):
    path = tmp_path / "live.csv"
    path.write_bytes(b"n\n1\n\n2\n")
    source = follow(path)
    assert source.next_batch(1, 0.0).address(0) == f"{path}:2"
    source = reopen(source, path)
    assert source.next_batch(1, 0.0).address(0) == f"{path}:4"


def test_until_eof_ends_at_what_is_there_and_leaves_the_torn_line(tmp_path):
    path = tmp_path / "live.jsonl"
    path.write_bytes(lines(1, 2) + b'{"n": 3')
    source = follow(path, until_eof=True)
    assert numbers(source) == [1, 2]
    assert source.exhausted
    append(path, b"}\n")
    assert numbers(reopen(source, path)) == [3]


def test_lag_counts_unread_bytes(tmp_path):
    path = tmp_path / "live.jsonl"
    path.write_bytes(lines(1, 2))
    source = follow(path)
    source.next_batch(1, 0.0)
    assert source.lag() == len(lines(2))
    assert source.lag_unit == "bytes"


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "svm", "arrows", "parquet"])
@pytest.mark.parametrize("until_eof", [True, False])
def test_followed_source_keeps_the_contract(tmp_path, ending, until_eof):
    from stream_maxloss_connectors.open import open_sink

    path = tmp_path / f"live.{ending}"
    rows = [{"n": i / 2, "s": f"text {i}"} for i in range(7)]
    if ending == "svm":
        path.write_text("".join(f"{i} 1:{i / 2}\n" for i in range(7)))
        rows = [{"target": float(i), "features": [(1, i / 2)]} for i in range(7)]
    else:
        with open_sink(path) as sink:
            sink.open()
            for start in (0, 4):
                sink.write(pa.RecordBatch.from_pylist(rows[start : start + 4][: 7 - start]))
                sink.flush()
    check_source(
        lambda: FollowedSource(path, until_eof=until_eof, rotate_wait=0.0), rows, bounded=until_eof, timeout=0.0
    )


def test_open_source_follows(tmp_path):
    path = tmp_path / "live.csv"
    path.write_text("n\n1\n")
    source = open_source(path, follow=True)
    assert isinstance(source, FollowedSource)
    source.open()
    assert numbers(source) == [1]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"paths": []}, ValueError, "paths must name a file, got none"),
        ({"paths": "x.csv", "on_gap": "ignore"}, ValueError, "on_gap must be 'fail' or 'continue', got 'ignore'"),
        ({"paths": "x.csv", "rotate_wait": -1}, ValueError, "rotate_wait must not be negative, got -1"),
        ({"paths": "x.csv", "format": "xlsx"}, ValueError, "format must be 'auto' or one of .* got 'xlsx'"),
        ({"paths": "x.log"}, SourceError, "x.log: name must end in .csv"),
        ({"paths": "x.csv.gz"}, SourceError, "x.csv.gz: a followed file must not be compressed, got gzip"),
        ({"paths": "x.parquet", "delimiter": ";"}, ValueError, "options must be those of a text format"),
    ],
)
def test_wrong_arguments_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        FollowedSource(**arguments)


def test_position_of_a_file_that_is_not_followed_is_refused(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(lines(1))
    position = follow(tmp_path / "a.jsonl").position()
    with pytest.raises(GapError, match=r"a.jsonl: file must be among those to follow"):
        FollowedSource(tmp_path / "b.jsonl").open(position)


def test_directory_in_place_of_a_file_is_one_clear_line(tmp_path):
    path = tmp_path / "live.jsonl"
    source = follow(path)
    path.mkdir()
    with pytest.raises(SourceError, match=r"live.jsonl: a followed path must be a file, got a directory"):
        source.next_batch(1, 0.0)


READER = """
import json, os, sys
from stream_maxloss_connectors.follow.source import FollowedSource

path, checkpoint, last = sys.argv[1], sys.argv[2], int(sys.argv[3])
saved = json.load(open(checkpoint)) if os.path.exists(checkpoint) else {"position": None, "seen": []}
source = FollowedSource(path, rotate_wait=0.05)
source.open(saved["position"])
seen = saved["seen"]
while not seen or seen[-1] < last:
    batch = source.next_batch(7, 0.1)
    if batch is not None:
        seen += [int(n) for n in batch.records.column("n").to_pylist()]
        with open(checkpoint + ".new", "w") as file:
            json.dump({"position": source.position(), "seen": seen}, file)
        os.rename(checkpoint + ".new", checkpoint)
"""


def test_reader_killed_again_and_again_while_the_file_rotates_sees_every_row_once(tmp_path):
    path, checkpoint, last = tmp_path / "live.jsonl", tmp_path / "state.json", 600
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", READER, str(path), str(checkpoint), str(last)]
    # Generations from before its first start are none of its business, so it starts first.
    path.write_bytes(lines(1, 2, 3))
    subprocess.run([*command[:-1], "3"], env=environment, timeout=60, check=True)
    written = 3

    def write_some():
        nonlocal written
        for _ in range(60):
            if written == last:
                return
            written += 1
            line = lines(written)
            append(path, line[:4])
            append(path, line[4:])
            if written % 35 == 0:
                path.rename(tmp_path / f"live.jsonl.{1000 + written}")

    for _ in range(6):
        process = subprocess.Popen(command, env=environment)
        try:
            write_some()
            before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
            deadline = time.monotonic() + 60
            while process.poll() is None and time.monotonic() < deadline:
                if checkpoint.exists() and checkpoint.stat().st_mtime_ns != before:
                    break
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
        finally:
            process.kill()
            process.wait()
    while written < last:
        write_some()
    assert subprocess.run(command, env=environment, timeout=120, check=False).returncode == 0
    assert json.loads(checkpoint.read_text())["seen"] == list(range(1, last + 1))


def test_partitions_share_the_schema_that_came_first(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'{"n": 1, "s": "x"}\n')
    (tmp_path / "b.jsonl").write_bytes(b'{"s": "y", "n": 2}\n')
    source = follow([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])
    batches = [source.next_batch(10, 0.0) for _ in range(2)]
    assert batches[0].records.schema == batches[1].records.schema
    assert {batch.partition for batch in batches} == {str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")}


def test_busy_path_does_not_hide_another(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(lines(*range(100)))
    (tmp_path / "b.jsonl").write_bytes(lines(1000))
    source = follow([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])
    assert {source.next_batch(1, 0.0).partition for _ in range(2)} == set(source.partitions())


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_columns_are_selected_and_a_missing_one_is_named(tmp_path, ending):
    path = tmp_path / f"live.{ending}"
    path.write_bytes(b"a,b,c\n1,2,3\n" if ending == "csv" else b'{"a": 1, "b": 2, "c": 3}\n')
    assert drain(follow(path, columns=["c", "a"])) == [{"c": 3.0, "a": 1.0}]
    with pytest.raises(SourceError, match=r"column must be one of the source's, got 'd'"):
        drain(follow(path, columns=["d"]))
