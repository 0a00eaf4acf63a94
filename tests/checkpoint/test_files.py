from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from stream_maxloss.checkpoint import files
from stream_maxloss.checkpoint.damage import DamagedError, RefusedError


@pytest.mark.parametrize("length", [0, 1, 100_000], ids=str)
def test_a_file_holds_its_parts_and_what_its_entry_says(tmp_path: Path, length: int) -> None:
    data = os.urandom(length)
    entry = files.write_file(tmp_path / "file", [memoryview(data)[:50], b"", data[50:]])
    assert entry == files.FileEntry(length, hashlib.sha256(data).hexdigest())
    with files.open_directory(tmp_path) as directory:
        assert files.read_file(directory, "file", limit=length, expected=length) == data


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(files.os, "write", lambda descriptor, view: write(descriptor, view[:3]))
    files.write_file(tmp_path / "file", [b"0123456789"])
    assert (tmp_path / "file").read_bytes() == b"0123456789"


def test_an_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(FileExistsError):
        files.write_file(tmp_path / "file", [b"new"])
    assert (tmp_path / "file").read_text() == "old"


def test_publishing_never_replaces_even_an_empty_directory(tmp_path: Path) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "final").mkdir()
    with pytest.raises(FileExistsError):
        files.publish(tmp_path / "new", tmp_path / "final")
    assert (tmp_path / "new").is_dir()


def test_a_wrong_length_is_damage_and_too_great_a_length_a_refusal(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    with files.open_directory(tmp_path) as directory:
        with pytest.raises(DamagedError, match="file must hold 4 bytes, got 5"):
            files.read_file(directory, "file", limit=4, expected=4)
        with pytest.raises(RefusedError, match="file must hold at most 4 bytes, got 5"):
            files.read_file(directory, "file", limit=4)


def test_every_directory_that_was_made_is_forced_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(files, "sync_directory", synced.append)
    files.make_root(tmp_path / "a" / "b")
    assert synced == [tmp_path, tmp_path / "a"]
    files.make_root(tmp_path / "a" / "b")
    assert len(synced) == 2


def test_removing_a_link_leaves_what_it_points_to(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    files.remove_tree(tmp_path / "link")
    assert [path.name for path in tmp_path.iterdir()] == ["target"]
