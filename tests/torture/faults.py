"""Full disks, few descriptors, directories that go away: one line on stderr, a documented exit code, no traceback."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from .kills import HEADER, PROJECT, command, make_lines

__all__ = ["FAULTS", "run_fault", "why_not"]

CODES = (0, 1, 2, 3, 4, 5)
SECONDS = 300


def maxloss(
    words: list[str], folder: Path, stdout: str | None = None, descriptors: int | None = None, mount: str = ""
) -> tuple[int, str]:
    """Run the command, after mounting something that only it sees; return its exit code and what it wrote to stderr."""
    before = ["unshare", "--mount", "sh", "-c", f'{mount} && exec "$@"', "sh"] if mount else []

    def limit() -> None:
        if descriptors is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

    with contextlib.ExitStack() as stack:
        out = subprocess.DEVNULL if stdout is None else stack.enter_context(Path(stdout).open("wb"))
        done = subprocess.run(
            [*before, sys.executable, "-m", "stream_maxloss.cli", *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": f"{PROJECT}{os.pathsep}{PROJECT / 'connectors'}", "NO_COLOR": "1"},
            stdout=out,
            stderr=subprocess.PIPE,
            preexec_fn=limit,
            check=False,
            timeout=SECONDS,
        )
    return done.returncode, done.stderr.decode(errors="replace")


def full_stdout(folder: Path, rows: Path) -> Iterator[tuple[int, str]]:
    for words in (["tail", str(rows), "--target", "fraud", "-o", "jsonl"], ["schema", str(rows)]):
        yield maxloss(words, folder, stdout="/dev/full")


def full_dead_letters(folder: Path, rows: Path) -> Iterator[tuple[int, str]]:
    lines = rows.read_text().splitlines()
    bad = folder / "bad.csv"
    bad.write_text("\n".join([*lines, "nonsense", *lines[1:]]) + "\n")
    yield maxloss(["tail", str(bad), "--target", "fraud", "--on-bad", "dlq=/dev/full"], folder)


def few_descriptors(folder: Path, rows: Path) -> Iterator[tuple[int, str]]:
    for number in (6, 9, 12, 16):
        # Fewer than it takes to load the interpreter's own modules would test that instead.
        yield maxloss(command(str(rows), folder), folder, descriptors=number)


def output_onto_the_source(folder: Path, rows: Path) -> Iterator[tuple[int, str]]:
    before = rows.read_bytes()
    link = folder / "link.csv"
    link.hardlink_to(rows)
    for place in (rows, link):
        yield maxloss(["tail", str(rows), "--target", "fraud", "--predictions", str(place)], folder)
        if rows.read_bytes() != before:
            raise AssertionError("the source must be as it was")


def directory_that_is_gone(folder: Path, rows: Path) -> Iterator[tuple[int, str]]:
    yield maxloss(["tail", str(rows), "--target", "fraud", "--predictions", str(folder / "gone" / "out.jsonl")], folder)
    yield maxloss(command(str(rows), folder), folder)
    checkpoints = folder / "checkpoints"
    shutil.rmtree(checkpoints)
    checkpoints.write_text("a file in its place")
    yield maxloss(command(str(rows), folder), folder)


def too_much_memory(folder: Path, rows: Path) -> Iterator[tuple[int, str]]:
    yield maxloss(["tail", str(rows), "--target", "fraud", "--window", "1000000000000000"], folder)


def full_disk(folder: Path, rows: Path) -> Iterator[tuple[int, str]]:
    small = folder / "small"
    small.mkdir()
    for kilobytes in (16, 64, 256):
        yield maxloss(command(str(rows), small), folder, mount=f"mount -t tmpfs -o size={kilobytes}k none {small}")
    words = ["tail", str(rows), "--target", "fraud", "--predictions", str(small / "out.csv")]
    yield maxloss(words, folder, mount=f"mount -t tmpfs -o size=16k none {small}")


def read_only_directory(folder: Path, rows: Path) -> Iterator[tuple[int, str]]:
    yield maxloss([*command(str(rows), folder), "--limit", "500"], folder)
    mount = f"mount --bind {folder} {folder} && mount -o remount,ro,bind {folder}"
    yield maxloss(command(str(rows), folder), folder, mount=mount)
    yield maxloss(["verify", str(folder / "checkpoints")], folder, mount=mount)
    yield maxloss(command(str(rows), folder), folder)


FAULTS: dict[str, Callable[[Path, Path], Iterator[tuple[int, str]]]] = {
    "standard output on a full disk": full_stdout,
    "dead letters on a full disk": full_dead_letters,
    "checkpoints and predictions on a full disk": full_disk,
    "a directory that became read-only": read_only_directory,
    "few file descriptors": few_descriptors,
    "an output that is the source": output_onto_the_source,
    "a directory that is gone": directory_that_is_gone,
    "a window larger than memory": too_much_memory,
}


def why_not(name: str) -> str | None:
    """Return why a fault cannot be tried on this machine; None if it can."""
    if FAULTS[name] not in (full_disk, read_only_directory):
        return None
    try:
        done = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    return done.stderr.decode(errors="replace").strip() if done.returncode else None


def run_fault(name: str, folder: Path) -> list[str]:
    """Return what went otherwise than promised."""
    rows = folder / "rows.csv"
    rows.write_text("\n".join([HEADER, *make_lines(3000)]) + "\n")
    wrong = []
    for code, errors in FAULTS[name](folder, rows):
        if code not in CODES or "Traceback" in errors:
            wrong.append(f"{name}: exit code {code}: {errors[-600:]}")
    return wrong
