from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from stream_maxloss.cli.process.signals import SignalFlags


@pytest.fixture
def following(started, day, tmp_path, wait_until):
    """A run that follows a file and has written its first checkpoint of rows, beside that of where it begins."""

    def start(*more):
        words = ["tail", day, "--target", "fraud", "--follow", "-c", tmp_path / "checkpoints", "-p", "out.jsonl"]
        process = started(*words, "--checkpoint-every", "500", *more)
        wait_until(lambda: len(list((tmp_path / "checkpoints").glob("ckpt-*"))) == 2)
        return process

    return start


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 0), (signal.SIGHUP, 0), (signal.SIGINT, 130)], ids=["term", "hup", "int"]
)
def test_a_signal_finishes_the_batch_writes_a_checkpoint_and_leaves(following, rows_of, day, tmp_path, number, code):
    process = following()
    before = len(list((tmp_path / "checkpoints").glob("ckpt-*")))
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == code
    assert b"500 rows" in out
    assert len(list((tmp_path / "checkpoints").glob("ckpt-*"))) == before + 1
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 500


def test_sigusr1_writes_a_checkpoint_immediately(following, tmp_path, wait_until):
    process = following()
    process.send_signal(signal.SIGUSR1)
    wait_until(lambda: len(list((tmp_path / "checkpoints").glob("ckpt-*"))) == 3)
    assert process.poll() is None


def test_a_second_sigint_exits_immediately():
    script = (
        "import os, signal, time\n"
        "from stream_maxloss.cli.process.signals import SignalFlags\n"
        "with SignalFlags(lambda: os.write(1, b'left')):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    time.sleep(0.1)\n"
        "    os.write(1, b'first ')\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    time.sleep(60)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=50, env=environment, check=False)
    assert done.returncode == 130
    assert done.stdout == b"first left"


def test_a_second_writer_is_refused_and_harms_nothing(following, maxloss, day, tmp_path):
    process = following()
    second = maxloss("tail", day, "--target", "fraud", "-c", tmp_path / "checkpoints")
    assert second.code == 4
    assert len(second.err.splitlines()) == 2  # the first says that the run follows, as it did before
    assert str(process.pid) in second.err.splitlines()[-1]
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_handlers_are_put_back():
    before = signal.getsignal(signal.SIGTERM)
    with SignalFlags():
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before
