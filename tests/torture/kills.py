"""SIGKILL at random instants: files, followed files that rotate, Kafka; predictions into files and into Kafka."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stream_maxloss.checkpoint import CheckpointStore, Content

PROJECT = Path(__file__).parents[2]
HEADER = "a,b,c,kind,fraud"
GROUPS = 50
MODEL = ["--model", "HingeOGD", "--window", "200", "--replays", "3"]
AUTO = ["--model", "auto", "--window", "500", "--set", "compute=least", "--seed", "1"]
OPTIONS = ["--target", "fraud", "--slice-by", "kind", "--metric", "accuracy"]
SECONDS = 3600


@dataclass(frozen=True)
class Killed:
    """What came of a run that was killed again and again."""

    name: str
    kills: int
    resumed: int
    rows: int
    lost: int
    twice: int
    identical: bool | None
    """Whether model, scores and predictions are those of a run that was never killed, to the bit; None if not asked."""

    @property
    def holds(self) -> bool:
        """Whether what is promised was kept."""
        return not self.lost and not self.twice and self.identical is not False


def make_lines(count: int) -> list[str]:
    """Return rows of which each `kind` has as many as any other."""
    generator = random.Random(7)
    lines = []
    for number in range(count):
        a, b, c = (generator.gauss(0, 1) for _ in range(3))
        lines.append(f"{a:.6f},{b:.6f},{c:.6f},g{number % GROUPS},{str(a > b).lower()}")
    return lines


def make_messages(count: int) -> list[bytes]:
    """Return the same rows as JSON."""
    names = HEADER.split(",")
    found = []
    for line in make_lines(count):
        cells = line.split(",")
        row: dict[str, Any] = {name: float(cell) for name, cell in zip(names[:3], cells[:3], strict=True)}
        found.append(json.dumps({**row, "kind": cells[3], "fraud": cells[4] == "true"}).encode())
    return found


def command(
    source: str, folder: Path, predictions: str | None = None, every: int = 100, model: list[str] = MODEL
) -> list[str]:
    places = ["--checkpoint", str(folder / "checkpoints"), "--predictions", predictions or str(folder / "out.jsonl")]
    return ["tail", source, *OPTIONS, *model, *places, "--checkpoint-every", str(every)]


def kill(folder: Path, words: list[str], kills: int, seed: int, writer: dict[str, Any] | None = None) -> dict[str, int]:
    """Run `kill_run` in a process of its own."""
    warm = folder / "warm"
    warm.mkdir(exist_ok=True)
    (warm / "rows.csv").write_text("\n".join([HEADER, *make_lines(200)]) + "\n")
    first = command(str(warm / "rows.csv"), warm, model=AUTO if "auto" in words else MODEL)
    plan = {"warm_up": first, "words": words, "kills": kills, "seed": seed}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("kill_run.py"))],
        input=json.dumps({**plan, "writer": writer}).encode(),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{PROJECT}{os.pathsep}{PROJECT / 'connectors'}", "NO_COLOR": "1"},
        capture_output=True,
        check=False,
        timeout=SECONDS,
    )
    if done.returncode:
        raise AssertionError(done.stderr.decode()[-3000:])
    found: dict[str, int] = json.loads(done.stdout.decode().splitlines()[-1])
    return found


def newest(folder: Path) -> Content:
    return CheckpointStore(folder / "checkpoints").load()


def learned(folder: Path) -> dict[str, object]:
    """Return what a run has made of its rows, to be compared to the bit."""
    content = newest(folder)
    arrays = {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in content.arrays.items()}
    values = {name: repr(content.values[name]) for name in ("row_form", "run") if name in content.values}
    return {**arrays, **values, "counters": content.counters, "out": (folder / "out.jsonl").read_bytes()}


def count_rows(numbers: Iterable[int], rows: int) -> tuple[int, int]:
    """Return how many of the rows are not there, and how many come again."""
    times = Counter(numbers)
    return rows - len(times), sum(times.values()) - len(times)


def written_rows(folder: Path) -> list[int]:
    return [json.loads(line)["row"] for line in (folder / "out.jsonl").read_text().splitlines()]


def kill_on_a_file(folder: Path, kills: int, rows: int, model: list[str] = MODEL) -> Killed:
    """A CSV that is there from the beginning."""
    source = folder / "rows.csv"
    source.write_text("\n".join([HEADER, *make_lines(rows)]) + "\n")
    straight, killed = folder / "straight", folder / "killed"
    straight.mkdir()
    killed.mkdir()
    kill(folder, command(str(source), straight, model=model), 0, 0)
    result = kill(folder, command(str(source), killed, model=model), kills, 1)
    lost, twice = count_rows(written_rows(killed), rows)
    same = learned(killed) == learned(straight)
    return Killed("CSV, auto" if model == AUTO else "CSV", result["killed"], result["resumed"], rows, lost, twice, same)


def kill_on_a_followed_file(folder: Path, kills: int, rows: int, how: str, rotations: int = 5) -> Killed:
    """A file that grows and is rotated meanwhile, from the first instant on."""
    lines = make_lines(rows)
    whole, live = folder / "whole.csv", folder / "live.csv"
    whole.write_text("\n".join([HEADER, *lines]) + "\n")
    live.write_text(HEADER + "\n")
    straight, killed = folder / "straight", folder / "killed"
    straight.mkdir()
    killed.mkdir()
    kill(folder, command(str(whole), straight), 0, 0)
    more = ["--follow", "--limit", str(rows), *(["--on-gap", "continue"] if how == "copytruncate" else [])]
    writer = {"path": str(live), "header": HEADER, "lines": lines, "rotations": rotations, "how": how, "seconds": 6.0}
    result = kill(folder, command(str(live), killed) + more, kills, 2, writer)
    lost, twice = count_rows(written_rows(killed), rows)
    same = learned(killed) == learned(straight)
    name = f"followed file, {rotations} rotations by {how}"
    return Killed(name, result["killed"], result["resumed"], rows, lost, twice, same)


def kill_on_kafka(folder: Path, broker: Any, kills: int, rows: int, partitions: int) -> Killed:
    """A topic, with predictions into another: what readers of committed records see must be every row once."""
    topic, output = broker.create_topic(partitions), broker.create_topic(partitions)
    messages = make_messages(rows)
    for partition in range(partitions):
        broker.produce(topic, messages[partition::partitions], partition)
    killed = folder / "killed"
    killed.mkdir()
    source = f"kafka://{broker.bootstrap}/{topic}"
    words = [*command(source, killed, f"kafka://{broker.bootstrap}/{output}"), "--until-eof"]
    result = kill(folder, words, kills, 3)
    content = newest(killed)
    if content.counters["rows"] != rows:
        raise AssertionError(f"{rows} rows must be learned, got {content.counters}")
    lost, twice = count_rows(read_committed(broker, output), rows)
    same = None
    if partitions == 1:
        straight = folder / "straight"
        straight.mkdir()
        kill(folder, [*command(source, straight), "--until-eof"], 0, 0)
        (killed / "out.jsonl").write_bytes((straight / "out.jsonl").read_bytes())
        same = learned(killed) == learned(straight)
    name = f"Kafka, {partitions} partition{'s' * (partitions > 1)}, predictions to Kafka"
    return Killed(name, result["killed"], result["resumed"], rows, lost, twice, same)


def read_committed(broker: Any, topic: str) -> list[int]:
    from stream_maxloss_connectors.kafka import KafkaSource

    broker.settle(topic)
    rows: list[int] = []
    with KafkaSource(broker.bootstrap, topic, until_eof=True, settings=broker.settings) as source:
        source.open()
        while not source.exhausted:
            if (batch := source.next_batch(10_000, 5.0)) is not None:
                rows += [int(row) for row in batch.records["row"].to_pylist()]
    return rows
