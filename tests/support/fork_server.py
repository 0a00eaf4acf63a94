"""Run the command in forked processes, one per line of standard input.

Starting Python and loading what is compiled takes seconds for each command, and is the same each time. It is done once,
here; each run is then a process of its own that goes straight to the command's entry point.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path


def warm_up(words: Sequence[str]) -> None:
    """Run the command once on a few rows, which loads all that it needs. Arrow's threads are made anew by a fork."""
    from stream_maxloss.cli import main

    sys.argv = ["maxloss", *words]
    try:
        with Path(os.devnull).open("w") as nothing, contextlib.redirect_stdout(nothing):
            main()
    except SystemExit as end:
        if end.code != 0:
            raise


def start(words: Sequence[str], streams: Sequence[str], environment: dict[str, str] | None = None) -> int:
    """Fork a process that runs the command with files for its three streams, and return its number."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        modes = (os.O_RDONLY, os.O_WRONLY | os.O_CREAT | os.O_APPEND, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for number, (stream, mode) in enumerate(zip(streams, modes, strict=True)):
            os.dup2(os.open(stream, mode), number)
        os.environ.update(environment or {})
        run(words)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def run(words: Sequence[str]) -> None:
    from stream_maxloss.checkpoint.files import arm_crash_point
    from stream_maxloss.cli import main

    arm_crash_point(os.environ.get("STREAM_MAXLOSS_CRASH_AT"))
    sys.argv = ["maxloss", *words]
    main()


def serve() -> None:
    warm_up(json.loads(sys.stdin.readline()))
    for line in sys.stdin:
        request = json.loads(line)
        os.chdir(request["folder"])
        pid = start(request["words"], request["streams"], request["environment"])
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        sys.stdout.write(f"{code}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
