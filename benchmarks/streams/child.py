"""One system on one stream, in a process of its own: prints its figures as one line of JSON."""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.systems import find_system
from benchmarks.processes import resident_bytes
from benchmarks.quality.scores import watch
from benchmarks.streams.catalogue import open_stream
from benchmarks.streams.scores import score

__all__ = ["main"]

# Processor time is counted in steps of some milliseconds.
CLOCK = 0.004


def limit_processor_time(seconds: int) -> None:
    """Let the system end this process after so many more seconds of processor time: others may be using the machine."""
    used = int(time.process_time()) + 1
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, resource.RLIM_INFINITY))


def observe(name: str, stream_name: str, seed: int, rows: int, limit: int, kept: Path) -> dict[str, Any]:
    """Run a system over a stream, keep its answers and return its figures, or why there are none."""
    try:
        stream = open_stream(stream_name, seed, rows)
        run = find_system(name).prepare(name, stream)
    except (ImportError, FileNotFoundError) as error:
        return {"missing": str(error)}
    limit_processor_time(limit)
    answers, seconds, grown = watch(run)
    save_answers(kept, answers)
    cost = {
        "seconds": seconds,
        "rows a second": len(stream) / max(seconds, CLOCK),
        "bytes grown": grown,
        "peak bytes": resident_bytes(field="VmHWM"),
    }
    if not np.all(np.isfinite(answers)):
        return {"failed": "its answers are not finite", "rows": len(stream), **cost}
    return {"kind": stream.kind, "rows": len(stream), "rare": stream.rare, **cost, **score(stream, answers)}


def save_answers(path: Path, answers: NDArray[np.float64]) -> None:
    """Keep the answers, so that a new figure needs no new run."""
    np.savez_compressed(path, answers=answers if answers.ndim == 1 else answers.astype(np.float32))


def main(arguments: list[str]) -> None:
    """Run `python -m benchmarks.streams.child system stream seed rows limit answers`."""
    name, stream, seed, rows, limit, kept = arguments
    found = observe(name, stream, int(seed), int(rows), int(limit), Path(kept))
    sys.stdout.write("\n" + json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
