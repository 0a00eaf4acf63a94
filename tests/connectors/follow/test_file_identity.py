from __future__ import annotations

import os

import pytest

from stream_maxloss_connectors.follow.file_identity import (
    FileChangedError,
    FileIdentity,
    OpenedFile,
    find_file,
    is_rotated_name,
    rotated_names,
)


def opened(path, data, header_bytes=0):
    path.write_bytes(data)
    file = OpenedFile(path)
    file.remember_start(header_bytes, data)
    return file


@pytest.mark.parametrize(
    ("data", "header_bytes", "prefix_bytes"),
    [
        (b"", 0, 0),
        (b"torn", 0, 0),
        (b"a\nb\n", 0, 2),
        (b"h\n", 2, 2),
        (b"h\ntorn", 2, 2),
        (b"h\na\nb\n", 2, 4),
        (b"h\n" + b"x" * 5000, 2, 1026),
        (b"x" * 1023 + b"\n", 0, 1024),
    ],
)
def test_fingerprint_covers_header_and_first_line_up_to_a_kilobyte(tmp_path, data, header_bytes, prefix_bytes):
    assert opened(tmp_path / "f", data, header_bytes).identity.prefix_bytes == prefix_bytes


def test_file_is_found_again_under_another_name(tmp_path):
    file = opened(tmp_path / "live", b"first\nsecond\n")
    identity = FileIdentity.from_json(file.identity.to_json())
    (tmp_path / "live").rename(tmp_path / "moved")
    (tmp_path / "live").write_bytes(b"other\n")
    assert find_file(identity, [tmp_path / "live"]) == tmp_path / "moved"
    assert file.stands_at(tmp_path / "live") is False
    assert file.stands_at(tmp_path / "nowhere") is None


def test_same_inode_with_other_contents_is_another_file(tmp_path):
    identity = opened(tmp_path / "live", b"first\n").identity
    (tmp_path / "live").write_bytes(b"other\n")
    assert (tmp_path / "live").stat().st_ino == identity.inode
    assert find_file(identity, [tmp_path / "live"]) is None


def test_copy_is_another_file_that_starts_alike(tmp_path):
    identity = opened(tmp_path / "live", b"first\nsecond\n").identity
    (tmp_path / "copy").write_bytes(b"first\nthird\n")
    assert identity.starts_like(tmp_path / "copy")
    assert not identity.is_of(tmp_path / "copy")


def test_reading_what_was_cut_or_filled_anew_is_noticed(tmp_path):
    path = tmp_path / "live"
    file = opened(path, b"first\nsecond\n")
    assert file.read_at(6, 100) == b"second\n"
    os.truncate(path, 8)
    with pytest.raises(FileChangedError) as cut:
        file.read_at(13, 100)
    assert (cut.value.size, cut.value.same_start) == (8, True)
    path.write_bytes(b"other\nthings that are longer\n")
    with pytest.raises(FileChangedError) as filled:
        file.read_at(13, 100)
    assert not filled.value.same_start


def test_fingerprint_never_shrinks_unless_forgotten(tmp_path):
    file = opened(tmp_path / "live", b"h\na\n", header_bytes=2)
    known = file.identity
    file.remember_prefix(b"h\n")
    assert file.identity == known
    file.forget_start()
    assert file.identity.prefix_bytes == 0


@pytest.mark.parametrize(
    ("other", "rotated"),
    [
        ("live.csv.1", True),
        ("live.csv-20260101", True),
        ("live.csv.2026-01-01_00-00", True),
        ("live.csv.old", True),
        ("live.csv", False),
        ("live.csv.1.gz", False),
        ("live.csv.bak", False),
        ("live.csv.tmp", False),
        ("alive.csv.1", False),
        ("live.csv2", False),
    ],
)
def test_rotated_names_are_distinguished_from_others(other, rotated):
    assert is_rotated_name("live.csv", other) is rotated


def test_generations_come_oldest_first(tmp_path):
    for name, seconds in (("f.1", 30), ("f.2", 20), ("f.10", 10), ("f.3", 20), ("f", 40)):
        (tmp_path / name).write_bytes(b"")
        os.utime(tmp_path / name, (seconds, seconds))
    assert [path.name for path in rotated_names(tmp_path / "f")] == ["f.10", "f.3", "f.2", "f.1"]
