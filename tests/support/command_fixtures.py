"""Fixtures that run the command `maxloss`."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

PROJECT = Path(__file__).parents[2]
SECONDS = 240  # a bound on a command that hangs; compiled kernels may have to be made first


def environment(**extra: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MAXLOSS_", "STREAM_MAXLOSS_"))}
    path = os.pathsep.join([str(PROJECT), str(PROJECT / "connectors")])
    return {**kept, "PYTHONPATH": path, "NO_COLOR": "1", **extra}


@pytest.fixture(scope="session")
def fork_server(tmp_path_factory):
    """A process that has loaded the command and forks for each run of it."""
    folder = tmp_path_factory.mktemp("server")
    (folder / "warm.csv").write_text("\n".join([HEADER, *make_rows(200)]) + "\n")
    command = [sys.executable, str(Path(__file__).with_name("fork_server.py"))]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=folder, env=environment(), **pipes) as server:
        words = ["tail", "warm.csv", "--target", "fraud", "--slice-by", "kind", "-c", "checkpoints", "-p", "out.jsonl"]
        server.stdin.write(json.dumps(words) + "\n")
        yield server
        server.stdin.close()
        server.wait(timeout=20)


@pytest.fixture
def maxloss(fork_server, tmp_path, tmp_path_factory):
    """Runs the command to its end, in a process of its own."""

    def run(*words: object, data: bytes = b"", **extra: str):
        streams = tmp_path_factory.mktemp("streams")
        (streams / "in").write_bytes(data)
        request = {"words": list(map(str, words)), "folder": str(tmp_path), "environment": extra}
        request["streams"] = [str(streams / name) for name in ("in", "out", "err")]
        fork_server.stdin.write(json.dumps(request) + "\n")
        fork_server.stdin.flush()
        code = int(fork_server.stdout.readline())
        return SimpleNamespace(code=code, out=(streams / "out").read_text(), err=(streams / "err").read_text())

    return run


@pytest.fixture
def python(tmp_path):
    """Runs Python to its end."""

    def run(*words: object):
        command = [sys.executable, *map(str, words)]
        options = {"cwd": tmp_path, "env": environment(), "timeout": SECONDS}
        done = subprocess.run(command, capture_output=True, check=False, **options)
        return SimpleNamespace(code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode())

    return run


@pytest.fixture
def started(tmp_path):
    """Starts the command, and kills what is left of it after the test."""
    processes = []

    def start(*words: object, **options):
        command = [sys.executable, "-m", "stream_maxloss.cli", *map(str, words)]
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": tmp_path, **options}
        processes.append(subprocess.Popen(command, env=environment(), **options))
        return processes[-1]

    yield start
    for process in processes:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.communicate()


@pytest.fixture
def kill_loop(tmp_path):
    """Runs the command again and again, killing it at random instants, then once to its end."""

    def run(warm_up, words, kills: int, seed: int, feed: list | None = None):
        plan = {"warm_up": list(map(str, warm_up)), "words": list(map(str, words)), "kills": kills}
        plan |= {"seed": seed, "feed": feed}
        command = [sys.executable, str(Path(__file__).with_name("kill_loop.py"))]
        options = {"cwd": tmp_path, "env": environment(), "timeout": SECONDS, "input": json.dumps(plan).encode()}
        done = subprocess.run(command, capture_output=True, check=False, **options)
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout.decode().splitlines()[-1])

    return run


def make_rows(count: int, seed: int = 7) -> list[str]:
    generator = random.Random(seed)
    lines = []
    for number in range(count):
        a, b, c = (generator.gauss(0, 1) for _ in range(3))
        rare = generator.random() < 0.1
        label = (a - b > 0) != rare
        kind = "rare" if rare else "usual"
        lines.append(f"{a:.6f},{b:.6f},{c:.6f},{kind},{1 + number % 3},{str(label).lower()}")
    return lines


HEADER = "a,b,c,kind,importance,fraud"


@pytest.fixture
def day(tmp_path):
    """A CSV file of 500 rows."""
    path = tmp_path / "day.csv"
    path.write_text("\n".join([HEADER, *make_rows(500)]) + "\n")
    return path


@pytest.fixture
def rows_of():
    """Gives header and rows of a CSV file as text."""
    return lambda count, seed=7: [HEADER, *make_rows(count, seed)]


def newest(directory: Path):
    from stream_maxloss.checkpoint import CheckpointStore

    return CheckpointStore(directory).load()


@pytest.fixture
def state_of():
    """Gives all that a directory's newest checkpoint holds, but for who wrote it when, as comparable bytes."""

    def read(directory: Path, without: tuple[str, ...] = ()) -> dict[str, object]:
        content = newest(directory)
        content.values.get("command", {}).pop("seal", None)  # which names the predictions, too
        state: dict[str, object] = {
            f"array {name}": (a.dtype, a.shape, a.tobytes()) for name, a in content.arrays.items()
        }
        state |= {f"value {name}": repr(value) for name, value in content.values.items()}
        state |= {"counters": content.counters, "sources": repr(content.sources), "outputs": content.outputs}
        return {name: value for name, value in state.items() if name not in without}

    return read


@pytest.fixture
def wait_until():
    """Waits for a condition, within bounds."""

    def wait(condition, seconds: float = 120.0):
        deadline = time.monotonic() + seconds
        while not (found := condition()):
            assert time.monotonic() < deadline, "gave up waiting"
            time.sleep(0.02)
        return found

    return wait
