from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stream_maxloss.errors import DecodeError, GapError, SourceError
from stream_maxloss_connectors.arriving_files import UnfinishedFileWarning
from stream_maxloss_connectors.bad_records import BadRecords
from stream_maxloss_connectors.contract import check_source
from stream_maxloss_connectors.follow import FollowedSource
from stream_maxloss_connectors.open import open_source
from stream_maxloss_connectors.tracked_path import FileChangedWarning


def lines(*numbers):
    return b"".join(b'{"n": %d}\n' % n for n in numbers)


def append(path, data):
    with path.open("ab") as file:
        file.write(data)


def drain(source):
    rows = []
    while (batch := source.next_batch(1000, 0.0)) is not None:
        rows += batch.records.to_pylist()
    return rows


def numbers(source):
    return [int(row["n"]) for row in drain(source)]


def follow(path, **options):
    source = FollowedSource(path, **{"rotate_wait": 0.0, **options})
    source.open()
    return source


def reopen(source, path, **options):
    position = json.loads(json.dumps(source.position()))
    source.close()
    again = FollowedSource(path, **{"rotate_wait": 0.0, **options})
    again.open(position)
    return again


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


def test_renamed_file_is_drained_before_the_new_one(tmp_path):
    path = tmp_path / "live.jsonl"
    path.write_bytes(lines(1))
    source = follow(path)
    assert numbers(source) == [1]
    with path.open("ab") as writer:
        writer.write(lines(2))
        writer.flush()
        path.rename(tmp_path / "live.jsonl.1")
        path.write_bytes(lines(4))
        # The writer still has the old file open.
        writer.write(lines(3))
    assert numbers(source) == [2, 3, 4]


def test_late_writes_to_a_renamed_file_are_waited_for(tmp_path):
    path = tmp_path / "live.jsonl"
    path.write_bytes(lines(1))
    source = follow(path, rotate_wait=60.0)
    assert numbers(source) == [1]
    with path.open("ab") as writer:
        path.rename(tmp_path / "live.jsonl.1")
        path.write_bytes(lines(3))
        assert numbers(source) == []
        writer.write(lines(2))
        writer.flush()
        assert numbers(source) == [2]
    source.close()


def test_file_renamed_while_down_is_found_by_its_identity_under_any_name(tmp_path):
    path = tmp_path / "live.jsonl"
    path.write_bytes(lines(1, 2))
    source = follow(path)
    source.next_batch(1, 0.0)
    position = source.position()
    source.close()
    append(path, lines(3))
    path.rename(tmp_path / "archive")
    path.write_bytes(lines(4))
    again = FollowedSource(path, rotate_wait=0.0)
    again.open(position)
    assert numbers(again) == [2, 3, 4]


def test_file_rotated_twice_while_down_loses_no_generation(tmp_path):
    path = tmp_path / "live.jsonl"
    path.write_bytes(lines(1))
    source = follow(path)
    assert numbers(source) == [1]
    position = source.position()
    source.close()
    append(path, lines(2))
    path.rename(tmp_path / "live.jsonl.2")
    (tmp_path / "live.jsonl.1").write_bytes(lines(3))
    path.write_bytes(lines(4))
    again = FollowedSource(path, rotate_wait=0.0)
    again.open(position)
    assert numbers(again) == [2, 3, 4]


def test_older_generations_that_were_there_at_the_start_are_not_read(tmp_path):
    path = tmp_path / "live.jsonl"
    (tmp_path / "live.jsonl.1").write_bytes(lines(1))
    path.write_bytes(lines(2))
    source = follow(path)
    assert numbers(source) == [2]
    path.rename(tmp_path / "live.jsonl.2")
    path.write_bytes(lines(3))
    assert numbers(source) == [3]


def test_copied_and_truncated_file_is_read_from_its_start_with_a_warning(tmp_path):
    path = tmp_path / "live.jsonl"
    path.write_bytes(lines(1, 2))
    source = follow(path)
    assert numbers(source) == [1, 2]
    shutil.copy(path, tmp_path / "live.jsonl.1")
    os.truncate(path, 0)
    append(path, lines(3))
    with pytest.warns(FileChangedWarning, match="cut or filled anew and is read from its start"):
        assert numbers(source) == [3]
    assert (source.gaps, source.truncations) == (0, 1)


