"""The first row of a process with no kernels on disk, and with them."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from typing import Any

from benchmarks.point import OURS, Point, claim

TITLE = "The first row"
INCLUDED = (
    "The first `learn_one` of a fresh process, with an empty folder for compiled kernels (cold) and once they are on "
    "disk (warm): seconds of processor time from the call to its return, after the imports."
)
AXIS = None
# Seconds that a user may wait, once.
TARGETS = {"bare": 3.0, "focused": 6.0}
MODELS = {
    "bare": "from stream_maxloss.linear import HingeOGD\nmodel = HingeOGD()",
    "focused": (
        "from stream_maxloss.focus import FocusedClassifier\nfrom stream_maxloss.linear import HingeOGD\n"
        "model = FocusedClassifier(HingeOGD())"
    ),
}
CLOCK = """
import time
started = time.process_time()
model.learn_one({"a": 1.0, "b": 2.0}, True)
print(time.process_time() - started)
"""


def points(quick: bool) -> list[Point]:
    """Return a bare learner and a focused one."""
    repeats = 1 if quick else 3
    return [Point(name, name, (OURS,), {"model": name, "repeats": repeats}, kind="fact") for name in MODELS]


def observe(system: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the seconds of a first row, cold and warm."""
    cold, warm = [], []
    for _ in range(settings["repeats"]):
        with tempfile.TemporaryDirectory() as folder:
            cold.append(first_row(settings["model"], folder))
            warm.append(first_row(settings["model"], folder))
    return {"cold": statistics.median(cold), "warm": statistics.median(warm)}


def first_row(model: str, folder: str) -> float:
    """Return the seconds that a child process takes for its first row."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
    command = [sys.executable, "-c", MODELS[model] + CLOCK]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300, env=environment)
    return float(done.stdout)


def conclude(measured: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the waits for a first row."""
    claims = []
    for name, point in measured.items():
        limit: dict[str, Any] = {"suffix": " s", "at_most": True, "target": TARGETS[name]}
        fact = point["facts"][OURS]
        claims.append(claim(name, f"first row of a {name} learner, no kernels on disk", fact["cold"], **limit))
    return claims
