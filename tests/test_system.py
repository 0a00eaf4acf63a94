"""What a system without POSIX is told; the system is faked by what Python says of it, the refusals are real."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

from stream_maxloss import system
from stream_maxloss.checkpoint import CheckpointStore
from stream_maxloss.errors import StreamMaxlossError
from stream_maxloss_connectors import open_source


@pytest.fixture(autouse=True)
def windows(monkeypatch):
    monkeypatch.setattr(system, "os", SimpleNamespace(name="nt"))
    monkeypatch.setattr(system, "sys", SimpleNamespace(platform="win32"))


def test_a_system_without_posix_is_refused_checkpoints(tmp_path):
    with pytest.raises(StreamMaxlossError, match="checkpoints must be on Linux or macOS, got win32; use the Windows"):
        CheckpointStore(tmp_path)


def test_a_system_without_posix_is_refused_followed_files(tmp_path):
    with pytest.raises(StreamMaxlossError, match="followed files must be on Linux or macOS, got win32"):
        open_source(tmp_path / "rows.csv", follow=True)


# In a process of its own: the module looks at the system when it is imported.
WITHOUT_SIGNALS = """
import signal
del signal.SIGHUP, signal.SIGUSR1
from stream_maxloss.cli.process.signals import SignalFlags
with SignalFlags() as flags:
    signal.raise_signal(signal.SIGTERM)
    print(flags.stopped)
"""


def test_signals_that_a_system_does_not_know_are_left_out():
    command = [sys.executable, "-c", WITHOUT_SIGNALS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("True\n", "")
