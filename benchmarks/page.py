"""The page docs/benchmarks.md, made from the saved results."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

from benchmarks.cases import NAMES
from benchmarks.machine import in_words
from benchmarks.plots import draw_growth, draw_ratios

__all__ = ["write_page"]

HEAD = """# Benchmarks

What this library costs beside the systems people use today. This page is made by `make bench`; `make bench-quick` is
the short form. Each system runs in a process of its own, on one core, over the same seeded rows; after a warm-up the
systems take turns, so that all meet the same noise. A ratio is the peer's time over ours, repeat by repeat: its median,
with the quartiles in brackets. Times are processor time; on an idle machine that is the time on the wall. Every figure
can be had alone by the command beside it, run from the project's folder with the extra `bench` installed.
"""


def write_page(results: Path, page: Path) -> None:
    """Write the page and its plots from the results that there are."""
    found = {name: json.loads(path.read_text(encoding="utf-8")) for name, path in saved(results)}
    images = page.parent / "images"
    images.mkdir(parents=True, exist_ok=True)
    parts = [HEAD]
    if any(result["quick"] for result in found.values()):
        parts.append("**These are figures of the short form: expect wide spreads.**\n")
    if found:
        parts.append(summary(found))
        if draw_ratios(found, images / "benchmark-ratios.png"):
            parts.append("![Ratios beside their targets](images/benchmark-ratios.png)\n")
    for name, result in found.items():
        parts.append(section(name, result, images))
    page.write_text("\n".join(parts), encoding="utf-8")


def saved(results: Path) -> list[tuple[str, Path]]:
    """Return the cases that have results, in their order."""
    return [(name, results / f"{name}.json") for name in NAMES if (results / f"{name}.json").is_file()]


def table(header: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def number(value: float) -> str:
    """Return a number with three digits that count."""
    return f"{value:,.0f}" if abs(value) >= 1000.0 else f"{value:.3g}"


def figure(claim: dict[str, Any]) -> str:
    """Return a claim's figure with its quartiles."""
    text = f"**{number(claim['value'])}{claim['suffix']}**"
    if claim["lower"] is not None and claim["upper"] is not None:
        text += f" ({number(claim['lower'])} to {number(claim['upper'])})"
    return text


def target(claim: dict[str, Any]) -> str:
    """Return what was asked for."""
    if claim["target"] is None:
        return "-"
    return f"{'at most' if claim['at_most'] else 'at least'} {number(claim['target'])}{claim['suffix']}"


def verdict(claim: dict[str, Any]) -> str:
    """Return whether it was reached."""
    return {None: "-", True: "pass", False: "**falls short**"}[claim["met"]]


def command(name: str, point: str) -> str:
    """Return the one command that reproduces a figure."""
    return f"`python -m benchmarks --only {name}{':' + point if point else ''}`"


def summary(found: dict[str, dict[str, Any]]) -> str:
    """Return the table of all figures that have a target."""
    rows = []
    for name, result in found.items():
        for claim in result["claims"]:
            if claim["target"] is not None:
                rows.append([name, claim["what"], figure(claim), target(claim), verdict(claim)])
    met = sum(row[-1] == "pass" for row in rows)
    lead = f"## Targets\n\n{met} of {len(rows)} targets reached.\n\n"
    return lead + table(["case", "figure", "measured", "target", "verdict"], rows)


def micro(cost: dict[str, float]) -> str:
    """Return seconds as microseconds with quartiles."""
    return f"{1e6 * cost['median']:.4g} ({1e6 * cost['lower']:.4g} to {1e6 * cost['upper']:.4g})"


def section(name: str, result: dict[str, Any], images: Path) -> str:
    """Return a case's part of the page: ratios, then times, then its own tables and plot."""
    case = importlib.import_module(f"benchmarks.cases.{name}")
    rows = [
        [claim["what"], figure(claim), target(claim), verdict(claim), command(name, claim["point"])]
        for claim in result["claims"]
    ]
    parts = [f"## {case.TITLE}\n", case.INCLUDED + "\n"]
    parts.append(table(["figure", "measured", "target", "verdict", "command"], rows))
    times = time_rows(name, result)
    if times:
        parts.append(table(["at", "system", "µs: median (quartiles)", "a second", "command"], times))
    for header, lines in getattr(case, "tables", lambda measured: [])(result["measured"]):
        parts.append(table(header, lines))
    if name == "growth" and draw_growth(result["measured"], images / "benchmark-growth.png"):
        parts.append("![Cost against features, window and rows](images/benchmark-growth.png)\n")
    if hasattr(case, "PICTURE"):
        file, words = case.PICTURE
        if case.draw(result["measured"], images / file):
            parts.append(f"![{words}](images/{file})\n")
    parts.append(f"Measured in {result['seconds']:.0f} s on: {in_words(result['machine'])}\n")
    return "\n".join(parts)


def time_rows(name: str, result: dict[str, Any]) -> list[list[str]]:
    """Return the absolute figures of a case."""
    rows = []
    for point, measured in result["measured"].items():
        for system, cost in measured.get("seconds_per_unit", {}).items():
            rate = f"{number(1.0 / cost['median'])}"
            rows.append([f"{measured['label']}, a {measured['unit']}", system, micro(cost), rate, command(name, point)])
        for system, reason in measured.get("missing", {}).items():
            rows.append([measured["label"], system, f"left out: {reason}", "-", command(name, point)])
    return rows
