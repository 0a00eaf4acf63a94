from __future__ import annotations

import json
import os
import shutil

import pytest

from followed_files import append, drain, follow, lines, numbers, reopen
from stream_maxloss.errors import GapError
from stream_maxloss_connectors.bad_records import BadRecords
from stream_maxloss_connectors.follow.source import FollowedSource
from stream_maxloss_connectors.follow.tracked_path import FileChangedWarning


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
