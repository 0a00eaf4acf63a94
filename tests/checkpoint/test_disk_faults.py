"""Full disks, read-only directories: clear errors, earlier checkpoints intact."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

import stream_maxloss
from stream_maxloss.checkpoint import CheckpointStore, CheckpointWarning, Content, files, reader
from stream_maxloss.errors import CheckpointError

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(stream_maxloss.__file__).parents[1])}


def run(*command: str | Path) -> bool:
    return shutil.which(str(command[0])) is not None and subprocess.run(command, capture_output=True).returncode == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    mount = tmp_path / "mount"
    mount.mkdir()
    if os.geteuid() != 0 or not run("mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", mount):
        pytest.skip("mounting a small tmpfs needs root and the right to mount")
    yield mount
    subprocess.run(["umount", mount], check=True)


def test_a_full_disk_leaves_earlier_checkpoints_and_no_litter(
    small_disk: Path, make_content: Callable[[int], Content], same: Callable[[Content, Content], bool]
) -> None:
    with CheckpointStore(small_disk / "run") as store:
        store.save(make_content(1))
        big = Content(arrays={"weights": np.zeros(100_000)})
        with pytest.raises(CheckpointError, match=r"got: No space left on device; free space .*are intact"):
            store.save(big)
        assert sorted(path.name for path in store.directory.iterdir()) == ["LOCK", "ckpt-000000000001"]
        assert same(store.load(), make_content(1))
        assert store.save(make_content(2)) == 2
        assert same(store.load(), make_content(2))


def test_a_disk_that_fills_up_at_any_file_leaves_no_litter(
    small_disk: Path, make_content: Callable[[int], Content], same: Callable[[Content, Content], bool]
) -> None:
    with CheckpointStore(small_disk / "run") as store:
        store.save(make_content(1))
        refused = 0
        for free in range(0, 40_000, 4096):
            ballast = small_disk / "ballast"
            left = shutil.disk_usage(small_disk).free
            ballast.write_bytes(bytes(max(0, left - free)))
            with contextlib.suppress(CheckpointError):
                store.save(make_content(2))
                break
            refused += 1
            ballast.unlink()
            assert sorted(path.name for path in store.directory.iterdir()) == ["LOCK", "ckpt-000000000001"]
            assert same(store.load(), make_content(1))
        # No file at all, then some of them, then all: the loop must have seen both ends.
        assert refused >= 3
        assert same(store.load(), make_content(2))


def test_a_full_disk_at_the_start_is_an_error_with_the_remedy(small_disk: Path) -> None:
    (small_disk / "run").mkdir()
    (small_disk / "ballast").write_bytes(bytes(shutil.disk_usage(small_disk).free))
    with pytest.raises(CheckpointError, match="No space left on device; free space"):
        CheckpointStore(small_disk / "run").lock()


def test_a_limit_on_the_length_of_files_is_an_error_and_leaves_no_litter(tmp_path: Path) -> None:
    code = f"""
import numpy as np, resource, signal
from stream_maxloss.checkpoint import CheckpointStore, Content
from stream_maxloss.errors import CheckpointError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with CheckpointStore({str(tmp_path)!r}) as store:
    store.save(Content(counters={{"seen": 1}}))
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
    try:
        store.save(Content(arrays={{"a": np.zeros(100_000)}}))
    except CheckpointError as error:
        print(error)
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
    assert "got: File too large; free space" in result.stdout, result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["LOCK", "ckpt-000000000001"]
    assert CheckpointStore(tmp_path).load().counters == {"seen": 1}


@pytest.fixture
def read_only(tmp_path: Path, make_content: Callable[[int], Content]) -> Iterator[Path]:
    """A directory with one checkpoint that not even root may write to."""
    directory = tmp_path / "run"
    with CheckpointStore(directory) as store:
        store.save(make_content(1))
    if os.geteuid() != 0:
        directory.chmod(0o555)
        (directory / "LOCK").chmod(0o444)
        yield directory
        directory.chmod(0o755)
        return
    if not run("mount", "--bind", directory, directory) or not run("mount", "-o", "remount,ro,bind", directory):
        pytest.skip("root ignores permissions, and a read-only bind mount is not allowed here")
    yield directory
    subprocess.run(["umount", directory], check=True)


