"""`maxloss tail` against Vowpal Wabbit, process against process."""

from __future__ import annotations

import os
import re
import statistics
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from benchmarks.measure import spread
from benchmarks.point import OURS, Point, claim
from benchmarks.processes import Run, peer_over_ours, run, take_turns
from benchmarks.row_files import free_bytes, row_file, shared_folder

TITLE = "The command line, end to end"
INCLUDED = (
    "Whole processes from start to exit, in turns, on a warm disk: `maxloss tail FILE --target y --no-focus "
    "--no-scale` (HingeOGD; predict, score, learn) and `python -m vowpalwabbit --loss_function hinge`, over the "
    "same rows of 20 features; both validate progressively and print reports. Vowpal Wabbit reads its own text, or "
    "the cache that it made of it beforehand. Both take the threads that they take: Vowpal Wabbit one that parses "
    "and one that learns, `tail` one that learns and, for CSV, as many that parse as there are cores. Times are on "
    "the wall; the ratio of processor times stands beside it. After start-up means less the time for a file of a "
    "thousand rows, of both. A checkpoint's cost is what a focused run with many of them (10,000 rows in its "
    "window) takes longer than one without, divided by their number."
)
AXIS = None
VW = "vowpalwabbit"
CLOCKS = ("wall", "processor")
ROWS, TINY = 5_000_000, 1000
BARE = ("--no-focus", "--no-scale")
# Bytes of a row in all the files that are made of it, rounded up.
BYTES_A_ROW = 1000


def points(quick: bool) -> list[Point]:
    """Return both files, checkpointing and the help; in the quick form, small files and the help."""
    rows = 100_000 if quick else ROWS
    repeats = 1 if quick else 3
    size = {"rows": rows, "repeats": repeats}
    saves = {"rows": 400_000, "repeats": 3, "seconds": 0.1}
    found = [
        Point("csv", f"CSV, {rows:,} rows", (OURS,), {"ending": ".csv", **size}, kind="fact"),
        Point("ipc", f"Arrow IPC, {rows:,} rows", (OURS,), {"ending": ".arrow", **size}, kind="fact"),
        Point("checkpoint", "checkpoints", (OURS,), saves, kind="fact"),
        Point("help", "help", (OURS,), {"repeats": 5 if quick else 15}, kind="fact"),
    ]
    return [point for point in found if not (quick and point.name == "checkpoint")]


def surroundings(quick: bool) -> AbstractContextManager[Any]:
    """Return the folder of the files."""
    return shared_folder()


