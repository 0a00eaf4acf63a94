"""Starts the process that compiles a part of the demonstration's kernels, before this one has imported anything."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["compiling_elsewhere"]


@contextmanager
def compiling_elsewhere() -> Iterator[subprocess.Popen[bytes]]:
    """Give the process that compiles, which ends with the block."""
    command = [sys.executable, "-m", "stream_maxloss.cli.demo.kernels"]
    nowhere = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere) as other:
        try:
            yield other
        finally:
            other.kill()
