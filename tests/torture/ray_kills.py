"""A job on Ray over a topic of four partitions while its workers, its driver or the broker are killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stream_maxloss.checkpoint import CheckpointStore
from stream_maxloss.linear import HingeOGD, Scaler
from stream_maxloss.run import Tail

__all__ = ["RayKilled", "kill_on_ray"]

PROJECT = Path(__file__).parents[2]
PARTITIONS = 4
PATIENCE = 600.0  # a transaction that the broker has forgotten is given up after three minutes
OUTAGE = 3.0
RESTARTED = (1, 4, 5)


@dataclass(frozen=True)
class RayKilled:
    """What came of it."""

    victim: str
    kills: int
    rows: int
    lost: int
    twice: int
    identical: bool
    restarts: int
    sizes: tuple[int, ...]

    @property
    def holds(self) -> bool:
        return not self.lost and not self.twice and self.identical


def messages(rows: int) -> list[bytes]:
    generator = random.Random(1)
    found = []
    for row in range(rows):
        a, b = generator.gauss(0, 1), generator.gauss(0, 1)
        found.append(json.dumps({"id": row, "a": a, "b": b, "label": a + 0.5 * b > 0}).encode())
    return found


class Feeder(threading.Thread):
    """Produces rows as long as it is told to, so that every kill falls into a run that is at work."""

    def __init__(self, broker: Any, topic: str) -> None:
        super().__init__(daemon=True)
        self.broker, self.topic = broker, topic
        self.done = threading.Event()
        self.sent: list[bytes] = []

    def run(self) -> None:
        supply = messages(400_000)
        producer = self.broker.producer(**{"message.timeout.ms": 0})
        while not self.done.is_set() and len(self.sent) < len(supply) - 40:
            for value in supply[len(self.sent) : len(self.sent) + 40]:
                producer.produce(self.topic, value, partition=len(self.sent) % PARTITIONS)
                self.sent.append(value)
            producer.poll(0)
            self.done.wait(0.1)
        assert producer.flush(PATIENCE) == 0


class Driver:
    """The command, started again when it was killed or gave up, as a service manager does."""

    def __init__(self, cluster: Any, broker: Any, topics: tuple[str, str], folder: Path, workers: int) -> None:
        source, goal = (f"kafka://{broker.bootstrap}/{topic}" for topic in topics)
        words = ["tail", source, "--target", "label", "--exclude", "id", "--model", "HingeOGD", "--no-focus"]
        words += ["--predictions", goal, "--checkpoint", str(folder / "state"), "--checkpoint-every", "1s"]
        words += ["--ray", cluster.address, "--workers", str(workers), "--output", "jsonl", "--report-every", "1s"]
        self.command = [sys.executable, "-m", "stream_maxloss.cli", *words]
        self.environment = {**os.environ, **cluster.environment}
        self.folder = folder
        self.restarts = -1
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.restarts += 1
        path = {"PYTHONPATH": f"{PROJECT}{os.pathsep}{PROJECT / 'connectors'}"}
        with (self.folder / "out").open("ab") as out, (self.folder / "err").open("ab") as errors:
            self.process = subprocess.Popen(
                self.command, cwd=self.folder, stdout=out, stderr=errors, env={**self.environment, **path}
            )

    def keep(self) -> None:
        """Start it again if it has ended in a way that a service manager would not accept."""
        if self.process is not None and (code := self.process.poll()) is not None:
            said = (self.folder / "err").read_text()
            assert code in (*RESTARTED, -signal.SIGKILL), f"ended with {code}: {said[-1500:]}"
            assert "Traceback" not in said, said[-3000:]
            self.start()

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()
        self.start()

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise


def shard_rows(folder: Path) -> list[int]:
    """Rows in the newest checkpoint of each shard."""
    found = []
    for shard in sorted((folder / "state").glob("shard-*")):
        manifests = sorted(shard.glob("ckpt-*/manifest.json"))
        try:
            found.append(int(json.loads(manifests[-1].read_text())["counters"]["rows"]))
        except (IndexError, OSError, ValueError):
            found.append(0)
    return found


def wait_for_rows(folder: Path, rows: int, driver: Driver) -> None:
    deadline = time.monotonic() + PATIENCE
    while sum(shard_rows(folder)) < rows:
        said = (folder / "err").read_text()[-1500:]
        assert time.monotonic() < deadline, f"{shard_rows(folder)} of {rows} rows after {PATIENCE} s: {said}"
        driver.keep()
        time.sleep(0.1)


def harm(victim: str, generator: random.Random, cluster: Any, broker: Any, driver: Driver) -> bool:
    """Kill something; return whether there was something to kill."""
    if victim == "driver":
        driver.kill()
    elif victim == "worker":
        pids = cluster.worker_pids()
        if not pids:
            return False
        os.kill(generator.choice(pids), signal.SIGKILL)
    else:
        os.kill(broker.local.pid, signal.SIGKILL)
        broker.local.stop()
        time.sleep(generator.uniform(0.0, OUTAGE))
        broker.local.start()
    return True


def kill_on_ray(
    folder: Path, cluster: Any, broker: Any, victims: Sequence[str], kills: int, sizes: tuple[int, ...] = (2,)
) -> RayKilled:
    """Kill again and again while rows come in, and the number of workers changes; then count, and compare the bits."""
    topics = broker.create_topic(PARTITIONS), broker.create_topic(PARTITIONS)
    driver, feeder = Driver(cluster, broker, topics, folder, sizes[0]), Feeder(broker, topics[0])
    generator, killed = random.Random(7), 0
    feeder.start()
    driver.start()
    try:
        for number in range(max(kills, len(sizes))):
            # It must have got on since the last one: a run that never gets anywhere would lose nothing.
            wait_for_rows(folder, sum(shard_rows(folder)) + 1, driver)
            if 0 < number < len(sizes):
                (folder / "state" / "workers").write_text(f"{sizes[number]}\n")
                wait_for_size(folder, driver, sizes[number])
            time.sleep(generator.uniform(0.0, 1.5))
            if number < kills:
                killed += harm(victims[number % len(victims)], generator, cluster, broker, driver)
        feeder.done.set()
        feeder.join(PATIENCE)
        wait_for_rows(folder, len(feeder.sent), driver)
    finally:
        feeder.done.set()
        driver.end()
    lost, twice = count(broker, topics, len(feeder.sent))
    same = all(is_identical(folder, broker, topics[0], number) for number in range(PARTITIONS))
    rows = sum(shard_rows(folder))
    assert rows == len(feeder.sent), f"{len(feeder.sent)} rows must be learned, got {rows}"
    return RayKilled("+".join(victims), killed, rows, lost, twice, same, driver.restarts, sizes)


def wait_for_size(folder: Path, driver: Driver, size: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while f"became {size};" not in (said := (folder / "err").read_text()):
        assert time.monotonic() < deadline, said[-1500:]
        driver.keep()
        time.sleep(0.1)


def count(broker: Any, topics: tuple[str, str], rows: int) -> tuple[int, int]:
    """How many rows have no committed prediction, and how many more than one."""
    from stream_maxloss_connectors.kafka import KafkaSource

    broker.settle(topics[1])
    found: Counter[tuple[int, int]] = Counter()
    with KafkaSource(broker.bootstrap, topics[1], until_eof=True, settings=broker.settings) as source:
        source.open()
        while not source.exhausted:
            if (batch := source.next_batch(10_000, 5.0)) is not None:
                places = (batch.records["partition"].to_pylist(), batch.records["offset"].to_pylist())
                found.update(zip(map(int, places[0]), map(int, places[1]), strict=True))
    return rows - len(found), sum(times - 1 for times in found.values())


def is_identical(folder: Path, broker: Any, topic: str, partition: int) -> bool:
    """Whether a shard's model has the bits of one run over its partition that nobody has killed."""
    source = f"kafka://{broker.bootstrap}/{topic}?partitions={partition}&until_eof=true"
    from stream_maxloss.run import Columns

    straight = folder / f"straight-{partition}"
    with Tail(source, Scaler() | HingeOGD(), Columns("label", exclude=("id",)), checkpoint=straight) as tail:
        tail.run()
    ours = CheckpointStore(folder / "state" / f"shard-{partition:04d}").load()
    other = CheckpointStore(straight).load()
    assert ours.arrays.keys() == other.arrays.keys()
    return all(np.array_equal(ours.arrays[name], other.arrays[name]) for name in ours.arrays if "model" in name)


def main() -> None:
    """Run one kind of kill in a broker and a cluster of its own: `python -m tests.torture.ray_kills VICTIM KILLS`."""
    import tempfile

    sys.path[:0] = [str(PROJECT / "tests" / "support")]
    from kafka_broker import TestBroker, fetch_jars, start_broker
    from ray_cluster import ray_cluster

    victim, kills = sys.argv[1], int(sys.argv[2])
    sizes = (2, 3, 1) if victim == "rescale" else (2,)
    with (
        tempfile.TemporaryDirectory(prefix="torture-") as folder,
        start_broker(fetch_jars()) as local,
        ray_cluster() as cluster,
    ):
        broker = TestBroker(local.bootstrap, local)
        began = time.monotonic()
        found = kill_on_ray(Path(folder), cluster, broker, ["worker" if victim == "rescale" else victim], kills, sizes)
        sys.stdout.write(json.dumps({**vars(found), "holds": found.holds, "seconds": time.monotonic() - began}) + "\n")


if __name__ == "__main__":
    main()
