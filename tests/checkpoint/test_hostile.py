"""Checkpoints made to do harm: refused, with nothing executed and nothing written."""

from __future__ import annotations

import hashlib
import os
import pickle
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save as save_arrays

from stream_maxloss.checkpoint import CheckpointStore, Content, load
from stream_maxloss.checkpoint.damage import RefusedError

Forge = Callable[..., None]


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (os.environ["BOMB"],)


def pickle_inside(directory: Path, forge: Forge) -> None:
    forge(directory, {"model.pkl": pickle.dumps(Bomb())})


def pickle_as_json(directory: Path, forge: Forge) -> None:
    forge(directory, {"extra.json": pickle.dumps(Bomb())})


def pickle_as_arrays(directory: Path, forge: Forge) -> None:
    forge(directory, {"arrays.safetensors": pickle.dumps(Bomb())})


def path_traversal(directory: Path, forge: Forge) -> None:
    data = (directory / "window.arrow").read_bytes()
    (directory.parent / "window.arrow").write_bytes(data)
    entry = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    forge(directory, change=lambda fields: fields["files"].update({"../window.arrow": entry}))


def absolute_path(directory: Path, forge: Forge) -> None:
    entry = {"bytes": 1, "sha256": "0" * 64}
    forge(directory, change=lambda fields: fields["files"].update({"/etc/passwd": entry}))


def link_inside(directory: Path, forge: Forge) -> None:
    data = (directory / "window.arrow").read_bytes()
    (directory.parent / "elsewhere").write_bytes(data)
    (directory / "window.arrow").unlink()
    (directory / "window.arrow").symlink_to("../elsewhere")


def link_beside(directory: Path, forge: Forge) -> None:
    (directory / "passwd").symlink_to("/etc/passwd")


def link_as_manifest(directory: Path, forge: Forge) -> None:
    (directory / "manifest.json").rename(directory.parent / "elsewhere")
    (directory / "manifest.json").symlink_to("../elsewhere")


def link_as_directory(directory: Path, forge: Forge) -> None:
    directory.rename(directory.parent / "elsewhere")
    directory.symlink_to("elsewhere")


def pipe_inside(directory: Path, forge: Forge) -> None:
    (directory / "window.arrow").unlink()
    os.mkfifo(directory / "window.arrow")


def pipe_as_manifest(directory: Path, forge: Forge) -> None:
    (directory / "manifest.json").unlink()
    os.mkfifo(directory / "manifest.json")


def folder_inside(directory: Path, forge: Forge) -> None:
    (directory / "folder").mkdir()


def absurd_size_declared(directory: Path, forge: Forge) -> None:
    forge(directory, change=lambda fields: fields["files"]["window.arrow"].update(bytes=1 << 60))


def absurd_size_on_disk(directory: Path, forge: Forge) -> None:
    # Sparse: a terabyte that takes no space, and would take all memory.
    os.truncate(directory / "window.arrow", 1 << 40)
    forge(directory, change=lambda fields: fields["files"]["window.arrow"].update(bytes=1 << 40))


def absurd_manifest(directory: Path, forge: Forge) -> None:
    os.truncate(directory / "manifest.json", 1 << 40)


def absurd_array_header(directory: Path, forge: Forge) -> None:
    forge(directory, {"arrays.safetensors": struct.pack("<Q", 1 << 50) + b"{}"})


def unknown_format(directory: Path, forge: Forge) -> None:
    forge(directory, change=lambda fields: fields.update(format="other"))


def newer_version(directory: Path, forge: Forge) -> None:
    forge(directory, change=lambda fields: fields.update(format_version=99))


def nan_weights(directory: Path, forge: Forge) -> None:
    forge(directory, {"arrays.safetensors": save_arrays({"model/weights": np.full(5, np.nan)})})


def missing_weights(directory: Path, forge: Forge) -> None:
    forge(directory, {"arrays.safetensors": save_arrays({})})


def duplicate_names(directory: Path, forge: Forge) -> None:
    forge(directory, {"extra.json": b'{"model":{},"model":{}}'})


