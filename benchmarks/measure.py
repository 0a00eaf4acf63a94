"""Runs the systems of a point in turn, each in its own process, and sums the repeats up."""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.point import OURS, Point

__all__ = ["Effort", "measure_point", "spread"]

ROOT = Path(__file__).resolve().parent.parent
# One core per system: a library that spreads over all cores would be compared with one that does not.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
# What a process that observes a system starts with.
PRELOADED = [
    "pyarrow.parquet",
    "river.compose",
    "river.forest",
    "river.imblearn",
    "river.linear_model",
    "sklearn.linear_model",
    "stream_maxloss.evaluate",
    "stream_maxloss.focus",
    "stream_maxloss.linear",
    "stream_maxloss.metrics",
]


class Effort:
    """How long to measure.

    Parameters
    ----------
    repeats
        Repeats of each system.
    seconds
        Length of one repeat.

    """

    def __init__(self, repeats: int, seconds: float) -> None:
        self.repeats = repeats
        self.seconds = seconds


def environment(root: Path = ROOT) -> dict[str, str]:
    """Return what a process that measures has to be told."""
    paths = [str(root), str(root / "connectors"), os.environ.get("PYTHONPATH", "")]
    return {**ONE_THREAD, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}


class Worker:
    """A process that runs one system, of this tree or of the one in another `root`."""

    def __init__(self, case: str, system: str, point: Point, seconds: float, root: Path = ROOT) -> None:
        command = [sys.executable, "-m", "benchmarks.worker", case, system, str(seconds)]
        self.process = subprocess.Popen(
            [*command, json.dumps(point.settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=root,
            env={**os.environ, **environment(root)},
        )

    def read(self) -> dict[str, Any]:
        """Return the process' next answer."""
        line = self.process.stdout.readline() if self.process.stdout else ""
        if not line:
            raise RuntimeError(f"the worker must answer, but it ended with {self.process.wait()}; see its error above")
        message: dict[str, Any] = json.loads(line)
        return message

    def run(self) -> dict[str, Any]:
        """Ask for one repeat."""
        if self.process.stdin is not None:
            self.process.stdin.write("go\n")
            self.process.stdin.flush()
        return self.read()

    def end(self) -> None:
        """Let the process finish, or end it."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(timeout=30.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def spread(values: list[float]) -> dict[str, float]:
    """Return median, quartiles and extremes."""
    lower, median, upper = np.percentile(values, [25.0, 50.0, 75.0]).tolist()
    return {"median": median, "lower": lower, "upper": upper, "least": min(values), "most": max(values)}


def measure_point(case: str, point: Point, effort: Effort) -> dict[str, Any]:
    """Measure one point. Return facts, or seconds per unit of each system and the ratios to ours."""
    if point.kind == "fact":
        return {"label": point.label, "facts": observe(case, point)}
    workers: dict[str, Worker] = {}
    missing: dict[str, str] = {}
    costs: dict[str, list[float]] = {}
    idle: dict[str, float] = {}
    repeats = effort.repeats if point.repeats is None else point.repeats
    try:
        for system in point.systems:
            workers[system] = Worker(case, system, point, effort.seconds)
        for system, worker in workers.items():
            first = worker.read()
            if "missing" in first:
                missing[system] = first["missing"]
            else:
                costs[system] = []
        # Calibrate one after the other, once all are ready: a neighbour's warm-up would spoil it.
        for system in costs:
            workers[system].run()
        for _ in range(repeats):
            for system, taken in costs.items():
                message = workers[system].run()
                taken.append(message["seconds"] / message["units"])
                idle[system] = idle.get(system, 0.0) + message["wall"] / message["seconds"] / repeats
    finally:
        for worker in workers.values():
            worker.end()
    return {
        "label": point.label,
        "unit": point.unit,
        "settings": point.settings,
        "repeats": repeats,
        "seconds_per_unit": {system: spread(taken) for system, taken in costs.items()},
        "ratios": ratios_to_ours(costs),
        "wall_over_processor_time": idle,
        "missing": missing,
    }


def ratios_to_ours(costs: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    """Return each peer's time over ours, repeat by repeat: neighbours in time share the machine's mood."""
    ours = costs.get(OURS)
    if not ours:
        return {}
    ratios = {}
    for system, taken in costs.items():
        if system == OURS:
            continue
        pairs = [theirs / mine for theirs, mine in zip(taken, ours, strict=True)]
        ratios[system] = {**spread(pairs), "of_least": min(taken) / min(ours)}
    return ratios


def observe(case: str, point: Point) -> dict[str, Any]:
    """Return what each system says of itself, or why it says nothing; each in a new process.

    The processes are forks of one that has imported what most of them need: that takes longer than many a fact.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    with one_thread(), ProcessPoolExecutor(point.at_once, mp_context=context, max_tasks_per_child=1) as processes:
        found = processes.map(ask, repeat(case), point.systems, repeat(point.settings), repeat(dict(os.environ)))
        return dict(zip(point.systems, found, strict=True))


def ask(case: str, system: str, settings: dict[str, Any], variables: dict[str, str]) -> dict[str, Any]:
    """Return what one system says of itself, in the environment of now: the process forked from may be older."""
    os.environ.update(variables)
    try:
        fact: dict[str, Any] = importlib.import_module(f"benchmarks.cases.{case}").observe(system, settings)
    except ImportError as error:
        return {"missing": str(error)}
    return fact


@contextmanager
def one_thread() -> Iterator[None]:
    """Tell the processes that are started meanwhile to use one thread and where the sources are."""
    before = dict(os.environ)
    os.environ.update(environment())
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