def test_csv_without_a_second_header_after_truncation_keeps_the_first(tmp_path):
    path = tmp_path / "live.csv"
    path.write_bytes(b"n,s\n1,a\n")
    source = follow(path)
    assert numbers(source) == [1]
    path.write_bytes(b"2,b\n")
    with pytest.warns(FileChangedWarning):
        assert drain(source) == [{"n": 2.0, "s": "b"}]


def test_file_filled_anew_to_the_same_length_is_noticed(tmp_path):
    path = tmp_path / "live.jsonl"
    path.write_bytes(lines(1, 2))
    source = follow(path)
    assert numbers(source) == [1, 2]
    path.write_bytes(lines(3, 4))
    os.utime(path, ns=(0, 0))
    with pytest.warns(FileChangedWarning):
        assert numbers(source) == [3, 4]


def test_unread_rows_that_are_cut_away_are_a_gap(tmp_path):
    path = tmp_path / "live.jsonl"
    path.write_bytes(lines(1) + b'{"n": ')
    source = follow(path)
    assert numbers(source) == [1]
    os.truncate(path, 0)
    with pytest.raises(GapError, match=r"live.jsonl: the file was cut with 6 bytes unread behind byte 9; pass on_gap="):
        source.next_batch(10, 0.0)


def test_file_cut_back_into_what_was_read_is_a_gap_and_not_read_twice(tmp_path):
    path = tmp_path / "live.jsonl"
    path.write_bytes(lines(1, 2, 3))
    source = follow(path)
    assert numbers(source) == [1, 2, 3]
    os.truncate(path, len(lines(1, 2)))
    with pytest.raises(GapError, match="starts as before, so rows would come twice"):
        source.next_batch(10, 0.0)


@pytest.mark.parametrize("event", ["deleted", "truncated", "replaced"])
def test_file_that_is_gone_after_a_restart_is_a_gap(tmp_path, event):
    path = tmp_path / "live.jsonl"
    path.write_bytes(lines(1, 2))
    source = follow(path)
    assert numbers(source) == [1, 2]
    position = source.position()
    source.close()
    if event == "truncated":
        os.truncate(path, 0)
    else:
        path.unlink()
    if event == "replaced":
        path.write_bytes(lines(7, 8, 9))
    again = FollowedSource(path, rotate_wait=0.0)
    with pytest.raises(GapError, match=r"live.jsonl: the file .* byte 18"):
        again.open(position)
    going_on = FollowedSource(path, on_gap="continue", rotate_wait=0.0)
    with pytest.warns(FileChangedWarning, match="going on with what is there"):
        going_on.open(position)
    assert numbers(going_on) == ([7, 8, 9] if event == "replaced" else [])
    assert going_on.gaps == 1
    assert reopen(going_on, path).gaps == 1


def test_deleted_file_is_drained_through_its_handle_and_then_waited_for(tmp_path):
    path = tmp_path / "live.jsonl"
    path.write_bytes(lines(1))
    source = follow(path)
    assert numbers(source) == [1]
    append(path, lines(2))
    path.unlink()
    assert numbers(source) == [2]
    source = reopen(source, path)
    path.write_bytes(lines(3))
    assert numbers(source) == [3]


def test_turned_symbolic_link_is_followed_after_draining(tmp_path):
    path = tmp_path / "current.jsonl"
    (tmp_path / "monday").write_bytes(lines(1))
    path.symlink_to(tmp_path / "monday")
    source = follow(path)
    assert numbers(source) == [1]
    append(tmp_path / "monday", lines(2))
    (tmp_path / "tuesday").write_bytes(lines(3))
    (tmp_path / "link").symlink_to(tmp_path / "tuesday")
    (tmp_path / "link").replace(path)
    source = reopen(source, path)
    assert numbers(source) == [2, 3]


def test_unfinished_line_of_a_replaced_file_goes_to_the_bad_records(tmp_path):
    path = tmp_path / "live.jsonl"
    path.write_bytes(lines(1) + b'{"n": 2')
    bad = BadRecords("dlq", tmp_path / "bad.jsonl")
    source = follow(path, bad_records=bad)
    assert numbers(source) == [1]
    path.rename(tmp_path / "live.jsonl.1")
    path.write_bytes(lines(3))
    assert numbers(source) == [3]
    bad.close()
    record = json.loads((tmp_path / "bad.jsonl").read_bytes())
    assert record["address"] == f"{path}:2"
    assert record["reason"].startswith("the last line must be finished")
    assert record["raw"] == "eyJuIjogMg=="


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


