"""What the machine may do to a run: directories that cannot be written, and clocks that go backwards."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

WORDS = ["--target", "fraud", "-c", "checkpoints"]


def run(*command: object) -> bool:
    return shutil.which(str(command[0])) is not None and subprocess.run(command, capture_output=True).returncode == 0


@pytest.fixture
def read_only(maxloss, day, tmp_path):
    """A directory of checkpoints of an unfinished run that not even root may write to."""
    assert maxloss("tail", day, *WORDS, "--limit", "200").code == 0
    directory = tmp_path / "checkpoints"
    if os.geteuid() != 0:
        directory.chmod(0o555)
        (directory / "LOCK").chmod(0o444)
        yield directory
        directory.chmod(0o755)
        (directory / "LOCK").chmod(0o644)
        return
    if not run("mount", "--bind", directory, directory) or not run("mount", "-o", "remount,ro,bind", directory):
        pytest.skip("root ignores permissions, and a read-only bind mount is not allowed here")
    yield directory
    subprocess.run(["umount", directory], check=True)


def test_a_read_only_directory_is_one_line_and_its_checkpoints_can_still_be_used(maxloss, day, read_only):
    before = sorted(path.name for path in read_only.iterdir())
    refused = maxloss("tail", day, *WORDS)
    assert refused.code == 4
    assert "must be writable" in refused.err
    assert len(refused.err.splitlines()) == 1
    assert sorted(path.name for path in read_only.iterdir()) == before
    assert maxloss("verify", read_only).code == 0
    assert maxloss("predict", day, "-c", read_only, "-p", "out.jsonl").code == 0


def test_predictions_that_cannot_be_written_are_one_line(maxloss, day, read_only):
    done = maxloss("tail", day, "--target", "fraud", "-p", read_only / "out.jsonl")
    assert done.code != 0
    assert "out.jsonl" in done.err
    assert len(done.err.splitlines()) == 1


def test_a_clock_that_goes_backwards_loses_no_checkpoint_and_no_row(maxloss, python, day, tmp_path):
    straight = maxloss("tail", day, "--target", "fraud", "-c", "straight", "-p", "straight.jsonl")
    assert straight.code == 0
    words = ["tail", str(day), *WORDS, "-p", "out.jsonl", "--checkpoint-every", "50", "-q"]
    script = (
        "import datetime, sys, time, types\n"
        "from stream_maxloss.checkpoint import store\n"
        "class Clock(datetime.datetime):\n"
        "    year_now = 2030\n"
        "    @classmethod\n"
        "    def now(cls, tz=None):\n"
        "        cls.year_now -= 3\n"
        "        return cls(cls.year_now, 1, 1, tzinfo=tz)\n"
        "store.datetime = types.SimpleNamespace(**{**vars(datetime), 'datetime': Clock})\n"
        "time.time = lambda clock=iter(range(2_000_000_000, 0, -100_000)): float(next(clock))\n"
        "from stream_maxloss.cli import main\n"
        f"sys.argv = {['maxloss', *words]!r} + sys.argv[1:]\n"
        "main()\n"
    )
    first = python("-c", script, "--limit", "200")
    assert first.code == 0, first.err
    rest = python("-c", script)
    assert rest.code == 0, rest.err
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "straight.jsonl").read_bytes()
    assert maxloss("verify", "checkpoints").code == 0
