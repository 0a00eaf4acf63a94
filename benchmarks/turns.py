"""`python -m benchmarks.turns OTHER`: this tree's own figures beside those of another checkout, in turns, in one run.

Every timed point of the benchmarks is measured for our own systems in both trees, repeat by repeat, so that both share
the machine's moods. OTHER is a checkout of an earlier commit (`git worktree add OTHER COMMIT`); both run with the
interpreter that runs this.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import sys
from pathlib import Path

from benchmarks.cases import NAMES
from benchmarks.measure import ROOT, Worker, spread
from benchmarks.point import OURS, Point

__all__ = ["main"]


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.turns", description=__doc__)
    parser.add_argument("other", type=Path, help="the root of the other checkout")
    parser.add_argument("--only", action="append", metavar="CASE[:POINT]", help="one case or point; may be given again")
    parser.add_argument("--repeats", type=int, default=11, help="repeats of each tree (11)")
    parser.add_argument("--seconds", type=float, default=0.2, help="length of a repeat (0.2)")
    return parser.parse_args(arguments)


def timed_points(only: list[str] | None) -> list[tuple[str, Point]]:
    """Return the timed points that have a system of ours, by case."""
    asked = [item.partition(":") for item in only or NAMES]
    points = []
    for name, _, wanted in asked:
        for point in importlib.import_module(f"benchmarks.cases.{name}").points(False):
            if point.kind != "fact" and OURS in point.systems and wanted in ("", point.name):
                points.append((name, point))
    return points


def measure(case: str, point: Point, other: Path, repeats: int, seconds: float) -> dict[str, dict[str, float]]:
    """Return the seconds per unit of both trees, and their ratio repeat by repeat: above 1, this one is quicker."""
    workers = {root: Worker(case, OURS, point, seconds, root) for root in (ROOT, other)}
    costs: dict[Path, list[float]] = {root: [] for root in workers}
    try:
        for worker in workers.values():
            worker.read()
        for worker in workers.values():
            worker.run()
        for turn in range(repeats):
            # Who comes first changes, so that neither always has the warmer cache.
            for root in (ROOT, other) if turn % 2 else (other, ROOT):
                message = workers[root].run()
                costs[root].append(message["seconds"] / message["units"])
    finally:
        for worker in workers.values():
            worker.end()
    ratios = [theirs / mine for mine, theirs in zip(costs[ROOT], costs[other], strict=True)]
    return {"this": spread(costs[ROOT]), "other": spread(costs[other]), "ratio": spread(ratios)}


def main(arguments: list[str] | None = None) -> None:
    """Measure and print a line for each point."""
    options = parse(arguments)
    other = options.other.resolve()
    if not (other / "benchmarks" / "worker.py").is_file():
        raise SystemExit(f"OTHER must be the root of a checkout with benchmarks, got {other}")
    slower = []
    for case, point in timed_points(options.only):
        if not (other / "benchmarks" / "cases" / f"{case}.py").is_file():
            print(f"{case}:{point.name:<28} is not measured: the other tree does not have it")
            continue
        module = importlib.import_module(f"benchmarks.cases.{case}")
        with getattr(module, "surroundings", contextlib.nullcontext)(False):
            found = measure(case, point, other, options.repeats, options.seconds)
        ratio = found["ratio"]
        print(
            f"{case}:{point.name:<28} {1e9 * found['this']['median']:12.1f} ns, other "
            f"{1e9 * found['other']['median']:12.1f} ns, ratio {ratio['median']:.3f} "
            f"({ratio['lower']:.3f} to {ratio['upper']:.3f}), of the quickest repeats "
            f"{found['other']['least'] / found['this']['least']:.3f}",
            flush=True,
        )
        if ratio["median"] < 0.95:
            slower.append(f"{case}:{point.name}")
    print(f"more than 5 % slower than the other tree: {', '.join(slower) or 'none'}")
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
