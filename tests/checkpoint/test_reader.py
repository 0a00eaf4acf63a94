from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from stream_maxloss.checkpoint import CheckpointStore, Content
from stream_maxloss.checkpoint.damage import DamagedError, RefusedError
from stream_maxloss.checkpoint.reader import read_checkpoint, verify_checkpoint

Make = Callable[[int], Content]


def test_a_checkpoint_can_be_read_wherever_it_was_copied(
    tmp_path: Path, make_content: Make, same: Callable[[Content, Content], bool]
) -> None:
    with CheckpointStore(tmp_path) as store:
        store.save(make_content(1))
    copy = store.path(1).rename(tmp_path / "copy")
    assert same(read_checkpoint(copy), make_content(1))
    assert verify_checkpoint(copy).ok


def test_a_checkpoint_above_the_limit_is_refused_before_it_is_read(tmp_path: Path, make_content: Make) -> None:
    with CheckpointStore(tmp_path) as store:
        store.save(make_content(1))
    with pytest.raises(RefusedError, match=r"at most 100 bytes in all, got .*raise max_bytes"):
        read_checkpoint(store.path(1), max_bytes=100)
    assert re.search("at most 100 bytes", verify_checkpoint(store.path(1), max_bytes=100).problem or "")


def test_the_error_names_the_checkpoint_and_the_file(tmp_path: Path, make_content: Make) -> None:
    with CheckpointStore(tmp_path) as store:
        store.save(make_content(1))
    (store.path(1) / "extra.json").write_bytes(b"{}")
    with pytest.raises(DamagedError, match=r"ckpt-000000000001: extra\.json must hold \d+ bytes, got 2"):
        read_checkpoint(store.path(1))


def test_verify_reports_every_file_and_changes_nothing(tmp_path: Path, make_content: Make) -> None:
    with CheckpointStore(tmp_path) as store:
        seq = store.save(make_content(1))
    report = store.verify(seq)
    assert report.ok
    assert [file.name for file in report.files] == ["manifest.json", "arrays.safetensors", "window.arrow", "extra.json"]
    arrays = store.path(seq) / "arrays.safetensors"
    arrays.write_bytes(arrays.read_bytes()[:-1] + b"\xff")
    (store.path(seq) / "extra.json").unlink()
    before = sorted(path.name for path in tmp_path.rglob("*"))
    report = store.verify(seq)
    assert not report.ok
    problems = {file.name: file.problem for file in report.files}
    assert problems["manifest.json"] is None
    assert problems["window.arrow"] is None
    assert re.search("digest differs", problems["arrays.safetensors"] or "")
    assert re.search("cannot be read: No such file", problems["extra.json"] or "")
    assert sorted(path.name for path in tmp_path.rglob("*")) == before
    missing = store.verify(99)
    assert re.search("No such file", missing.problem or "")
