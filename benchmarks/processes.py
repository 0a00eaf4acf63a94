"""Whole processes, from start to exit: how long they take, how much processor time and how much memory."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.measure import ONE_THREAD, spread

__all__ = ["Run", "peer_over_ours", "resident_bytes", "run", "take_turns"]


@dataclass(frozen=True)
class Run:
    """One run of a command.

    Parameters
    ----------
    wall, processor
        Seconds, the second summed over all threads.
    resident
        Pairs of seconds since the start and bytes held, if they were asked for.

    """

    wall: float
    processor: float
    resident: list[tuple[float, int]] = field(default_factory=list)


def run(command: Sequence[str], sample_every: float | None = None) -> Run:
    """Run a command to its end, with as many threads as it likes.

    Parameters
    ----------
    command
        Program and arguments. Its output is thrown away.
    sample_every
        Seconds between two looks at its memory; None not to look.

    Raises
    ------
    RuntimeError
        If it fails.

    """
    # Python keeps what it compiles of a module, as an installed package has it kept.
    left_out = {*ONE_THREAD, "PYTHONDONTWRITEBYTECODE"}
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
    resident = []
    try:
        while sample_every is not None and process.poll() is None and (held := resident_bytes(process.pid)):
            resident.append((time.perf_counter() - started, held))
            time.sleep(sample_every)
        before = os.times()
        _, told = process.communicate()
        wall, after = time.perf_counter() - started, os.times()
    finally:
        process.kill()
        process.wait()
    if process.returncode != 0:
        last = told.decode(errors="replace").strip().splitlines()[-1:]
        raise RuntimeError(f"{' '.join(command)} must succeed, got exit code {process.returncode}: {last}")
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    return Run(wall, processor, resident)


def resident_bytes(pid: int | str = "self", field: str = "VmRSS") -> int:
    """Return the memory that a process holds, or another field of its status in bytes; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:")), 0)


def take_turns(works: dict[str, Callable[[], Run]], repeats: int) -> dict[str, list[Run]]:
    """Run each in turn, again and again, so that all meet the same noise."""
    runs: dict[str, list[Run]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            runs[name].append(work())
    return runs


def peer_over_ours(peer: Sequence[float], ours: Sequence[float]) -> dict[str, Any]:
    """Return the ratios of runs that took turns."""
    return spread([theirs / mine for theirs, mine in zip(peer, ours, strict=True)])
