"""Runs the systems of a point in turn, each in its own process, and sums the repeats up."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.point import OURS, Point

__all__ = ["Effort", "measure_point", "spread"]

ROOT = Path(__file__).resolve().parent.parent
# One core per system: a library that spreads over all cores would be compared with one that does not.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
PATIENCE = 600.0


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


class Worker:
    """A process that runs one system."""

    def __init__(self, case: str, system: str, point: Point, seconds: float) -> None:
        command = [sys.executable, "-m", "benchmarks.worker", case, system, point.kind, str(seconds)]
        paths = [str(ROOT), str(ROOT / "connectors"), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
        self.process = subprocess.Popen(
            [*command, json.dumps(point.settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment,
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
        for _ in range(effort.repeats):
            for system, taken in costs.items():
                message = workers[system].run()
                taken.append(message["seconds"] / message["units"])
                idle[system] = idle.get(system, 0.0) + message["wall"] / message["seconds"] / effort.repeats
    finally:
        for worker in workers.values():
            worker.end()
    return {
        "label": point.label,
        "unit": point.unit,
        "settings": point.settings,
        "repeats": effort.repeats,
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
    """Return what each system says of itself."""
    with ThreadPoolExecutor(max_workers=point.at_once) as threads:
        found = threads.map(lambda system: ask(case, system, point), point.systems)
        return dict(zip(point.systems, found, strict=True))


def ask(case: str, system: str, point: Point) -> Any:
    """Return what one system says of itself, or why it says nothing."""
    worker = Worker(case, system, point, 0.0)
    try:
        message = worker.read()
    finally:
        worker.end()
    return message["fact"] if "fact" in message else {"missing": message["missing"]}
