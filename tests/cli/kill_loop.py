"""Run the command in forked processes and kill each with SIGKILL at a random instant.

Starting Python and loading kernels takes seconds, in which there is nothing to be lost: they are done once, here, and
each run is a fork that goes straight to the command's own entry point. A writer may append to a file meanwhile.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import signal
import sys
import threading
import time
from pathlib import Path


def warm_up(words: list[str]) -> None:
    """Run the command once on a few rows, which loads all that it needs. Arrow's threads are made anew by a fork."""
    from stream_maxloss.cli import main

    sys.argv = ["maxloss", *words]
    try:
        with Path(os.devnull).open("w") as nothing, contextlib.redirect_stdout(nothing):
            main()
    except SystemExit as end:
        if end.code != 0:
            raise


def start(words: list[str]) -> int:
    """Fork a process that runs the command."""
    pid = os.fork()
    if pid:
        return pid
    try:
        log = os.open("kill_loop.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.argv = ["maxloss", *words]
        from stream_maxloss.cli import main

        main()
    except SystemExit as end:
        sys.stdout.flush()
        os._exit(end.code if isinstance(end.code, int) else 1)
    except BaseException:
        import traceback

        traceback.print_exc()
    os._exit(99)


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


def main() -> None:
    plan = json.loads(sys.argv[1])
    warm_up(plan["warm_up"])
    generator = random.Random(plan["seed"])
    writer = None
    if plan["feed"]:
        path, lines, seconds = plan["feed"]
        writer = threading.Thread(target=append, args=(Path(path), lines, seconds), daemon=True)
        writer.start()
    killed, codes = 0, []
    while killed < plan["kills"]:
        pid = start(plan["words"])
        time.sleep(generator.uniform(0.0, plan["longest"]))
        os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
        if os.WIFSIGNALED(status):
            killed += 1
        else:
            codes.append(os.WEXITSTATUS(status))
            if codes[-1] != 0:
                sys.exit(f"a run failed with {codes[-1]}: {Path('kill_loop.log').read_text()[-2000:]}")
            break
    if writer is not None:
        writer.join()
    began = time.monotonic()
    code = os.waitstatus_to_exitcode(os.waitpid(start(plan["words"]), 0)[1])
    if code != 0:
        sys.exit(f"the last run failed with {code}: {Path('kill_loop.log').read_text()[-2000:]}")
    log = Path("kill_loop.log")
    resumed = re.findall(r"going on from checkpoint (\d+)", log.read_text())
    log.unlink()
    result = {"killed": killed, "finished_early": len(codes), "resumed": len(set(resumed))}
    sys.stdout.write(json.dumps({**result, "seconds": time.monotonic() - began}) + "\n")


if __name__ == "__main__":
    main()
