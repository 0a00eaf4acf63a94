"""Run every reproduction and rebuild the page that collects them; with --collect rebuild the page only."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from examples.reproduce.report import FOUND, ROOT

HERE = Path(__file__).parent
PAGES = ROOT / "docs" / "reproductions"
# The scripts run two processes each: were every one to spread its sums over both cores, they would wait for each other.
ONE_THREAD = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
NOT_A_RESULT = {"__init__.py", "__main__.py", "batch_game.py", "report.py"}
# What the name of a script starts with, and what it reproduces.
PAPERS = {
    "focus": "Shalev-Shwartz & Wexler 2016, *Minimizing the maximal loss: how and why?*",
    "mistake": "*Online Algorithms*, lecture notes on mistake bounds",
    "separator": "Kesselheim, *Efficient empirical risk minimization*, lecture notes",
    "margin": "Holland 2019, *Classification using margin pursuit*",
    "leverage": "Krause & Singer 2004, *Leveraging the margin more carefully*",
}


def scripts() -> list[Path]:
    """Return the scripts that reproduce a result, in the order of their names."""
    return sorted(script for script in HERE.glob("*.py") if script.name not in NOT_A_RESULT)


def main() -> int:
    """Run the scripts one after another; return how many failed."""
    failed = []
    for script in [] if "--collect" in sys.argv[1:] else scripts():
        print(f"{script.name} ...", flush=True)
        if subprocess.run(
            [sys.executable, str(script)], cwd=ROOT, env=ONE_THREAD, stdout=subprocess.DEVNULL
        ).returncode:
            failed.append(script.name)
    (ROOT / "docs" / "reproductions.md").write_text(collect(), encoding="utf-8")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


def collect() -> str:
    """Return the page that lists the pages there are, by paper, each with what was found in one line."""
    lines = [
        "# Reproductions",
        "",
        "The papers' results, from our code: what the paper says and what we measured, one page per result.",
        "`make reproduce` runs them all and rebuilds this page.",
    ]
    pages = sorted(PAGES.glob("*.md"))
    for prefix, paper in {**PAPERS, "": "Others"}.items():
        chosen = [page for page in pages if paper_of(page) == prefix]
        if chosen:
            lines += ["", f"## {paper}", "", *map(entry, chosen)]
    return "\n".join(lines) + "\n"


def paper_of(page: Path) -> str:
    """Return the prefix of PAPERS that a page's name starts with, or nothing."""
    prefix = page.stem.split("_")[0]
    return prefix if prefix in PAPERS else ""


def entry(page: Path) -> str:
    """Return the line for one page: its title as a link, and what it found or else the first row of its table."""
    lines = page.read_text(encoding="utf-8").splitlines()
    title = lines[0].lstrip("# ")
    found = next((line.removeprefix(FOUND) for line in lines if line.startswith(FOUND)), "")
    if not found:
        rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
        claim, said, measured = rows[1]
        found = f"{claim}: {measured} (the paper: {said})"
    return f"- [{title}](reproductions/{page.name}): {found}."


if __name__ == "__main__":
    sys.exit(main())
