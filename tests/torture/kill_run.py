"""Run the command again and again in forked processes, kill each at a random instant, while a writer feeds its file.

Reads a plan as JSON from standard input, and prints what it did.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from fork_server import start, warm_up

LOG = Path("kill_run.log")


class Writer(threading.Thread):
    """Appends lines in pieces that cut them anywhere, and rotates the file as logrotate does.

    It rotates no earlier than there is a checkpoint: older generations of a file were never asked for. To copy and
    truncate a file loses what its reader has not read, so this waits until a checkpoint holds all that was written.
    """

    def __init__(self, plan: dict[str, Any], checkpoints: Path) -> None:
        super().__init__(daemon=True)
        self.path = Path(plan["path"])
        self.header, self.lines = plan["header"], plan["lines"]
        self.rotations, self.how, self.seconds = plan["rotations"], plan["how"], plan["seconds"]
        self.checkpoints = checkpoints
        self.written = 0
        self.generator = random.Random(3)

    def run(self) -> None:
        pieces = self.rotations + 1
        # In whole hundreds, after which there is a checkpoint: truncating waits for it.
        each = -(-len(self.lines) // pieces // 100) * 100
        for number in range(pieces):
            if number:
                self.rotate()
            self.append(self.lines[number * each : (number + 1) * each], number > 0)

    def append(self, lines: list[str], renewed: bool) -> None:
        head = self.header + "\n" if renewed and self.how == "rename" else ""
        data = (head + "\n".join(lines) + "\n").encode()
        step = len(data) // 20 + 2
        with self.path.open("ab", buffering=0) as file:
            first = 0
            while first < len(data):
                last = first + self.generator.randrange(1, step)
                file.write(data[first:last])
                first = last
                time.sleep(self.seconds / 20 / (self.rotations + 1))
        self.written += len(lines)

    def rotate(self) -> None:
        wanted = self.written if self.how == "copytruncate" else 0
        while newest(self.checkpoints) == 0 or rows_in(self.checkpoints) < wanted:
            time.sleep(0.01)
        for number in range(self.rotations, 0, -1):
            older = self.path.with_name(f"{self.path.name}.{number}")
            if older.exists():
                older.rename(self.path.with_name(f"{self.path.name}.{number + 1}"))
        first = self.path.with_name(f"{self.path.name}.1")
        if self.how == "rename":
            self.path.rename(first)
        else:
            shutil.copyfile(self.path, first)
            os.truncate(self.path, 0)


def newest(directory: Path) -> int:
    return max((int(path.name.removeprefix("ckpt-")) for path in directory.glob("ckpt-*")), default=0)


def rows_in(directory: Path) -> int:
    manifest = directory / f"ckpt-{newest(directory):012d}" / "manifest.json"
    try:
        return int(json.loads(manifest.read_text())["counters"]["rows"])
    except (OSError, ValueError, KeyError):
        return 0


def run_once(words: list[str], seconds: float | None = None) -> int:
    pid = start(words, [os.devnull, str(LOG), str(LOG)])
    if seconds is not None:
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def kill_often(plan: dict[str, Any], directory: Path) -> tuple[int, int]:
    """Return how many runs were killed, and the exit code of the last."""
    generator = random.Random(plan["seed"])
    killed, code, longest = 0, -signal.SIGKILL, 0.3
    while killed < plan["kills"] and code in (0, -signal.SIGKILL):
        before = newest(directory)
        code = run_once(plan["words"], generator.uniform(0.0, longest))
        killed += code == -signal.SIGKILL
        too_long = code == 0 or newest(directory) > before + 3
        longest = min(longest * (0.7 if too_long else 1.5 if newest(directory) == before else 1.0), 20.0)
    return killed, code


def main() -> None:
    plan = json.load(sys.stdin)
    warm_up(plan["warm_up"])
    directory = Path(plan["words"][plan["words"].index("--checkpoint") + 1])
    writer = None if plan.get("writer") is None else Writer(plan["writer"], directory)
    if writer is not None:
        writer.start()
    killed, code = kill_often(plan, directory)
    while writer is not None and writer.is_alive() and code in (0, -signal.SIGKILL):
        # Truncating waits for a reader: let it read on.
        code = run_once(plan["words"], 5.0)
    if code in (0, -signal.SIGKILL):
        code = run_once(plan["words"])
    if code != 0:
        sys.exit(f"a run failed with {code}: {LOG.read_text()[-2000:]}")
    log = LOG.read_text()
    if "Traceback" in log:
        sys.exit(f"a run printed a traceback: {log[log.index('Traceback') :][:2000]}")
    resumed = set(re.findall(r"resuming from checkpoint (\d+)", log))
    LOG.unlink()
    sys.stdout.write(json.dumps({"killed": killed, "resumed": len(resumed)}) + "\n")


if __name__ == "__main__":
    main()
