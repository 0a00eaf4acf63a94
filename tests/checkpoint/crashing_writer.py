"""A writer that dies at a given crash point, many times over, each time in a child and a directory of its own.

    python crashing_writer.py kill|power < jobs

A job is a line `DIRECTORY POINT:COUNT`. After `kill` the disk holds all that was written, as after SIGKILL. After
`power` it holds only what was forced to it: bytes of files that were not synced are cut off, and names that were not
synced are gone, as the worst file system would have it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from stream_maxloss.checkpoint import CheckpointStore, Content, files


def names_in(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


class WorstDisk:
    """Knows what of a directory was forced to the disk."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.dirty: set[int] = set()
        self.names = {path.stat().st_ino: names_in(path) for path in [root, *root.iterdir()] if path.is_dir()}
        self._write, self._fsync = os.write, os.fsync
        os.write, os.fsync = self.write, self.fsync

    def write(self, descriptor: int, data: Any) -> int:
        self.dirty.add(os.fstat(descriptor).st_ino)
        return self._write(descriptor, data)

    def fsync(self, descriptor: int) -> None:
        self._fsync(descriptor)
        path = Path(f"/proc/self/fd/{descriptor}")
        if path.is_dir():
            self.names[path.stat().st_ino] = names_in(path)
        self.dirty.discard(path.stat().st_ino)

    def lose_power(self) -> None:
        for directory in [path for path in self.root.iterdir() if path.is_dir()]:
            for path in directory.iterdir():
                if path.stat().st_ino in self.dirty:
                    os.truncate(path, path.stat().st_size // 2)
                if path.name not in self.names.get(directory.stat().st_ino, set()):
                    path.unlink()
            if directory.name not in self.names[self.root.stat().st_ino] and not directory.name.startswith("."):
                directory.rename(self.root / ".tmp-never-renamed")


def write(content: Content, directory: Path, point: str, power: bool) -> None:
    files.arm_crash_point(point)
    if power:
        disk = WorstDisk(directory)
        leave = os._exit
        os._exit = lambda code: (disk.lose_power(), leave(code))  # type: ignore[assignment, misc]
    with CheckpointStore(directory, keep=2, run_id="crashing") as store:
        store.save(content)


def main() -> None:
    # Beside this file, where pytest does not look for modules when it collects this one.
    from conftest import build_content

    content = build_content(3)
    for line in sys.stdin:
        directory, point = line.split()
        child = os.fork()
        if child == 0:
            write(content, Path(directory), point, sys.argv[1] == "power")
            os._exit(0)
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")


if __name__ == "__main__":
    main()
