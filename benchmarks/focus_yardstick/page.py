"""The part of docs/focus.md that the yardstick writes: each way beside uniform replay, then the figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.focus_yardstick.contenders import BARE, EVEN, LEARNERS, WAYS
from benchmarks.machine import in_words
from benchmarks.page import table

__all__ = ["write_pages"]

BEGIN, END = "<!-- yardstick: written by benchmarks.focus_yardstick -->", "<!-- yardstick: end -->"
# Figure, words, factor, form, and whether lower is better.
SHOWN: dict[str, tuple[str, float, str, bool]] = {
    "rare recall": ("Recall of the rare slice or class at uniform replay's own false alarms, %", 100.0, ".1f", False),
    "recall at 0.1 %": ("Recall at 0.1 % false alarms, %", 100.0, ".1f", False),
    "recall at 1 %": ("Recall at 1 % false alarms, %", 100.0, ".1f", False),
    "worst slice at 1 %": ("Recall of the worst slice at 1 % false alarms, %", 100.0, ".1f", False),
    "log loss": ("Log loss", 1.0, ".3f", True),
    "error": ("Error, %", 100.0, ".2f", True),
    "tail loss": ("Tail loss: mean over the worst 5 % of the rows", 1.0, ".3f", True),
}
HEAD = """# The yardstick: all figures

What [focus](focus.md) is measured by: each learner bare, with uniform replay, and with each policy of the game, every
row predicted before it is learned. Replay and games play 13 rounds a row over a window of 10,000 rows and differ in
nothing but the draws. Thresholds are set on all negative rows of a run, so that false alarms are equal. Means over the
shuffles; the best of a row in bold. Made by `python -m benchmarks.focus_yardstick`.
"""
# Differences of means below this are no difference.
ALIKE = 5e-4

Found = dict[str, Any]


def write_pages(kept: Found, docs: Path) -> None:
    """Put the summary between its marks in focus.md, and all figures into yardstick.md."""
    figures, page = kept["figures"], docs / "focus.md"
    before, _, rest = page.read_text("utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    summary = "\n".join(part for part in (against_even(figures, learner) for learner in LEARNERS) if part)
    page.write_text(f"{before}{BEGIN}\n\n{summary}\n{END}{after}", encoding="utf-8")
    grids = [grid(figures, learner, what) for learner in LEARNERS for what in SHOWN]
    machine = f"\n## Machine\n\n{in_words(kept['machine'])}\n"
    text = "\n".join(part for part in [HEAD, *grids] if part) + slices(figures) + left_out(figures) + machine
    (docs / "yardstick.md").write_text(text, encoding="utf-8")


def mean_of(results: list[Found], what: str) -> float:
    """Return the mean over the shuffles."""
    return float(np.mean([found[what] for found in results]))


def runs_of(figures: Found, learner: str) -> dict[str, Found]:
    """Return the streams on which a learner was run with uniform replay."""
    return {name: found[learner] for name, found in figures.items() if EVEN in found.get(learner, {})}


def ways_of(runs: dict[str, Found]) -> list[str]:
    """Return the ways that were run on any stream, in their order."""
    return [way for way in WAYS if any(way in found for found in runs.values())]


def against_even(figures: Found, learner: str) -> str:
    """Return a table of how often each way is better and worse than uniform replay, and by how much."""
    runs = runs_of(figures, learner)
    if not runs:
        return ""
    rows = []
    for way in ways_of(runs):
        if way == EVEN:
            continue
        having = [found for found in runs.values() if way in found]
        cells = [balance(having, way, what) for what in compared(runs)]
        ratios = [mean_of(found[way], "log loss") / mean_of(found[EVEN], "log loss") for found in having]
        steps = [
            mean_of(found[way], "microseconds a row") / mean_of(found[EVEN], "microseconds a row") for found in having
        ]
        cells += [f"{np.exp(np.mean(np.log(ratios))):.3f}", f"{max(ratios):.2f}", f"{np.median(steps):.2f}"]
        rows.append([way, str(len(having)), *cells])
    head = ["", "streams", *compared(runs), "log loss", "at worst", "time"]
    return f"### Around {learner}: {LEARNERS[learner].words}\n\n" + table(head, rows)


def compared(runs: dict[str, Found]) -> list[str]:
    """Return the figures that ways are compared by: the rare slice's as well, where all runs have it."""
    shown = ["recall at 0.1 %", "recall at 1 %", "worst slice at 1 %"]
    return ["rare recall", *shown] if all("rare recall" in found[EVEN][0] for found in runs.values()) else shown


def balance(having: list[Found], way: str, what: str) -> str:
    """Return on how many streams a figure is higher and lower than uniform replay's, and the mean difference."""
    gaps = [mean_of(found[way], what) - mean_of(found[EVEN], what) for found in having]
    higher, lower = sum(gap > ALIKE for gap in gaps), sum(gap < -ALIKE for gap in gaps)
    worst = f", at worst {100.0 * min(gaps):+.1f}" if what == "rare recall" else ""
    return f"{higher} higher, {lower} lower, {100.0 * np.mean(gaps):+.1f}{worst}"


def grid(figures: Found, learner: str, what: str) -> str:
    """Return a table of one figure: a row for each stream, a column for each way, the best in bold."""
    runs = {name: found for name, found in runs_of(figures, learner).items() if what in found[EVEN][0]}
    if not runs:
        return ""
    title, scale, form, lower = SHOWN[what]
    ways, rows = ways_of(runs), []
    for name, found in runs.items():
        means = {way: scale * mean_of(found[way], what) for way in ways if way in found}
        best = min(means.values()) if lower else max(means.values())
        cells = [format(means[way], form) if way in means else "-" for way in ways]
        rows.append([name, *(f"**{cell}**" if cell == format(best, form) else cell for cell in cells)])
    return f"## {learner}: {title[0].lower()}{title[1:]}\n\n" + table(["stream", *ways], rows)


def slices(figures: Found) -> str:
    """Return the average precision of named slices with each way, where there are several."""
    rows = []
    ways = [way for way in WAYS if way != BARE] + [BARE]
    for name, learners in figures.items():
        for learner, found in learners.items():
            if EVEN not in found or len(found[EVEN][0]["slices"]) < 2:
                continue
            for cut in found[EVEN][0]["slices"]:
                cells = []
                for way in ways:
                    held = [result["slices"][cut]["ap"] for result in found.get(way, []) if cut in result["slices"]]
                    cells.append(f"{100.0 * np.mean(held):.1f}" if held else "-")
                rows.append([f"{name}: {cut}", learner, *cells])
    return "\n## Average precision of named slices, %\n\n" + table(["slice", "learner", *ways], rows) if rows else ""


def left_out(figures: Found) -> str:
    """Return what was not run, and why."""
    rows = [
        [name, learner, found["left out"]]
        for name, learners in figures.items()
        for learner, found in learners.items()
        if "left out" in found
    ]
    return "\n## Left out\n\n" + table(["stream", "learner", "why"], rows) if rows else ""
