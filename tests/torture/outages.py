"""A broker that is killed and started again, and a network that is cut, while a run reads and predicts.

`python outages.py HOW ROWS` with HOW `kill` or `cut` prints what became of the rows; `cut` must run in a network
namespace of its own (`unshare --net`), whose loopback it takes down and up again.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[2]
sys.path[:0] = [str(PROJECT), str(PROJECT / "tests" / "support")]

from kafka_broker import TestBroker, fetch_jars, start_broker  # noqa: E402 - found by the line before
from tests.torture.kills import command, count_rows, make_messages, newest, read_committed  # noqa: E402

__all__ = ["run_outage"]

OUTAGES = 3
SECONDS = 4.0
RESTARTED = (1, 5)
PATIENCE = 400.0


def why_not_cut() -> str | None:
    """Return why the network cannot be cut here; None if it can."""
    try:
        done = subprocess.run(["unshare", "--net", "ip", "link", "set", "lo", "up"], capture_output=True, check=False)
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    return done.stderr.decode(errors="replace").strip() if done.returncode else None


def run_outage(how: str, rows: int) -> dict[str, Any]:
    """Run this file as a process of its own, in a namespace of its own to cut the network; return what it prints."""
    words = [sys.executable, str(Path(__file__)), how, str(rows)]
    environment = {**os.environ, "PYTHONPATH": f"{PROJECT}{os.pathsep}{PROJECT / 'connectors'}"}
    done = subprocess.run(
        (["unshare", "--net"] if how == "cut" else []) + words,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=2 * PATIENCE,
    )
    if done.returncode:
        return {"failures": [f"ended with {done.returncode}: {done.stderr[-600:]}"]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def loopback(state: str) -> None:
    subprocess.run(["ip", "link", "set", "lo", state], check=True)


def harm(how: str, broker: TestBroker) -> None:
    """Take the broker or the network away for a few seconds."""
    if how == "cut":
        loopback("down")
        time.sleep(SECONDS)
        loopback("up")
    elif broker.local is not None:
        os.kill(broker.local.pid or 0, signal.SIGKILL)
        broker.local.stop()
        time.sleep(SECONDS)
        broker.local.start()


def start_run(broker: TestBroker, topics: tuple[str, str], folder: Path, rows: int) -> subprocess.Popen[bytes]:
    source, goal = (f"kafka://{broker.bootstrap}/{topic}" for topic in topics)
    words = [*command(source, folder, goal), "--limit", str(rows)]
    place = [sys.executable, "-m", "stream_maxloss.cli", *words]
    with (folder / "err").open("ab") as errors:
        return subprocess.Popen(place, cwd=folder, stdout=subprocess.DEVNULL, stderr=errors)


def feed(broker: TestBroker, topic: str, messages: list[bytes], stop: threading.Event) -> None:
    """Produce in pieces, so that rows come before, during and after each outage.

    At least once: a broker that was killed may have forgotten an idempotent producer, which then gives up for good. A
    message more does no harm, since rows are told apart by their numbers in the run, which has a limit.
    """
    producer = broker.producer(**{"enable.idempotence": False, "max.in.flight.requests.per.connection": 1})
    for number, message in enumerate(messages):
        producer.produce(topic, message, partition=0, on_delivery=require_delivered)
        if number % 100 == 0:
            producer.poll(0)
            stop.wait(0.05)
    producer.flush(PATIENCE)


def require_delivered(error: object, _: object) -> None:
    if error is not None:
        raise AssertionError(f"every message must reach the topic, got {error}")


def learned(folder: Path) -> int:
    try:
        return int(newest(folder).counters["rows"])
    except Exception:  # it is being written, or not there yet
        return 0


class Restarted:
    """A run that is started again when it fails, as a service manager does.

    A transaction that the broker has given up ends the run, and resuming sends it.
    """

    def __init__(self, start: Callable[[], subprocess.Popen[bytes]]) -> None:
        self.start = start
        self.times = 0
        self.run = start()

    def look(self) -> None:
        """Start the run again if it has failed."""
        if self.run.poll() in RESTARTED and self.times < 2 * OUTAGES:
            self.times += 1
            self.run = self.start()

    def end(self) -> int:
        """Wait for the end, and return the exit code."""
        deadline = time.monotonic() + PATIENCE
        while self.run.poll() is None or (self.run.returncode in RESTARTED and self.times < 2 * OUTAGES):
            if time.monotonic() > deadline:
                return -1
            self.look()
            time.sleep(0.2)
        return self.run.returncode

    def kill(self) -> None:
        """End what still runs."""
        if self.run.poll() is None:
            self.run.kill()
            self.run.wait()


def suffer(how: str, rows: int, broker: TestBroker, folder: Path) -> dict[str, Any]:
    """Run through the outages; return what became of the rows."""
    topics = broker.create_topic(1), broker.create_topic(1)
    stop = threading.Event()
    writer = threading.Thread(target=feed, args=(broker, topics[0], make_messages(rows), stop))
    restarted = Restarted(lambda: start_run(broker, topics, folder, rows))
    writer.start()
    try:
        for number in range(OUTAGES):
            deadline = time.monotonic() + PATIENCE / 4
            while learned(folder) < (number + 1) * rows // (OUTAGES + 1) and time.monotonic() < deadline:
                restarted.look()
                time.sleep(0.2)
            harm(how, broker)
        code = restarted.end()
    finally:
        stop.set()
        restarted.kill()
        writer.join(PATIENCE)
    restarts = restarted.times
    said = (folder / "err").read_text()
    lost, twice = count_rows(read_committed(broker, topics[1]), rows)
    failures = [said[-600:]] if code or "Traceback" in said or lost or twice or learned(folder) != rows else []
    found = {"rows": rows, "outages": OUTAGES, "restarts": restarts, "lost": lost, "twice": twice}
    return {**found, "failures": failures}


def main() -> None:
    how, rows = sys.argv[1], int(sys.argv[2])
    if how == "cut":
        loopback("up")
    with tempfile.TemporaryDirectory(prefix="torture-") as folder, start_broker(fetch_jars()) as local:
        result = suffer(how, rows, TestBroker(local.bootstrap, local), Path(folder))
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
