"""Checkpoints of every model, changed and sealed again with right digests, then verified, loaded and gone on with.

`python checkpoint_fuzz.py CHECKPOINTS SEED` prints how many it tried, how many were refused, and what failed: a signal,
a hang, an error that is not ours, or two commands of which one takes what the other refuses.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import random
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import click

sys.path.insert(0, str(Path(__file__).parent))

from checkpoint_changes import change
from forked import outcome
from fuzzed_models import LATE, MIXED, MODELS, WATCHED

from stream_maxloss.checkpoint import CheckpointStore, Content
from stream_maxloss.errors import CheckpointError, StreamMaxlossError
from stream_maxloss.run import Columns, Tail, load_run
from stream_maxloss.run.history import History
from stream_maxloss.run.saved import verify_run

GROUP = 100
# A run of other settings or columns, and numbers that may be and are too large to go on with.
ALLOWED = ("holds a run whose", "was learned from the columns", "a checkpoint of the model must be made")
SECONDS = 120
SLOWEST = 3.0  # seconds of processor time for one checkpoint, which takes a tenth of one otherwise
WORDS = ["loan", "late", "paid", "twice", "never", "cash"]
COMMANDS: list[list[str]] = [
    *(["inspect", "CHECKPOINT"], ["hard", "CHECKPOINT"], ["explain", "CHECKPOINT"], ["export", "CHECKPOINT"]),
    *(["explain", "CHECKPOINT", "--row", '{"a": 1, "b": "x"}'], ["export", "CHECKPOINT", "--to", "onnx", "-f", "OUT"]),
    ["predict", "SOURCE", "-c", "CHECKPOINT", "-p", "OUT"],
]
MEMORY = Path("/dev/shm")  # where every file that is forced to the disk costs nothing


class DisagreementError(Exception):
    """One way of loading a checkpoint takes it, another does not."""


def make_rows(path: Path, count: int) -> None:
    generator = random.Random(5)
    lines, labels, mixed = ["a,b,kind,y,c,z,id"], ["id,y"], []
    for number in range(count):
        a, b = generator.gauss(0, 1), generator.gauss(0, 1)
        kind, label = "rare" if a > 1 else "usual", "low" if b < -0.5 else "high" if b > 0.5 else "middle"
        lines.append(f"{a:.3f},{b:.3f},{kind},{str(a > b).lower()},{label},{a + b:.3f},k{number}")
        # Some labels come before their rows, some twice, some never.
        labels += [f"k{other},{str(a > b).lower()}" for other in (number, number + 40)[: generator.randrange(3)]]
        words = " ".join(generator.choice(WORDS) for _ in range(8))
        nested = {"place": {"x": a, "y": b}, "tags": WORDS[: generator.randrange(3)], "kind": kind, "note": words}
        mixed.append(json.dumps({"when": f"2024-01-{number % 28 + 1:02}T10:00:00", **nested, "y": a > b}))
    path.write_text("\n".join(lines) + "\n")
    path.with_name("labels.csv").write_text("\n".join(labels) + "\n")
    path.with_name("mixed.jsonl").write_text("\n".join(mixed) + "\n")


class Patient:
    """A model's run: how to start it, and its real checkpoint."""

    def __init__(self, name: str, folder: Path) -> None:
        self.make, self.target, self.task, self.delay = MODELS[name]
        self.name, self.source = name, folder / ("mixed.jsonl" if name in MIXED else "rows.csv")
        real = folder / name
        with self.tail(real, 200, predictions=folder / f"{name}.jsonl") as tail:
            tail.run()
        self.predictions = (folder / f"{name}.jsonl").read_bytes()
        self.content: Content = CheckpointStore(real).load()
        self.unfit = [is_unfit(command, self, real) for command in COMMANDS]

    def tail(self, folder: Path, limit: int | None = None, **options: Any) -> Tail:
        targets = () if self.name in MIXED else tuple(name for name in ("y", "c", "z", "id") if name != self.target)
        columns = Columns(self.target, slice_by="kind", exclude=targets)
        if self.name in LATE:
            # The target is in the rows, too, and not looked at.
            columns = Columns("y", slice_by="kind", key="id", exclude=("y", "c", "z"))
            options["labels"] = self.source.with_name("labels.csv")
        if self.name in WATCHED:
            options |= {"alerts": ["accuracy>0 for 10", "bad<1"], "attachments": {"history": History()}}
        metrics = ["mae"] if self.target == "z" else ["accuracy"]
        options |= {"metrics": metrics, "task": self.task, "delay": self.delay, "limit": limit}
        return Tail(self.source, self.make(), columns, checkpoint=folder, **options)


def use(patient: Patient, folder: Path, predictions: Path, turn: int) -> bool:
    """Do what a user does with a checkpoint; return whether it was refused."""
    path = CheckpointStore(folder).path(1)
    is_whole, problem = (report := verify_run(path)).ok, report.problem
    try:
        model, _, _ = load_run(folder)
    except CheckpointError as error:
        if is_whole:
            raise DisagreementError(f"verify takes what load_run refuses: {error}") from error
        refuse_too(patient, folder, problem)
        return True
    if not is_whole:
        raise DisagreementError(f"load_run takes what verify refuses: {problem}")
    try:
        model.predict_one({"a": 1.0, "b": 2.0})
    except ValueError as error:
        if "feature" not in str(error):  # such a row is refused, by a model whose parameters were changed
            raise
    turn %= len(COMMANDS)
    if not patient.unfit[turn]:
        look_at(patient, folder, COMMANDS[turn])
    predictions.write_bytes(patient.predictions)
    try:
        tail = patient.tail(folder, predictions=predictions)
        with tail:
            tail.run()
    except CheckpointError as error:
        if not any(words in str(error) for words in ALLOWED):
            raise DisagreementError(f"a run refuses what verify takes: {error}") from error
    except StreamMaxlossError:
        pass  # a position that may be, but is not one of this file
    return False


