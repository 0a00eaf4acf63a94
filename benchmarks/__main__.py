"""`python -m benchmarks`: measure, save, and rebuild the page."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.cases import NAMES
from benchmarks.machine import describe
from benchmarks.measure import ROOT, Effort, environment, measure_point
from benchmarks.page import in_minutes, write_page
from benchmarks.point import Point, floor_claims

__all__ = ["main"]

FULL = Effort(repeats=11, seconds=0.08)
QUICK = Effort(repeats=5, seconds=0.02)


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure this library beside its peers.")
    parser.add_argument("--quick", action="store_true", help="fewer points, short repeats; saved apart")
    parser.add_argument(
        "--only",
        action="append",
        metavar="CASE[:POINT[:SYSTEM]]",
        help=f"run one case ({', '.join(NAMES)}), one of its points, or one system of a point that notes facts; may be "
        "given again. Only whole cases are saved",
    )
    parser.add_argument("--page", action="store_true", help="measure nothing, rebuild the page from the saved results")
    return parser.parse_args(arguments)


def chosen(only: list[str] | None) -> dict[str, set[str]]:
    """Return the cases to run, each with the points asked for; none means all."""
    picked: dict[str, set[str]] = {}
    for item in only or NAMES:
        name, _, point = item.partition(":")
        if name not in NAMES:
            raise SystemExit(f"--only must name a case, got {name!r}; there are {', '.join(NAMES)}")
        picked.setdefault(name, set()).update({point} if point else set())
    return picked


def narrowed(name: str, points: list[Point], wanted: set[str]) -> tuple[list[Point], set[str]]:
    """Return the points, each with the systems that were named, if any, and the names of the points to run."""
    named: dict[str, set[str]] = {}
    for text in wanted:
        point_name, _, system = text.partition(":")
        named.setdefault(point_name, set()).add(system)
    unknown = named.keys() - {point.name for point in points}
    if unknown:
        known = ", ".join(point.name for point in points)
        raise SystemExit(f"--only must name a point of {name}, got {sorted(unknown)}; there are {known}")
    alone = []
    for point in points:
        systems = named.get(point.name, {""})
        # A point that is also named without a system is wanted whole.
        alone.append(point if "" in systems else replace(point, systems=known_systems(name, point, systems)))
    return alone, set(named)


def known_systems(name: str, point: Point, wanted: set[str]) -> tuple[str, ...]:
    """Return the wanted systems of a point in the point's order."""
    unknown = wanted if point.kind != "fact" else wanted - set(point.systems)
    if unknown:
        known = ", ".join(point.systems) if point.kind == "fact" else "none: its systems are timed in turns"
        raise SystemExit(f"--only must name a system of {name}:{point.name}, got {sorted(unknown)}; there are {known}")
    return tuple(system for system in point.systems if system in wanted)


def run_case(name: str, wanted: set[str], quick: bool) -> dict[str, Any]:
    """Measure a case's points and draw its conclusions."""
    case = importlib.import_module(f"benchmarks.cases.{name}")
    points = case.points(quick)
    points, wanted = narrowed(name, points, wanted)
    started, machine = time.perf_counter(), describe()
    effort = QUICK if quick else FULL
    measured = {}
    with getattr(case, "surroundings", contextlib.nullcontext)(quick):
        for point in points:
            if wanted and point.name not in wanted:
                continue
            print(f"{name}:{point.name} ...", flush=True)
            measured[point.name] = measure_point(name, point, effort)
    conclude = getattr(case, "conclude", None)
    claims = conclude(measured) if conclude else floor_claims(points, measured)
    return {
        "case": name,
        "quick": quick,
        "machine": machine,
        "seconds": round(time.perf_counter() - started, 1),
        "claims": claims,
        "measured": measured,
    }


def warm_up() -> None:
    """Compile the kernels that are not on disk yet: that belongs to no case's time."""
    started = time.perf_counter()
    print("compiling what is not compiled yet ...", flush=True)
    subprocess.run([sys.executable, "-m", "benchmarks.warm"], cwd=ROOT, env={**os.environ, **environment()}, check=True)
    print(f"  took {in_minutes(time.perf_counter() - started)}", flush=True)


def rounded(value: Any) -> Any:
    """Return a result with numbers cut to what they can tell."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [rounded(entry) for entry in value]
    return value


def report(result: dict[str, Any]) -> None:
    """Print a case's claims, and how long each system takes."""
    for claim in result["claims"]:
        mark = {None: "", True: "  pass", False: "  FALLS SHORT"}[claim["met"]]
        target = "" if claim["target"] is None else f"  (target {claim['target']:.3g})"
        print(f"  {claim['what']}: {claim['value']:.3g}{claim['suffix']}{target}{mark}")
    for point in result["measured"].values():
        for system, cost in point.get("seconds_per_unit", {}).items():
            print(f"    {point['label']}, {system}: {1e6 * cost['median']:.4g} us a {point['unit']}")
        for system, reason in point.get("missing", {}).items():
            print(f"    {point['label']}, {system}: left out, {reason}")
        for system, fact in point.get("facts", {}).items():
            print(f"    {point['label']}, {system}: {fact}")


def main(arguments: list[str] | None = None) -> None:
    """Run what was asked for."""
    options = parse(arguments)
    results = ROOT / "benchmarks" / "results"
    page: Path = ROOT / "docs" / "benchmarks.md"
    if options.quick:
        results = results / "quick"
        page = results / "benchmarks.md"
    results.mkdir(parents=True, exist_ok=True)
    if not options.page:
        measure(chosen(options.only), options.quick, results)
    write_page(results, page)
    print(f"wrote {page.relative_to(ROOT)}")


def measure(picked: dict[str, set[str]], quick: bool, results: Path) -> None:
    """Run cases, save the whole ones, and say how long each and all of them took."""
    started, taken = time.perf_counter(), {}
    warm_up()
    for name, wanted in picked.items():
        result = rounded(run_case(name, wanted, quick))
        report(result)
        taken[name] = result["seconds"]
        print(f"  {name} took {in_minutes(taken[name])}", flush=True)
        if not wanted:
            (results / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for name, seconds in taken.items():
        print(f"{name:>14} {seconds:6.1f} s")
    print(
        f"all cases took {in_minutes(sum(taken.values()))}, with compiling {in_minutes(time.perf_counter() - started)}"
    )


if __name__ == "__main__":
    main()
