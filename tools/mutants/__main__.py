"""`make mutants`: change the kernels one line at a time in a copy of the project, and see whether a test notices.

A mutant that the tests beside it let pass survives, unless it is argued to be equivalent. Kernels are compiled anew for
every mutant, so the whole list takes a while and is no part of the ordinary tests.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.mutants.kernels import MUTANTS
from tools.mutants.mutant import Mutant

__all__ = ["main", "notices"]

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("stream_maxloss", "connectors", "tests", "benchmarks", "examples", "tools", "pyproject.toml")
SECONDS = 900


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def copy_project(folder: Path) -> None:
    """Copy what tests need."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, folder / name)


def notices(mutant: Mutant, folder: Path) -> bool:
    """Return whether the tests fail on a mutant, in a copy of the project.

    Raises
    ------
    ValueError
        If the source has changed, so that there is nothing to replace.

    """
    path = folder / "stream_maxloss" / mutant.file
    source = path.read_text("utf-8")
    if mutant.before not in source:
        raise ValueError(f"{mutant.file} must contain {mutant.before!r}, got another text; bring the mutant up to date")
    path.write_text(source.replace(mutant.before, mutant.after, 1), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:xdist", f"tests/{mutant.tests}"]
    search = os.pathsep.join([str(folder), str(folder / "connectors")])
    environment = {**os.environ, "PYTHONPATH": search}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_text(source, encoding="utf-8")
    return done.returncode == 1


def main(arguments: list[str] | None = None) -> int:
    """Run the mutants and print who survives."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.add_argument("--only", default="", help="mutants whose file or change contains this")
    only = parser.parse_args(arguments).only
    chosen = [mutant for mutant in MUTANTS if only in f"{mutant.file} {mutant.before} {mutant.after}"]
    counts = {"killed": 0, "equivalent": 0, "SURVIVED": 0}
    with tempfile.TemporaryDirectory() as place:
        copy_project(Path(place))
        for mutant in chosen:
            noticed = bool(mutant.equivalent) or notices(mutant, Path(place))
            verdict = "SURVIVED" if not noticed else "equivalent" if mutant.equivalent else "killed"
            counts[verdict] += 1
            change = f"{mutant.before.strip()!r} -> {mutant.after.strip()!r}"
            say(f"{verdict:10} {mutant.file}: {change} {mutant.equivalent}".rstrip())
    share = 100.0 * (len(chosen) - counts["SURVIVED"]) / max(1, len(chosen))
    say(", ".join(f"{count} {verdict}" for verdict, count in counts.items()) + f": {share:.0f} %")
    return 1 if counts["SURVIVED"] else 0


if __name__ == "__main__":
    sys.exit(main())