def look_at(patient: Patient, folder: Path, command: list[str]) -> None:
    """Ask one of the commands that only read."""
    from stream_maxloss.cli.app import app

    places = {"CHECKPOINT": str(folder), "SOURCE": str(patient.source), "OUT": str(folder.with_name("looked.jsonl"))}
    words = [places.get(word, word) for word in command]
    told = io.TextIOWrapper(io.BytesIO())  # with bytes below it, to which `export` writes
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(io.StringIO()):
        try:
            app.main(words, standalone_mode=False)
        except CheckpointError as error:
            raise DisagreementError(f"{words[0]} refuses what verify takes: {error}") from error
        except (StreamMaxlossError, click.ClickException, click.exceptions.Exit):
            pass  # not for this model, or a row that it cannot be


def is_unfit(command: list[str], patient: Patient, folder: Path) -> bool:
    """Return whether a command is not for this model, whose checkpoint is whole."""
    try:
        look_at(patient, folder, command)
    except DisagreementError:
        return True
    return False


def refuse_too(patient: Patient, folder: Path, problem: str | None) -> None:
    try:
        with patient.tail(folder):
            pass
    except StreamMaxlossError:
        return
    raise DisagreementError(f"a run takes what verify refuses: {problem}")


def seal(content: Content, place: Path) -> bool:
    """Write a checkpoint with right digests in place of the last; False if it cannot even be written."""
    shutil.rmtree(place, ignore_errors=True)
    store = CheckpointStore(place)
    try:
        store.lock()
        store.save(content)
    except (StreamMaxlossError, TypeError, ValueError, OverflowError):
        return False
    finally:
        store.close()
    return True


def run_group(patients: list[Patient], cases: list[int], seed: int, folder: Path, found: Path) -> None:
    """Try some changed checkpoints; what came of each is appended to a file, so that a crash leaves the others."""
    warnings.simplefilter("ignore")
    with found.open("a", buffering=1) as file:
        for number in cases:
            patient = patients[number % len(patients)]
            result = "not written"
            if seal(change(patient.content, random.Random(f"{seed}:{number}")), folder / "changed"):
                file.write(json.dumps([number, "begun"]) + "\n")
                began = time.process_time()
                try:
                    # By the case's number: children that count for themselves would all begin with the first command.
                    is_refused = use(patient, folder / "changed", folder / "out.jsonl", number // len(patients))
                    result = "refused" if is_refused else "taken"
                except Exception as error:
                    where = traceback.extract_tb(error.__traceback__)[-1]
                    place = f"{Path(where.filename).name}:{where.lineno}"
                    result = f"{patient.name}: {type(error).__name__} at {place}: {str(error)[:300]}"
                if (taken := time.process_time() - began) > SLOWEST:
                    result = f"{patient.name}: {result}, after {taken:.1f} s"
            file.write(json.dumps([number, result]) + "\n")


def load_all(patients: list[Patient], folder: Path) -> None:
    """Use every checkpoint as it is, with every command: it must be taken, and children need not load code again."""
    for patient in patients:
        for turn in range(len(COMMANDS)):
            is_sealed = seal(patient.content, folder / "changed")
            if not is_sealed or use(patient, folder / "changed", folder / "out.jsonl", turn):
                raise DisagreementError(f"the checkpoint of {patient.name!r} must be taken as it was written")


def fuzz(wanted: int, seed: int, folder: Path) -> dict[str, Any]:
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)  # each run says that it resumes
    make_rows(folder / "rows.csv", 300)
    patients = [Patient(name, folder) for name in MODELS]
    load_all(patients, folder)
    results: dict[int, str] = {}
    for first in range(0, wanted, GROUP):
        todo = list(range(first, min(first + GROUP, wanted)))
        while todo:
            found = folder / "found.txt"
            found.unlink(missing_ok=True)
            end = outcome(lambda todo=todo, found=found: run_group(patients, todo, seed, folder, found), SECONDS)
            results |= dict(map(json.loads, found.read_text().splitlines()) if found.exists() else [])
            done = [number for number in todo if number in results]
            if end is not None:
                results[done[-1] if done else todo[0]] = f"{patients[(done or todo)[-1] % len(patients)].name}: {end}"
                done = done or todo[:1]
            todo = [number for number in todo if number not in done]
        if first % 1000 == 0:
            # It takes an hour: what is known so far.
            sys.stderr.write(json.dumps(summary(results, seed)) + "\n")
    return summary(results, seed)


def summary(results: dict[int, str], seed: int) -> dict[str, Any]:
    plain = ("refused", "taken", "not written")
    failures = [f"{seed}:{number}: {result}" for number, result in results.items() if result not in plain]
    counts = {word.replace(" ", "_"): sum(result == word for result in results.values()) for word in plain}
    crashes = sum("SIG" in failure or failure.endswith("hung") for failure in failures)
    tried = len(results) - counts["not_written"]
    return {"checkpoints": tried, **counts, "failures": len(failures), "crashes": crashes, "first": failures[:40]}


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="torture-", dir=MEMORY if MEMORY.is_dir() else None) as folder:
        result = fuzz(int(sys.argv[1]), int(sys.argv[2]), Path(folder))
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
