"""One system at one point, timed in a process of its own: prepares and warms up, then runs for each line it reads.

The parent holds one such process per system and asks them in turn, so that all systems meet the same noise.
"""

from __future__ import annotations

import gc
import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

__all__ = ["main"]


def repeat(work: Callable[[], int], times: int) -> tuple[float, float, int]:
    """Return processor seconds, seconds on the wall and units of running the work so many times.

    All systems run on one thread, so on an idle machine the two agree; on a busy one the first leaves out the time
    that other processes took.
    """
    units = 0
    wall, busy = time.perf_counter(), time.process_time()
    for _ in range(times):
        units += work()
    return time.process_time() - busy, time.perf_counter() - wall, units


def calibrate(work: Callable[[], int], seconds: float) -> int:
    """Return how often the work has to run to take about so many seconds."""
    times = 1
    while True:
        taken, _, _ = repeat(work, times)
        if taken >= seconds / 2.0 or times >= 1 << 20:
            return max(1, round(times * seconds / max(taken, 1e-9)))
        times *= 2


def answer(message: dict[str, Any]) -> None:
    """Send one line to the parent."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def main(arguments: list[str]) -> None:
    """Run `python -m benchmarks.worker case system seconds settings`."""
    name, system, seconds, settings = arguments
    case = importlib.import_module(f"benchmarks.cases.{name}")
    try:
        work = case.prepare(system, json.loads(settings))
        work()
    except ImportError as error:
        answer({"missing": str(error)})
        return
    # All systems of a point get ready at the same time; from here on they are asked one by one.
    answer({"prepared": True})
    sys.stdin.readline()
    times = calibrate(work, float(seconds))
    gc.collect()
    gc.disable()
    answer({"ready": times})
    for _ in sys.stdin:
        taken, wall, units = repeat(work, times)
        answer({"seconds": taken, "wall": wall, "units": units})
        gc.collect()


if __name__ == "__main__":
    main(sys.argv[1:])