def another_number(directory: Path, forge: Forge) -> None:
    forge(directory, change=lambda fields: fields.update(seq=77))


def no_values(directory: Path, forge: Forge) -> None:
    forge(directory, change=lambda fields: fields["files"].pop("extra.json"))


HOSTILE = {
    pickle_inside: "must be allowed, got model.pkl; if you wrote it yourself, load it with allow_pickle=True",
    pickle_as_json: "extra.json must be readable",
    pickle_as_arrays: "arrays.safetensors must be readable",
    path_traversal: "plain names .* got '../window.arrow'; do not trust this checkpoint",
    absolute_path: "plain names .* got '/etc/passwd'",
    link_inside: "regular files only, got 'window.arrow'",
    link_beside: "regular files only, got 'passwd'",
    link_as_manifest: "manifest.json must be a regular file",
    link_as_directory: "ckpt-000000000002 must be a directory and no symbolic link",
    pipe_inside: "regular files only, got 'window.arrow'",
    pipe_as_manifest: "manifest.json must be a regular file",
    folder_inside: "regular files only, got 'folder'",
    absurd_size_declared: "at most 17179869184 bytes in all, got 1152921504606",
    absurd_size_on_disk: "at most 17179869184 bytes in all, got 109951162",
    absurd_manifest: "manifest.json must hold at most 67108864 bytes, got 1099511627776",
    absurd_array_header: "header must hold at most 2 bytes, got 1125899906842624",
    unknown_format: "this is no checkpoint of stream-maxloss",
    newer_version: "written by a newer version; upgrade stream-maxloss",
    nan_weights: "array 'model/weights' must be finite, got nan at element 0",
    missing_weights: "array 'model/weights' must be there",
    duplicate_names: "'model' twice",
    another_number: "must hold checkpoint 2, got 77",
    no_values: "must hold extra.json",
}


def snapshot(root: Path) -> list[tuple[str, int, int, int]]:
    entries = [(path, path.lstat()) for path in sorted(root.rglob("*"))]
    return [(str(path), status.st_ino, status.st_size, status.st_mtime_ns) for path, status in entries]


@pytest.mark.parametrize(("make_hostile", "message"), HOSTILE.items(), ids=[attack.__name__ for attack in HOSTILE])
def test_it_is_refused_and_nothing_is_executed_or_written(
    make_hostile: Callable[[Path, Forge], None],
    message: str,
    tmp_path: Path,
    make_content: Callable[[int], Content],
    forge: Forge,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BOMB", str(tmp_path / "executed"))
    with CheckpointStore(tmp_path / "run") as store:
        for number in (1, 2):
            store.save(make_content(number))
        make_hostile(store.path(2), forge)
        before = snapshot(tmp_path)
        for attempt in (store.load, lambda: load(tmp_path / "run")):
            with pytest.raises(RefusedError, match=message) as caught:
                attempt()
            assert str(caught.value).endswith("or remove ckpt-000000000002 to go back to 1")
        if make_hostile not in (pickle_inside, another_number):
            assert not store.verify(2).ok
        assert snapshot(tmp_path) == before
    assert not (tmp_path / "executed").exists()


def test_the_bomb_of_these_tests_does_go_off_where_pickles_are_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BOMB", str(tmp_path / "executed"))
    with CheckpointStore(tmp_path / "run") as store:
        store.save(Content(blobs={"model": pickle.dumps(Bomb())}), allow_pickle=True)
        store.load(allow_pickle=True)
        assert not (tmp_path / "executed").exists(), "the store itself never opens a pickle"
    load(tmp_path / "run", allow_pickle=True)
    assert (tmp_path / "executed").exists()


def test_files_that_the_manifest_does_not_name_are_never_read(
    tmp_path: Path, make_content: Callable[[int], Content], same: Callable[[Content, Content], bool]
) -> None:
    with CheckpointStore(tmp_path) as store:
        store.save(make_content(1))
        (store.path(1) / "model.pkl").write_bytes(pickle.dumps(Bomb))
        (store.path(1) / "notes.txt").write_text("a listing that a user left here")
        assert same(store.load(), make_content(1))
