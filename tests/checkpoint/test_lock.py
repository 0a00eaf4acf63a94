from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import stream_maxloss
from stream_maxloss.checkpoint import CheckpointStore, Content
from stream_maxloss.errors import CheckpointError

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(stream_maxloss.__file__).parents[1])}
HOLD = """
import sys
from stream_maxloss.checkpoint import CheckpointStore
with CheckpointStore(sys.argv[1], run_id="other-run"):
    print("locked", flush=True)
    sys.stdin.read()
"""


def test_a_second_process_is_told_which_one_is_writing_and_gets_in_once_that_is_killed(tmp_path: Path) -> None:
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=ENVIRONMENT,
    )
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "locked\n"
        (tmp_path / ".tmp-1-1").mkdir()
        with pytest.raises(CheckpointError, match=rf"one writer, got .*process {other.pid} on .*run other-run.*choose"):
            CheckpointStore(tmp_path).lock()
        assert (tmp_path / ".tmp-1-1").exists(), "only the one with the lock may sweep"
    finally:
        other.send_signal(signal.SIGKILL)
        other.communicate(timeout=30)
    with CheckpointStore(tmp_path) as store:
        assert store.save(Content()) == 1


def test_a_second_store_of_the_same_process_is_refused(tmp_path: Path) -> None:
    with CheckpointStore(tmp_path, run_id="one") as first:
        assert first.lock() is first
        with pytest.raises(CheckpointError, match=f"process {os.getpid()} on .*run one"):
            CheckpointStore(tmp_path).lock()
    with CheckpointStore(tmp_path, run_id="two"):
        owner = json.loads((tmp_path / "LOCK").read_text())
        assert (owner["pid"], owner["run_id"]) == (os.getpid(), "two")
    assert (tmp_path / "LOCK").read_text() == ""


def test_a_garbled_owner_still_makes_a_clear_error(tmp_path: Path) -> None:
    with CheckpointStore(tmp_path):
        (tmp_path / "LOCK").write_bytes(b"\xff\x00[")
        with pytest.raises(CheckpointError, match="which another process is writing to"):
            CheckpointStore(tmp_path).lock()


@pytest.mark.parametrize("replace", [False, True], ids=["removed", "replaced"])
def test_a_writer_whose_lock_was_taken_away_stops_writing(tmp_path: Path, replace: bool) -> None:
    with CheckpointStore(tmp_path) as store:
        store.save(Content())
        (tmp_path / "LOCK").rename(tmp_path / "OLD")
        if replace:
            (tmp_path / "LOCK").write_text("")
        with pytest.raises(CheckpointError, match=r"LOCK must stay while a run writes, got.*restart"):
            store.save(Content())
        assert store.list() == [1]


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("stays")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "LOCK").symlink_to(victim)
    with pytest.raises(CheckpointError, match=r"must be writable, got .*symbolic links"):
        CheckpointStore(tmp_path / "run").lock()
    assert victim.read_text() == "stays"
