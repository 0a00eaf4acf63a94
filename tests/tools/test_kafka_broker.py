from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stream_maxloss.errors import SourceError
from tools.kafka_broker import LocalBroker

PROJECT = Path(__file__).parents[2]
ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{PROJECT}:{PROJECT / 'connectors'}"}


def test_broker_that_does_not_format_is_an_error_of_one_line(tmp_path):
    broker = LocalBroker(tmp_path)
    try:
        with pytest.raises(SourceError, match="Kafka's storage must be formatted, got: ") as caught:
            broker.start()
    except FileNotFoundError:
        pytest.skip("no 'java' on the path")
    finally:
        broker.close()
    assert "\n" not in str(caught.value)
    assert not broker.folder.exists()


def run_one_test(extra):
    """Run a test that needs the broker where there is neither Java nor a broker, in a process of its own."""
    environment = {**ENVIRONMENT, "PATH": "/nonexistent", **extra}
    environment.pop("STREAM_MAXLOSS_TEST_KAFKA", None)
    if "CI" not in extra:
        environment.pop("CI", None)
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "-k", "iter_kafka"]
    command.append(str(PROJECT / "tests/connectors/kafka/test_real_broker.py"))
    return subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, timeout=120)


def test_missing_broker_skips_with_what_is_missing():
    done = run_one_test({})
    assert done.returncode == 0, done.stdout
    assert "1 skipped" in done.stdout
    assert "no real Kafka broker: a local Kafka broker needs Java 17 or later" in done.stdout


def test_missing_broker_fails_in_ci():
    done = run_one_test({"CI": "true"})
    assert done.returncode == 1, done.stdout
    assert "a real Kafka broker must run in CI: a local Kafka broker needs Java 17" in done.stdout


@pytest.mark.kafka
@pytest.mark.xdist_group("kafka")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL], ids=lambda ending: ending.name)
def test_command_runs_a_broker_that_ends_with_it(kafka_broker, ending):
    if kafka_broker.local is None:
        pytest.skip("a broker given by STREAM_MAXLOSS_TEST_KAFKA leaves it open whether one can be started here")
    cache = os.environ.get("STREAM_MAXLOSS_CACHE", str(PROJECT / ".cache"))
    command = [sys.executable, "-m", "tools.kafka_broker", "--port", "0"]
    environment = {**ENVIRONMENT, "STREAM_MAXLOSS_CACHE": cache}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline().startswith("127.0.0.1:"), process.stderr.read()
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        if not children.exists():
            pytest.skip("this system does not tell a process's children")
        broker = int(children.read_text().split()[0])
        folder = Path(f"/proc/{broker}/cwd").readlink()
        process.send_signal(ending)
        _, errors = process.communicate(timeout=60)
        assert errors == ""
        assert process.returncode == (-signal.SIGKILL if ending is signal.SIGKILL else 0)
        deadline = time.monotonic() + 60
        while runs(broker) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not runs(broker)
        # Only a killed process leaves its data behind.
        assert folder.exists() == (ending is signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        process.kill()


def runs(pid):
    try:
        # An ended process that nobody has waited for is still listed, as a zombie.
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