def test_glob_gains_partitions_and_leaves_rotated_files_to_their_own(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(lines(1))
    source = follow(tmp_path / "*.jsonl*", format="jsonl")
    assert numbers(source) == [1]
    (tmp_path / "b.jsonl").write_bytes(lines(2))
    (tmp_path / "a.jsonl").rename(tmp_path / "a.jsonl.1")
    (tmp_path / "a.jsonl").write_bytes(lines(3))
    assert sorted(numbers(source)) == [2, 3]
    assert source.partitions() == [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]
    source = reopen(source, tmp_path / "*.jsonl*", format="jsonl")
    append(tmp_path / "b.jsonl", lines(4))
    assert numbers(source) == [4]


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


def write_parquet(path, *values):
    pq.write_table(pa.table({"n": list(values)}), path.with_suffix(".tmp"), row_group_size=2)
    path.with_suffix(".tmp").rename(path)


def test_directory_gains_files_and_an_earlier_name_is_still_read_once(tmp_path):
    write_parquet(tmp_path / "b.parquet", 1, 2, 3)
    source = follow(tmp_path)
    assert source.next_batch(2, 0.0).records.to_pylist() == [{"n": 1}, {"n": 2}]
    source = reopen(source, tmp_path)
    assert numbers(source) == [3]
    write_parquet(tmp_path / "c.parquet", 5)
    write_parquet(tmp_path / "a.parquet", 4)
    source = reopen(source, tmp_path)
    assert numbers(source) == [4, 5]
    assert numbers(reopen(source, tmp_path)) == []


def test_file_still_being_written_is_left_until_it_is_whole(tmp_path):
    write_parquet(tmp_path / "whole.parquet", 1)
    data = (tmp_path / "whole.parquet").read_bytes()
    (tmp_path / "whole.parquet").unlink()
    (tmp_path / "a.parquet").write_bytes(data[:-3])
    write_parquet(tmp_path / "b.parquet", 2)
    source = follow(tmp_path)
    with pytest.warns(UnfinishedFileWarning, match=r"a.parquet: file must be whole Parquet"):
        assert numbers(source) == [2]
    (tmp_path / "a.parquet").write_bytes(data)
    assert numbers(source) == [1]
    (tmp_path / "c.parquet").write_bytes(data[:-3])
    ending = FollowedSource(tmp_path, until_eof=True)
    ending.open()
    with pytest.raises(SourceError, match=r"c.parquet: file must be whole Parquet"):
        drain(ending)


def test_feather_files_and_finished_streams_arrive_too(tmp_path):
    import pyarrow.feather as feather

    feather.write_feather(pa.table({"n": [1, 2]}), tmp_path / "a.feather")
    with pa.ipc.new_stream(str(tmp_path / "b.arrow"), pa.schema([("n", pa.int64())])) as writer:
        writer.write_batch(pa.record_batch({"n": [3]}))
    unfinished = (tmp_path / "b.arrow").read_bytes()[:-8]
    (tmp_path / "c.arrow").write_bytes(unfinished)
    source = follow(tmp_path, format="arrow")
    with pytest.warns(UnfinishedFileWarning, match=r"c.arrow: Arrow IPC must end with its end mark"):
        assert numbers(source) == [1, 2, 3]


def test_arriving_file_that_was_replaced_while_half_read_is_a_gap(tmp_path):
    write_parquet(tmp_path / "a.parquet", 1, 2, 3)
    source = follow(tmp_path)
    source.next_batch(2, 0.0)
    position = source.position()
    (tmp_path / "a.parquet").unlink()
    write_parquet(tmp_path / "b.parquet", 9)
    with pytest.raises(GapError, match=r"a.parquet: the file of \d+ bytes must be as it was .* it is gone"):
        FollowedSource(tmp_path).open(position)
    source = FollowedSource(tmp_path, on_gap="continue")
    with pytest.warns(UnfinishedFileWarning):
        source.open(position)
    assert numbers(source) == [9]
    assert source.gaps == 1


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


def test_timeout_is_kept_when_nothing_comes(tmp_path):
    source = follow(tmp_path / "live.jsonl")
    started = time.monotonic()
    assert source.next_batch(1, 0.05) is None
    assert time.monotonic() - started >= 0.05


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "svm", "arrows", "parquet"])
@pytest.mark.parametrize("until_eof", [True, False])
def test_followed_source_keeps_the_contract(tmp_path, ending, until_eof):
    from stream_maxloss_connectors.open_sink import open_sink

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
        ({"paths": "x.log"}, SourceError, "x.log: name must end in one of"),
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
from stream_maxloss_connectors.follow import FollowedSource

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
