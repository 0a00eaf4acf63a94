from __future__ import annotations

import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_maxloss.errors import GapError, SourceError
from stream_maxloss.serve.log import Journal, Kind, Record


def record(first: int, rows: int = 1, payload: bytes = b"{}") -> Record:
    return Record(first, rows, Kind.JSON, payload, 1.5, "key")


def fill(directory, count: int = 5) -> None:
    with Journal(directory) as journal:
        for number in range(count):
            journal.append([record(number, payload=b"x" * number)])


def only_segment(directory):
    (path,) = directory.glob("rows-*.log")
    return path


def test_what_was_appended_is_read_again_in_order(tmp_path):
    fill(tmp_path / "log")
    with Journal(tmp_path / "log") as journal:
        found = list(journal.read(0))
    assert [r.payload for r in found] == [b"x" * n for n in range(5)]
    assert found[0] == record(0, payload=b"")


@pytest.mark.parametrize("cut", [1, 7, 8, 20, 30])
def test_a_torn_end_is_cut_off_and_what_stands_before_is_kept(tmp_path, cut):
    fill(tmp_path / "log")
    path = only_segment(tmp_path / "log")
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - cut)
    with Journal(tmp_path / "log") as journal:
        assert journal.end == 4
        journal.append([record(4, payload=b"again")])
    with Journal(tmp_path / "log") as journal:
        assert [r.payload for r in journal.read(3)] == [b"xxx", b"again"]


def test_zeros_at_the_end_as_file_systems_leave_them_are_cut_off(tmp_path):
    fill(tmp_path / "log")
    with only_segment(tmp_path / "log").open("ab") as file:
        file.write(b"\0" * 4096)
    with Journal(tmp_path / "log") as journal:
        assert (journal.end, journal.cut_bytes) == (5, 4096)


def test_a_wrong_byte_before_whole_records_is_damage_and_not_a_torn_end(tmp_path):
    fill(tmp_path / "log")
    path = only_segment(tmp_path / "log")
    data = bytearray(path.read_bytes())
    data[8 + 8 + 30] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(SourceError, match="damaged"), Journal(tmp_path / "log"):
        pass


@settings(max_examples=60, deadline=None)
@given(cut=st.integers(0, 400), noise=st.binary(max_size=40))
def test_any_torn_end_gives_a_prefix(tmp_path_factory, cut, noise):
    directory = tmp_path_factory.mktemp("torn") / "log"
    fill(directory, 8)
    path = only_segment(directory)
    data = path.read_bytes()
    path.write_bytes(data[: max(8, len(data) - cut)] + noise)
    with Journal(directory) as journal:
        payloads = [r.payload for r in journal.read(0)] if journal.end else []
    assert payloads == [b"x" * n for n in range(len(payloads))]


def test_segments_are_pruned_once_all_their_rows_are_in_checkpoints(tmp_path):
    with Journal(tmp_path / "log", segment_bytes=100) as journal:
        for number in range(20):
            journal.append([record(number, payload=b"y" * 60)])
        starts = journal.segments()
        assert len(starts) > 5
        journal.prune(starts[3])
        assert journal.segments() == starts[3:]
        assert next(iter(journal.read(starts[3]))).first == starts[3]
        with pytest.raises(GapError, match="must hold row 0"):
            list(journal.read(0))


def test_a_full_disk_leaves_the_log_as_it_was(tmp_path, monkeypatch):
    with Journal(tmp_path / "log") as journal:
        journal.append([record(0)])
        length = only_segment(tmp_path / "log").stat().st_size
        write = os.write

        def full(descriptor, data):
            write(descriptor, bytes(data[:5]))
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            journal.append([record(1)])
        monkeypatch.undo()
        assert only_segment(tmp_path / "log").stat().st_size == length
        journal.append([record(1)])
    with Journal(tmp_path / "log") as journal:
        assert journal.end == 2
