"""Run one of the fuzzers, or the soak, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[2]

__all__ = ["run_child"]


def run_child(module: str, *words: int, debug: bool = False, seconds: int = 3600) -> dict[str, Any]:
    """Return what it prints; a process that dies is a finding, too.

    Parameters
    ----------
    module
        `decoder_fuzz`, `checkpoint_fuzz`, `row_fuzz`, `threads` or `soak`.
    words
        Its arguments.
    debug
        Run under `-X dev` and with the allocator that notices writes out of bounds.
    seconds
        When to give up.

    """
    environment = {**os.environ, "PYTHONPATH": f"{PROJECT}{os.pathsep}{PROJECT / 'connectors'}"}
    if debug:
        environment["PYTHONMALLOC"] = "debug"
    script = str(Path(__file__).with_name(f"{module}.py"))
    command = [sys.executable, *(["-X", "dev"] if debug else []), script, *map(str, words)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=seconds)
    if done.returncode:
        return {"failures": [f"{module} ended with {done.returncode} after: {done.stderr[-300:]}"]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
