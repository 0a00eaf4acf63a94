"""Where a reproduction finds its data, and how it writes its page: one PNG and one Markdown table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

ROOT = Path(__file__).resolve().parents[2]
# How the line of a page starts that the page of all results quotes.
FOUND = "In short: "


def data_directory(name: str) -> Path:
    """Return the folder of one data set: under STREAM_MAXLOSS_DATA, else under ../shared/data."""
    folder = Path(os.environ.get("STREAM_MAXLOSS_DATA", ROOT.parent / "shared" / "data")) / name
    if not folder.is_dir():
        raise SystemExit(f"data set {name!r} is not at {folder}; set STREAM_MAXLOSS_DATA to the folder that holds it")
    return folder


def write_report(
    name: str, title: str, text: str, rows: Sequence[tuple[str, str, str]], figure: Any, found: str = ""
) -> None:
    """Write docs/reproductions/<name>.png and .md; each row is (claim, paper says, we measured).

    `found` says in one line what came out, for the page that lists all results.
    """
    folder = ROOT / "docs" / "reproductions"
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"{name}.png", dpi=110, bbox_inches="tight")
    lines = [f"# {title}", ""]
    if found:
        lines += [FOUND + found, ""]
    lines += [text.strip(), "", f"![{title}]({name}.png)", ""]
    lines += ["| | paper says | we measured |", "|---|---|---|"]
    lines += [f"| {claim} | {said} | {measured} |" for claim, said, measured in rows]
    lines += ["", f"Made by `python examples/reproduce/{name}.py`."]
    page = folder / f"{name}.md"
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(page.read_text(encoding="utf-8"))
