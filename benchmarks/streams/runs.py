"""Runs that are kept: each in a process of its own, at low priority, with a limit; what is known is not run again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.measure import ROOT, environment
from benchmarks.peers.systems import find_system, version_of

__all__ = ["Run", "recall", "run"]

# Seconds on the wall for a process that waits for others: to start and load, and for each second of its limit.
START, PATIENCE = 120, 6


@dataclass(frozen=True)
class Run:
    """What is run: a system on one order of a stream.

    Parameters
    ----------
    system, stream
        Their names.
    seed
        The seed of the order, or of the generator.
    rows
        At most so many rows.

    """

    system: str
    stream: str
    seed: int
    rows: int

    def path(self, folder: Path) -> Path:
        """Return where the result is kept."""
        safe = "".join(letter if letter.isalnum() else "_" for letter in self.system)
        return folder / self.stream / f"{self.rows}" / f"{safe}-{self.seed}.json"


def recall(run: Run, folder: Path) -> dict[str, Any] | None:
    """Return a kept result, or None if there is none for this version of the system."""
    path = run.path(folder)
    if not path.is_file():
        return None
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return kept if kept["version"] == version_of(find_system(run.system)) else None


def run(wanted: Run, folder: Path, limit: int) -> dict[str, Any]:
    """Run a system over a stream and keep the result.

    Parameters
    ----------
    wanted
        What to run.
    folder
        Where results are kept.
    limit
        Seconds of processor time for the stream, without loading it.

    """
    path = wanted.path(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    found = {
        "system": wanted.system,
        "stream": wanted.stream,
        "seed": wanted.seed,
        "version": version_of(find_system(wanted.system)),
        **ask_child(wanted, path.with_suffix(".npz"), limit),
    }
    # What could not be tried (a library or a data set is absent) may be there next time.
    if "missing" not in found:
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return found


def ask_child(wanted: Run, kept: Path, limit: int) -> dict[str, Any]:
    """Return what the process says, or why it says nothing."""
    command = ["nice", "-n", "19", sys.executable, "-m", "benchmarks.streams.child", wanted.system, wanted.stream]
    command += [str(wanted.seed), str(wanted.rows), str(limit), str(kept.resolve())]
    child = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment()},
        start_new_session=True,
    )
    patience = START + PATIENCE * limit
    try:
        printed, errors = child.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        return {"failed": f"not done after {patience} s"}
    finally:
        end(child)
    if child.returncode == -signal.SIGXCPU:
        return {"failed": f"not done after {limit} s of processor time"}
    if child.returncode:
        return {"failed": (errors.strip().splitlines() or [f"exit code {child.returncode}"])[-1]}
    said: dict[str, Any] = json.loads(printed.strip().splitlines()[-1])
    return said


def end(child: subprocess.Popen[str]) -> None:
    """End a process and what it started, if it still runs."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
