"""Run the command in forked processes and kill each with SIGKILL at a random instant.

How long runs may live follows how far they get, so that on a slow machine and on a fast one most of them are killed
after they have gone on from a checkpoint and before they have written more than a few. A writer may append to a file
meanwhile.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from fork_server import start, warm_up

LOG = Path("kill_loop.log")


def append(path: Path, lines: list[str], seconds: float) -> None:
    """Append lines in pieces that cut them anywhere, as a writer that knows nothing of lines."""
    data = ("\n".join(lines) + "\n").encode()
    generator = random.Random(3)
    with path.open("ab", buffering=0) as file:
        first = 0
        while first < len(data):
            last = first + generator.randrange(1, len(data) // 50 + 2)
            file.write(data[first:last])
            first = last
            time.sleep(seconds / 50)


def run_once(words: list[str], seconds: float | None = None) -> int:
    """Run the command, to its end or for some seconds; return its exit code, negative if it was killed."""
    pid = start(words, [os.devnull, str(LOG), str(LOG)])
    if seconds is not None:
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def newest(directory: Path) -> int:
    """Return the number of the newest checkpoint, 0 if there is none."""
    return max((int(path.name.removeprefix("ckpt-")) for path in directory.glob("ckpt-*")), default=0)


def main() -> None:
    plan = json.load(sys.stdin)
    warm_up(plan["warm_up"])
    generator = random.Random(plan["seed"])
    writer = None
    if plan["feed"]:
        path, lines, seconds = plan["feed"]
        writer = threading.Thread(target=append, args=(Path(path), lines, seconds), daemon=True)
        writer.start()
    killed, code, longest = 0, -signal.SIGKILL, 0.2
    directory = Path(plan["words"][plan["words"].index("--checkpoint") + 1])
    while killed < plan["kills"] and code in (0, -signal.SIGKILL):
        before = newest(directory)
        code = run_once(plan["words"], generator.uniform(0.0, longest))
        killed += code == -signal.SIGKILL
        # A run that came to its end is killed all the same when it is started again: that must change nothing.
        too_long = code == 0 or newest(directory) > before + 2
        longest *= 0.7 if too_long else 1.25 if newest(directory) == before else 1.0
    if writer is not None:
        writer.join()
    if code in (0, -signal.SIGKILL):
        code = run_once(plan["words"])
    if code != 0:
        sys.exit(f"a run failed with {code}: {LOG.read_text()[-2000:]}")
    resumed = set(re.findall(r"resuming from checkpoint (\d+)", LOG.read_text()))
    LOG.unlink()
    sys.stdout.write(json.dumps({"killed": killed, "resumed": len(resumed)}) + "\n")


if __name__ == "__main__":
    main()
