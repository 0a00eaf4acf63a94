"""SIGKILL of a service under load: `python -m tests.torture.serve_kills 100`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa

from stream_maxloss.focus import FocusedClassifier
from stream_maxloss.linear import HingeOGD, Scaler
from stream_maxloss.run import load_run
from stream_maxloss.serve.log import Journal, Kind

from .kills import PROJECT, SECONDS, Killed

__all__ = ["kill_a_service"]

MODEL = ["--model", "HingeOGD", "--window", "200", "--replays", "3"]
# All checkpoints are kept, and so is all of the log, to be compared with the model in the end.


def kill_a_service(folder: Path, kills: int, seed: int = 5) -> Killed:
    """Kill a service again and again while clients learn and retry, and compare what it knows with its log."""
    lines = [f"{i % 7},{i % 5},{i},{str(i % 7 > i % 5).lower()}" for i in range(300)]
    (folder / "warm.csv").write_text("\n".join(["a,b,number,fraud", *lines]) + "\n")
    options = ["--target", "fraud", "--exclude", "number", *MODEL, "--metric", "accuracy"]
    plan = {
        "warm_up": ["tail", "warm.csv", *options, "-c", "warm"],
        "words": [
            "serve",
            "state",
            *options,
            "--listen",
            "unix:service.sock",
            "--checkpoint-every",
            "1s",
            "--keep-checkpoints",
            "10000",
        ],
        "kills": kills,
        "seed": seed,
    }
    path = os.pathsep.join([str(PROJECT), str(PROJECT / "connectors")])
    done = subprocess.run(
        [sys.executable, str(PROJECT / "tests" / "support" / "serve_kill_loop.py")],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        input=json.dumps(plan).encode(),
        capture_output=True,
        check=False,
        timeout=SECONDS,
    )
    if done.returncode != 0:
        raise AssertionError(done.stderr.decode()[-3000:])
    return judge(folder, json.loads(done.stdout.decode().splitlines()[-1])["killed"])


def judge(folder: Path, killed: int) -> Killed:
    rows = rows_of_log(folder / "state" / "log")
    logged = Counter(row["number"] for row in rows)
    text = (folder / "acknowledged.jsonl").read_text()
    acknowledged = Counter(number for line in text.splitlines() for number in json.loads(line)["rows"])
    model, _, content = load_run(folder / "state")
    twin = Scaler() | FocusedClassifier(HingeOGD(), window=200, replays=3, seed=0)
    frame = pa.table({name: [float(row[name]) for row in rows] for name in ("a", "b")})
    twin.learn_many(frame, [row["fraud"] for row in rows])
    lost = sum(number not in logged for number in acknowledged)
    twice = sum(count > 1 for count in logged.values())
    counted = content.counters["learned"] == len(rows) == steps_of(model)
    resumed = (folder / "serve.log").read_text().count("resuming from checkpoint")
    return Killed("service", killed, resumed, len(rows), lost, twice, counted and same(model, twin))


def rows_of_log(directory: Path) -> list[dict[str, Any]]:
    """All rows of a log, in its order."""
    rows: list[dict[str, Any]] = []
    with Journal(directory) as journal:
        for record in journal.read(0):
            if record.kind == Kind.JSON:
                rows += orjson.loads(record.payload)
    return rows


def steps_of(model: Any) -> int:
    """How many rows a model says that it has seen."""
    return int(model._last_step.describe()["arrivals"])


def same(first: Any, second: Any) -> bool:
    """Whether two models are equal to the bit, but for how densely rows were filled when the window last grew.

    That is counted by batches, and batches of a service are cut by the clock.
    """
    states = first.state_dict(), second.state_dict()
    names = [name for name in states[0] if name != "1.rows.window.seen"]
    return states[0].keys() == states[1].keys() and all(equal(states[0][name], states[1][name]) for name in names)


def equal(first: Any, second: Any) -> bool:
    if hasattr(first, "tobytes"):
        return bool(first.dtype == second.dtype and first.tobytes() == second.tobytes())
    return repr(first) == repr(second)


def main() -> None:
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory(prefix="serve-kills-") as folder:
        found = kill_a_service(Path(folder), kills)
    sys.stdout.write(f"{found}\n")
    sys.exit(0 if found.holds else 1)


if __name__ == "__main__":
    main()
