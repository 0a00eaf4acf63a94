"""Run every reproduction and rebuild the page that collects them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from examples.reproduce.report import ROOT

HERE = Path(__file__).parent
NOT_A_RESULT = {"__main__.py", "report.py"}


def main() -> int:
    """Run the scripts one after another; return how many failed."""
    failed = []
    for script in sorted(HERE.glob("*.py")):
        if script.name in NOT_A_RESULT:
            continue
        print(f"{script.name} ...", flush=True)
        if subprocess.run([sys.executable, str(script)], cwd=ROOT, stdout=subprocess.DEVNULL).returncode:
            failed.append(script.name)
    collect()
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return len(failed)


def collect() -> None:
    """Write docs/reproductions.md from the pages that there are."""
    lines = [
        "# Reproductions",
        "",
        "The papers' results, from our code: what the paper says and what we measured, one page per result.",
        "`make reproduce` runs them all and rebuilds this page.",
        "",
    ]
    for page in sorted((ROOT / "docs" / "reproductions").glob("*.md")):
        title = page.read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
        lines.append(f"- [{title}](reproductions/{page.name})")
    (ROOT / "docs" / "reproductions.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