def test_a_read_only_directory_can_be_loaded_but_not_locked(
    read_only: Path, make_content: Callable[[int], Content], same: Callable[[Content, Content], bool]
) -> None:
    store = CheckpointStore(read_only)
    assert same(store.load(), make_content(1))
    assert store.verify(1).ok
    with pytest.raises(
        CheckpointError, match=r"must be writable, got .*(Read-only file system|Permission denied); choose"
    ):
        store.lock()
    with pytest.raises(CheckpointError, match="must be writable"):
        CheckpointStore(read_only / "below").lock()


def test_a_directory_that_turns_read_only_fails_the_save_only(
    tmp_path: Path, make_content: Callable[[int], Content], same: Callable[[Content, Content], bool]
) -> None:
    if os.geteuid() != 0:
        pytest.skip("the immutable flag needs root")
    with CheckpointStore(tmp_path / "run") as store:
        store.save(make_content(1))
        if not run("chattr", "+i", store.directory):
            pytest.skip("this file system has no immutable flag")
        try:
            with pytest.raises(
                CheckpointError, match=r"must be written to .*Operation not permitted; free space or make"
            ):
                store.save(make_content(2))
            assert same(store.load(), make_content(1))
        finally:
            subprocess.run(["chattr", "-i", store.directory], check=True)
        assert store.save(make_content(2)) == 2


@pytest.mark.parametrize("code", [errno.EACCES, errno.EMFILE, errno.ENOMEM], ids=errno.errorcode.get)
def test_a_file_that_may_not_be_read_just_now_is_not_taken_for_damaged(
    tmp_path: Path, code: int, make_content: Callable[[int], Content], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(name: object, *arguments: object, **options: object) -> int:
        if name == "extra.json":
            raise OSError(code, os.strerror(code))
        return open_file(name, *arguments, **options)  # type: ignore[arg-type]

    open_file = os.open
    with CheckpointStore(tmp_path) as store:
        for number in (1, 2):
            store.save(make_content(number))
        with monkeypatch.context() as patch:
            patch.setattr(files.os, "open", fail)
            with pytest.raises(CheckpointError, match=r"ckpt-000000000002: extra\.json must be readable, got"):
                store.load()
        assert store.list() == [1, 2]
        assert store.load().counters == {"seen": 2}


def test_a_file_that_the_disk_lost_is_damaged(
    tmp_path: Path, make_content: Callable[[int], Content], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(directory: int, name: str, limit: int, expected: int | None = None) -> bytes:
        if name == "extra.json" and len(seen) == 0:
            seen.append(name)
            raise files._unreadable(name, OSError(errno.EIO, os.strerror(errno.EIO)))
        return read_file(directory, name, limit, expected)

    seen: list[str] = []
    read_file = files.read_file
    with CheckpointStore(tmp_path) as store:
        for number in (1, 2):
            store.save(make_content(number))
        monkeypatch.setattr(reader, "read_file", fail)
        with pytest.warns(CheckpointWarning, match="Input/output error"):
            assert store.load().counters == {"seen": 1}


@pytest.mark.parametrize("step", ["write", "fsync"])
def test_an_input_output_error_is_a_clear_error(
    tmp_path: Path, step: str, make_content: Callable[[int], Content], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with CheckpointStore(tmp_path) as store:
        store.save(make_content(1))
        with monkeypatch.context() as patch:
            patch.setattr(files.os, step, fail)
            with pytest.raises(CheckpointError, match=r"checkpoint 2 must be written .*Input/output error"):
                store.save(make_content(2))
        assert store.list() == [1]
        assert not list(tmp_path.glob(".tmp-*"))
        assert store.save(make_content(2)) == 2


def test_a_prune_that_fails_warns_and_the_save_stands(
    tmp_path: Path, make_content: Callable[[int], Content], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    with CheckpointStore(tmp_path, keep=1) as store:
        store.save(make_content(1))
        with monkeypatch.context() as patch:
            patch.setattr(files, "discard", fail)
            with pytest.warns(CheckpointWarning, match="ckpt-000000000001 cannot be moved or removed: Operation not"):
                assert store.save(make_content(2)) == 2
        assert store.list() == [1, 2]
        assert store.save(make_content(3)) == 3
        assert store.list() == [3]
