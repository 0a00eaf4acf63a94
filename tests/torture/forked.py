"""Run something in a forked child, so that a crash is a finding and not the end."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable

from stream_maxloss.errors import StreamMaxlossError

__all__ = ["outcome"]

_MOST_BYTES = 4000


def outcome(action: Callable[[], None], seconds: int = 20, refusals: tuple[type[Exception], ...] = ()) -> str | None:
    """Return None if the action ended, or was refused with an error of ours; else the signal, or the last of the trace.

    Parameters
    ----------
    action
        What to do.
    seconds
        When to take it for hanging; wall time, since the machine may be busy.
    refusals
        Errors beside ours by which a wrong argument may be refused.

    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        signal.alarm(seconds)
        code = 0
        try:
            action()
        except (StreamMaxlossError, *refusals):
            pass
        except BaseException:
            os.write(writer, traceback.format_exc()[-_MOST_BYTES:].encode())
            code = 1
        os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        trace = pipe.read().decode(errors="replace")
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code < 0:
        name = signal.Signals(-code).name
        return "hung" if name == "SIGALRM" else name
    return trace or f"exit code {code}" if code else None
