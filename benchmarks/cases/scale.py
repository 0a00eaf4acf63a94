"""What a second core buys: decoders beside the learner, and several models on one stream."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.cases.kafka import REASON, SERVERS, fill, remove, start_broker
from benchmarks.point import OURS, Point, claim
from benchmarks.processes import peer_over_ours, run, take_turns
from benchmarks.row_files import row_file, shared_folder

TITLE = "A second core"
INCLUDED = (
    "Whole processes from start to exit, in turns, over the same rows, on the wall. `--decoders 2` beside "
    "`--decoders 1` for a file of JSON lines (22 fields; threads decode), and beside no decoders for a Kafka topic "
    "(JSON of 9 fields on a real broker on this machine; a process decodes), with a linear model (`--model hinge "
    "--no-focus --no-scale`) and with the default one. `compare` of four linear models over Arrow on two cores beside "
    "the same command held to one."
)
AXIS = None
LINEAR = ("--model", "hinge", "--no-focus", "--no-scale")
TARGETS = {
    "jsonl-linear": 1.4,
    "jsonl-auto": 1.2,
    "kafka-linear": 1.4,
    "kafka-auto": 1.2,
    "compare": 1.7,
}
ROWS, FEW = 1_000_000, 200_000
MODELS = ("hinge", "lld", "pegasos", "perceptron")


def points(quick: bool) -> list[Point]:
    """Return the file, the topic and the comparison; in the quick form, with few rows."""
    rows, few, repeats = (20_000, 10_000, 1) if quick else (ROWS, FEW, 3)
    found = []
    for name, count in (("jsonl-linear", rows), ("jsonl-auto", few), ("kafka-linear", rows), ("kafka-auto", few)):
        source, _, model = name.partition("-")
        label = f"{'JSON lines' if source == 'jsonl' else 'Kafka'}, {model} model, {count:,} rows"
        settings = {"source": source, "linear": model == "linear", "rows": count, "repeats": repeats}
        found.append(Point(name, label, (OURS,), settings, kind="fact"))
    settings = {"source": "compare", "linear": True, "rows": rows, "repeats": repeats}
    return [*found, Point("compare", f"four models compared, {rows:,} rows", (OURS,), settings, kind="fact")]


@contextmanager
def surroundings(quick: bool) -> Iterator[None]:
    """Hold a folder for the files and a broker with a topic for each number of rows."""
    from stream_maxloss.errors import StreamMaxlossError

    os.environ.pop(REASON, None)
    counts = sorted({point.settings["rows"] for point in points(quick) if point.settings["source"] == "kafka"})
    with shared_folder():
        try:
            broker = start_broker()
        except StreamMaxlossError as error:
            os.environ[REASON] = str(error)
            yield
            return
        with broker as address:
            os.environ[SERVERS] = address
            try:
                for rows in counts:
                    fill(address, topic_of(rows), rows, labelled=True)
                yield
            finally:
                for rows in counts:
                    remove(address, topic_of(rows))


def topic_of(rows: int) -> str:
    """Return the topic of a number of rows."""
    return f"benchmark-scale-{rows}"


def observe(system: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the times with one and with two at work, and their ratio."""
    one, two = commands(**{key: settings[key] for key in ("source", "linear", "rows")})
    run(two)  # compiles what no run before has compiled
    runs = take_turns({"one": lambda: run(one), "two": lambda: run(two)}, settings["repeats"])
    walls = {name: [taken.wall for taken in each] for name, each in runs.items()}
    return {"rows": settings["rows"], "seconds": walls, "ratio": peer_over_ours(walls["one"], walls["two"])}


def commands(source: str, linear: bool, rows: int) -> tuple[list[str], list[str]]:
    """Return the command with one at work and with two."""
    model = LINEAR if linear else ()
    if source == "compare":
        if shutil.which("taskset") is None:
            raise ImportError("taskset must be there to hold a process to one core; install util-linux")
        words = [word for name in MODELS for word in ("--model", name)]
        both = maxloss("compare", str(row_file(".arrow", rows)), "--target", "y", *words)
        return ["taskset", "-c", "0", *both], both
    if source == "jsonl":
        words = maxloss("tail", str(row_file(".jsonl", rows)), "--target", "y", *model)
        return [*words, "--decoders", "1"], [*words, "--decoders", "2"]
    if REASON in os.environ:
        raise ImportError(os.environ[REASON])
    uri = f"kafka://{os.environ[SERVERS]}/{topic_of(rows)}"
    words = maxloss("tail", uri, "--target", "y", "--until-eof", *model)
    return words, [*words, "--decoders", "2"]


def maxloss(*words: str) -> list[str]:
    """Return our command."""
    return [sys.executable, "-m", "stream_maxloss.cli", *words]


def conclude(measured: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return how many times as fast a second core makes it."""
    claims = []
    for name, target in TARGETS.items():
        ratio = measured.get(name, {}).get("facts", {}).get(OURS, {}).get("ratio")
        if ratio is not None:
            quartiles = {"lower": ratio["lower"], "upper": ratio["upper"]}
            # Few rows are learned in less time than a process takes to start.
            counts = measured[name]["facts"][OURS]["rows"] >= FEW
            goal = target if counts else None
            claims.append(claim(name, measured[name]["label"], ratio["median"], target=goal, **quartiles))
    return claims
