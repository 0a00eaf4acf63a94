"""Pages whose console blocks are run: `python -m tools.site.console PAGE ...` writes what the commands print now.

A block fenced as `console` holds commands after `$ ` and, below each, what it prints; a line ending with a backslash
goes on in the next one, and one with `<<'END'` up to a line of `END`. All blocks of a page run one after the other in
one empty folder, with bash. In what is expected `...` stands for anything, as in doctests. A page may use variables
that it asks the reader to set, such as the address of a broker; they are taken from the environment.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Step", "main", "read_steps", "run_step", "write_page"]

PROJECT = Path(__file__).parents[2]
# What differs from run to run: how long something took, and digits beyond the third.
VARIES = (
    (re.compile(r"in [\d.,]+ s \([\d,]+ rows/s\)"), "in ... s (... rows/s)"),
    (re.compile(r"(\d\.\d{3})\d{3,}"), r"\1..."),
)
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
KEPT = "\n...\n"
SECONDS = 300


@dataclass(frozen=True)
class Step:
    """One command of a page and what the page says that it prints."""

    command: str
    expected: str


def read_steps(text: str) -> list[Step]:
    """Return the commands of a page in their order."""
    return [step for block in BLOCK.finditer(text) for step in block_steps(block.group(1))]


def block_steps(block: str) -> list[Step]:
    """Return the commands of one block."""
    steps: list[Step] = []
    commands: list[str] = []
    printed: list[str] = []
    goes_on = is_document = False
    for line in block.splitlines():
        if line.startswith("$ ") and not is_document:
            if commands:
                steps.append(Step("\n".join(commands), "\n".join(printed)))
            commands, printed = [line[2:]], []
        elif goes_on:
            commands.append(line)
        else:
            printed.append(line)
        is_document = line != "END" and (is_document or (line.startswith("$ ") and "<<'END'" in line))
        goes_on = is_document or (bool(commands) and not printed and line.endswith("\\"))
    return [*steps, Step("\n".join(commands), "\n".join(printed))] if commands else steps


def run_step(step: Step, folder: Path, variables: Mapping[str, str] | None = None) -> str:
    """Run a command as a reader would who has set some variables, and return what it prints; it must end with 0."""
    commands = Path(sys.executable).parent
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MAXLOSS_", "STREAM_MAXLOSS_"))}
    path = os.pathsep.join([str(commands), kept.get("PATH", "")])
    source = os.pathsep.join([str(PROJECT), str(PROJECT / "connectors")])
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", step.command],
        cwd=folder,
        env={**kept, **(variables or {}), "PATH": path, "PYTHONPATH": source, "NO_COLOR": "1", "COLUMNS": "110"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{step.command} must end with 0, got {done.returncode}: {done.stdout[-2000:]}")
    return "\n".join(line.rstrip() for line in done.stdout.splitlines())


def write_page(text: str, folder: Path) -> str:
    """Return a page with what its commands print now; expectations with a line of `...` stay as they are."""

    def renew(block: re.Match[str]) -> str:
        lines = []
        for step in block_steps(block.group(1)):
            printed = run_step(step, folder)
            for varying, stands_for_it in VARIES:
                printed = varying.sub(stands_for_it, printed)
            shown = step.expected if KEPT in step.expected else printed
            lines += [f"$ {step.command}", *([shown.strip("\n")] if shown.strip() else []), ""]
        return "```console\n" + "\n".join(lines).rstrip("\n") + "\n```"

    return BLOCK.sub(renew, text)


def main() -> None:
    """Renew the pages that are named."""
    for name in sys.argv[1:]:
        page = Path(name)
        with tempfile.TemporaryDirectory(prefix="page-") as folder:
            page.write_text(write_page(page.read_text(encoding="utf-8"), Path(folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