def observe(system: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Return what a point measured."""
    if "ending" in settings:
        return observe_passes(**settings)
    if "seconds" in settings:
        return observe_checkpoints(**settings)
    return observe_help(**settings)


def maxloss(*words: str) -> list[str]:
    """Return our command."""
    return [sys.executable, "-m", "stream_maxloss.cli", *words]


def tail(path: Path, *words: str) -> list[str]:
    """Return the command that learns a file."""
    return maxloss("tail", str(path), "--target", "y", *words)


def vw(*words: str) -> list[str]:
    """Return Vowpal Wabbit's command."""
    import vowpalwabbit

    return [sys.executable, "-m", vowpalwabbit.__name__, "--loss_function", "hinge", *words]


def observe_passes(ending: str, rows: int, repeats: int) -> dict[str, Any]:
    """Return the times of both over a file and over its beginning, and their ratios."""
    if free_bytes() < rows * BYTES_A_ROW:
        raise ImportError(f"{rows * BYTES_A_ROW / 1e9:.0f} GB must be free for the files, got {free_bytes() / 1e9:.1f}")
    works = {}
    for name, count in (("whole", rows), ("tiny", TINY)):
        ours, theirs = tail(row_file(ending, count), *BARE), vw_over(ending, count)
        works[f"{OURS} {name}"] = lambda command=ours: run(command)
        works[f"{VW} {name}"] = lambda command=theirs: run(command)
    works[f"{OURS} tiny"]()  # compiles what no run before has compiled
    os.sync()  # so that the files are not still being written while they are read
    runs = take_turns(works, repeats)
    facts: dict[str, Any] = {"rows": rows}
    facts |= {name: {clock: middle(taken, clock) for clock in CLOCKS} for name, taken in runs.items()}
    for clock in CLOCKS:
        whole = [[getattr(one, clock) for one in runs[f"{who} whole"]] for who in (VW, OURS)]
        facts[f"whole process, {clock}"] = peer_over_ours(*whole)
        rest = [facts[f"{who} whole"][clock] - facts[f"{who} tiny"][clock] for who in (VW, OURS)]
        # Of medians, since a difference of single runs may be anything on a busy machine.
        facts[f"after start-up, {clock}"] = {"median": rest[0] / max(rest[1], 1e-3), "lower": None, "upper": None}
    return facts


def middle(runs: list[Run], clock: str) -> float:
    """Return the median time of some runs."""
    return statistics.median(getattr(one, clock) for one in runs)


def vw_over(ending: str, rows: int) -> list[str]:
    """Return Vowpal Wabbit's command for the same rows: its text for CSV, its cache for IPC."""
    text = row_file(".vw", rows)
    if ending == ".csv":
        return vw("-d", str(text))
    cache = text.with_suffix(".cache")
    if not cache.is_file():
        run(vw("--noop", "--quiet", "-k", "-d", str(text), "--cache_file", str(cache)))
    return vw("-d", str(text), "--cache_file", str(cache))


def observe_checkpoints(rows: int, repeats: int, seconds: float) -> dict[str, Any]:
    """Return the cost of a checkpoint: what a run with many takes longer than one without, per checkpoint."""
    path = row_file(".arrow", rows)
    run(tail(row_file(".arrow", TINY), "--checkpoint", str(path.parent / "tiny")))  # compiles, if no run before has
    extra, counts = [], []
    for repeat in range(repeats):
        folder = path.parent / f"checkpoints_{repeat}"
        bare = run(tail(path))
        saving = run(tail(path, "--checkpoint", str(folder), "--checkpoint-every", f"{seconds}s"))
        counts.append(count_checkpoints(folder))
        extra.append((saving.wall - bare.wall) / counts[-1])
    return {"checkpoints": counts, "seconds a checkpoint": spread(extra)}


def count_checkpoints(folder: Path) -> int:
    """Return how many a fresh run has written: the number in its newest one's name."""
    return max(int(found[1]) for part in folder.iterdir() if (found := re.fullmatch(r"\D*(\d+)", part.name)))


def observe_help(repeats: int) -> dict[str, Any]:
    """Return how long `maxloss --help` takes."""
    run(maxloss("--help"))
    runs: list[Run] = [run(maxloss("--help")) for _ in range(repeats)]
    return {"wall": spread([one.wall for one in runs]), "processor": middle(runs, "processor")}


def conclude(measured: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the ratios, the cost of checkpoints and the time to help."""
    claims: list[dict[str, Any]] = []
    names = {"csv": "CSV against its text", "ipc": "Arrow IPC against its cache"}
    # For a file of the full size: the start of a process is most of its time over a small one.
    targets = {("csv", "whole process"): 1.5, ("ipc", "whole process"): 2.0, ("ipc", "after start-up"): 5.0}
    for point, what in names.items():
        facts = measured.get(point, {}).get("facts", {}).get(OURS, {})
        for name, ratio in facts.items():
            part, _, clock = name.partition(", ")
            if clock:
                counts = clock == "wall" and facts["rows"] >= ROWS
                target = targets.get((point, part)) if counts else None
                quartiles = {"lower": ratio["lower"], "upper": ratio["upper"]}
                by = "" if clock == "wall" else ", processor time"
                claims.append(claim(point, f"{what}, {part}{by}", ratio["median"], target=target, **quartiles))
    saving = measured.get("checkpoint", {}).get("facts", {}).get(OURS, {}).get("seconds a checkpoint")
    if saving is not None:
        share = 100.0 * saving["median"] / 5.0
        claims.append(claim("checkpoint", "a checkpoint every 5 s", share, suffix=" %", target=3.0, at_most=True))
    helping = measured.get("help", {}).get("facts", {}).get(OURS, {}).get("wall")
    if helping is not None:
        quartiles = {"lower": helping["lower"], "upper": helping["upper"]}
        value = helping["median"]
        claims.append(claim("help", "`maxloss --help`", value, suffix=" s", target=0.4, at_most=True, **quartiles))
    return claims


def tables(measured: dict[str, dict[str, Any]]) -> list[tuple[list[str], list[list[str]]]]:
    """Return the seconds of each process."""
    rows = []
    for point in ("csv", "ipc"):
        label = measured.get(point, {}).get("label", "")
        for name, fact in measured.get(point, {}).get("facts", {}).get(OURS, {}).items():
            if isinstance(fact, dict) and "wall" in fact:
                rows.append([label, name, f"{fact['wall']:.3g}", f"{fact['processor']:.3g}"])
    return [(["file", "process", "s on the wall", "s of processor time"], rows)] if rows else []
