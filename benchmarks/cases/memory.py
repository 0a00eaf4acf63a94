"""Memory of `maxloss tail` over files much larger than what it may hold."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cases.command_line import BARE, TINY, tail
from benchmarks.plots import save, subplots
from benchmarks.point import OURS, Point, claim
from benchmarks.processes import run
from benchmarks.row_files import free_bytes, row_file, shared_folder

TITLE = "Memory while reading"
INCLUDED = (
    "`maxloss tail FILE --target y --no-focus --no-scale` over files of 20 features and a label, with the memory that "
    "the process holds (VmRSS) looked at five times a second. Growth is the mean over the last third of the reading "
    "less that over the second; the first third of it, and the start before it, are left out."
)
AXIS = None
SAMPLE_SECONDS = 0.2
SAMPLES_A_THIRD = 4
LIMIT_MB = 500.0
# What an allocator may keep of what it got back; a leak of four bytes a row would be more.
GROWTH_MB = 20.0
# Bytes of a row: text with four decimals, and numbers that barely compress.
BYTES_A_ROW = {".csv": 150, ".parquet": 170}


def points(quick: bool) -> list[Point]:
    """Return a CSV of two gigabytes and a Parquet file of ten million rows; in the quick form, a small Parquet file."""
    part = 20 if quick else 1
    text, binary = 13_500_000 // part, 10_000_000 // part
    found = [
        Point("csv", f"CSV, {text * 150 / 1e9:.2g} GB", (OURS,), {"ending": ".csv", "rows": text}, kind="fact"),
        Point("parquet", f"Parquet, {binary:,} rows", (OURS,), {"ending": ".parquet", "rows": binary}, kind="fact"),
    ]
    return found[1:] if quick else found


def surroundings(quick: bool) -> AbstractContextManager[Any]:
    """Return the folder of the files."""
    return shared_folder()


def observe(system: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Return how much a run holds at most and how it grows; the file is gone afterwards."""
    needed = settings["rows"] * BYTES_A_ROW[settings["ending"]]
    if free_bytes() < 1.2 * needed:
        raise ImportError(f"{1.2 * needed / 1e9:.1f} GB must be free for the file, got {free_bytes() / 1e9:.1f}")
    start_up = run(tail(row_file(settings["ending"], TINY), *BARE)).wall
    path = row_file(settings["ending"], settings["rows"])
    try:
        size = path.stat().st_size
        done = run(tail(path, *BARE), sample_every=SAMPLE_SECONDS)
    finally:
        path.unlink()
    # On a busy machine a small file may be read in less time than the start took before.
    reading = [held for when, held in done.resident if when > start_up] or [held for _, held in done.resident]
    held = np.array(reading) / 1e6
    facts = {"file GB": size / 1e9, "rows": settings["rows"], "seconds": done.wall, "most MB": float(held.max())}
    facts["MB over time"] = [round(float(part.mean()), 1) for part in np.array_split(held, min(12, len(held)))]
    if len(held) >= 3 * SAMPLES_A_THIRD:
        _, second, last = np.array_split(held, 3)
        facts["growth MB"] = float(last.mean() - second.mean())
    return facts


def conclude(measured: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the most that was held, and the growth."""
    claims = []
    for name, point in measured.items():
        fact, label = point["facts"][OURS], point["label"]
        if "most MB" in fact:
            limit: dict[str, Any] = {"suffix": " MB", "at_most": True}
            claims.append(claim(name, f"{label}: most memory held", fact["most MB"], target=LIMIT_MB, **limit))
        if "growth MB" in fact:
            claims.append(claim(name, f"{label}: growth", fact["growth MB"], target=GROWTH_MB, **limit))
    return claims


def plot(measured: dict[str, dict[str, Any]], images: Path) -> list[tuple[str, str]]:
    """Draw the memory held over the reading of each file; return the picture's title and name, if there is one."""
    held = {point["label"]: point["facts"][OURS]["MB over time"] for point in measured.values() if has_figures(point)}
    if not held:
        return []
    picture, axes = subplots(figsize=(6.5, 2.8))
    for label, megabytes in held.items():
        axes.plot(np.linspace(0.0, 100.0, len(megabytes)), megabytes, label=label)
    axes.axhline(LIMIT_MB, color="#c0392b", linewidth=1, label="target")
    axes.set_ylim(0.0, 1.1 * LIMIT_MB)
    axes.set_xlabel("% of the reading")
    axes.set_ylabel("MB held")
    axes.legend(frameon=False, fontsize=8)
    save(picture, images / "benchmark-memory.png")
    return [("Memory held while reading", "benchmark-memory.png")]


def has_figures(point: dict[str, Any]) -> bool:
    """Tell whether a point was measured rather than left out."""
    return "MB over time" in point.get("facts", {}).get(OURS, {})
