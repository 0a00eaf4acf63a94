"""A command in a terminal of any size, with all the bytes that it wrote."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
import threading
from collections.abc import Sequence
from pathlib import Path

SECONDS = 240


def run_in_terminal(
    command: Sequence[str], folder: Path, environment: dict[str, str], width: int = 80, height: int = 24
) -> tuple[int, str]:
    """Run a command to its end in a terminal; return its exit code and what it wrote there."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    kept = {name: value for name, value in environment.items() if name not in ("COLUMNS", "LINES")}
    process = subprocess.Popen(list(command), cwd=folder, env=kept, start_new_session=True, **streams)
    os.close(theirs)
    too_long = threading.Timer(SECONDS, process.kill)
    too_long.start()
    written = bytearray()
    try:
        while piece := read_piece(ours):
            written += piece
    finally:
        code = process.wait(timeout=SECONDS)
        too_long.cancel()
        os.close(ours)
    return code, written.decode(errors="replace")


def read_piece(terminal: int) -> bytes:
    """Return what was written, nothing once nobody writes any more."""
    try:
        return os.read(terminal, 65_536)
    except OSError:  # Linux says so when the last process has left the terminal
        return b""
