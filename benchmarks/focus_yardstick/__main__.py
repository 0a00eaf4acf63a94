"""`python -m benchmarks.focus_yardstick`: run the yardstick, keep the figures, and write its pages."""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.cases.drift import drifting
from benchmarks.focus_yardstick.contenders import EVEN, LEARNERS, WAYS, ways_of_learner
from benchmarks.focus_yardstick.leaves import over_leaves
from benchmarks.focus_yardstick.page import write_pages
from benchmarks.focus_yardstick.runs import figures, run
from benchmarks.machine import describe
from benchmarks.measure import ROOT
from benchmarks.streams.catalogue import STREAMS, open_stream
from benchmarks.streams.stream import Stream

__all__ = ["main"]

RESULTS = ROOT / "benchmarks" / "results" / "focus_yardstick.json"
# In the order of what they tell about rare rows.
SETS = (
    *("nsl_kdd", "protein_homology", "shuttle", "adult", "covtype", "spambase", "flights_late", "sms_spam"),
    *("youtube_spam", "newsgroups_pair", "phishing", "bananas", "sea", "agrawal", "hyperplane", "elec2"),
    *("hiva", "mnist_5", "mushrooms", "rcv1_small"),
)
# Made by a plane that changes, besides: to see what replays cost under drift.
DRIFTS = ("abrupt", "gradual")


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.focus_yardstick", description=__doc__)
    parser.add_argument("--streams", default=",".join(SETS), help="comma-separated; abrupt and gradual are drifts")
    parser.add_argument("--learners", default=",".join(LEARNERS), help="comma-separated")
    parser.add_argument("--ways", default=",".join(WAYS), help="comma-separated")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--shuffles", type=int, default=5)
    parser.add_argument("--foreign-shuffles", type=int, default=2, help="shuffles for learners that are not ours")
    parser.add_argument("--rows", type=int, default=20_000, help="at most so many rows of a stream")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--pages", action="store_true", help="write docs/yardstick.md and its summary in docs/focus.md")
    parser.add_argument("--flips", type=float, default=0.0, help="share of labels that are flipped for learning alone")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    """Run what is asked for, beside what is kept, and write the page."""
    options = parse(arguments)
    kept = json.loads(options.results.read_text("utf-8")) if options.results.is_file() else {"figures": {}}
    kept |= {"rows": options.rows, "machine": describe()}
    for name in options.streams.split(","):
        for learner in options.learners.split(","):
            place = kept["figures"].setdefault(name, {}).setdefault(learner, {})
            place |= on_stream(name, learner, options)
            options.results.write_text(in_lines(kept), encoding="utf-8")
    if options.pages:
        write_pages(kept, ROOT / "docs")


def in_lines(kept: dict[str, Any]) -> str:
    """Return the results as JSON with a line for each way, figures cut to the digits that count."""
    figures = ",\n".join(
        f"  {json.dumps(name)}: {{\n"
        + ",\n".join(
            f"   {json.dumps(learner)}: {{\n"
            + ",\n".join(f"    {json.dumps(way)}: {json.dumps(rounded(runs))}" for way, runs in ways.items())
            + "\n   }"
            for learner, ways in learners.items()
        )
        + "\n  }"
        for name, learners in kept["figures"].items()
    )
    head = json.dumps({name: value for name, value in kept.items() if name != "figures"}, indent=1)
    return f'{head.removesuffix("}").rstrip()},\n "figures": {{\n{figures}\n }}\n}}\n'


def rounded(value: Any) -> Any:
    """Return figures with four digits that count."""
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, dict):
        return {name: rounded(part) for name, part in value.items()}
    return [rounded(part) for part in value] if isinstance(value, list) else value


def on_stream(name: str, learner: str, options: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of each way over the shuffles, or why there are none."""
    choice, entry = LEARNERS[learner], STREAMS.get(name)
    one_order = entry is not None and entry.one_order
    shuffles = 1 if one_order else options.foreign_shuffles if choice.foreign else options.shuffles
    if choice.foreign and entry is not None and entry.wide:
        return {"left out": "not run over sparse texts"}
    found: dict[str, list[dict[str, Any]]] = {}
    for seed in range(options.first_seed, options.first_seed + shuffles):
        try:
            rows = min(options.rows, choice.rows)
            stream = drifting(name, rows, seed) if name in DRIFTS else open_stream(name, seed, rows)
        except FileNotFoundError as error:
            return {"left out": str(error)}
        stream = over_leaves(stream, seed) if choice.leaves else stream
        asked = options.ways.split(",")
        ways = [way for way in ways_of_learner(learner) if way in asked and (way != "slices" or len(stream.slices) > 1)]
        answers = {way: answers_of(learner, way, stream, seed, options.flips) for way in ways}
        for way, (said, seconds) in answers.items():
            found.setdefault(way, []).append(figures(stream, said, seconds, answers.get(EVEN, (None, 0.0))[0]))
    for way, results in found.items():
        print(f"{name:16} {learner:14} {way:16} {line(results)}", flush=True)
    return found


def answers_of(learner: str, way: str, stream: Stream, seed: int, flips: float) -> tuple[NDArray[np.float64], float]:
    """Return the answers of one run and its processor seconds; some labels may be flipped for learning alone."""
    wrong = np.random.default_rng(seed + 7).uniform(size=len(stream)) < flips
    learned = stream if not flips else Stream(stream.table, stream.labels.astype(bool) ^ wrong, stream.slices)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run(learner, way, learned)


def line(results: list[dict[str, Any]]) -> str:
    """Return the means of some figures."""
    shown = ("recall at 0.1 %", "recall at 1 %", "worst slice at 1 %", "ap", "tail loss", "log loss", "error")
    return "  ".join(f"{what.split(' slice')[0]} {np.mean([found[what] for found in results]):.4f}" for what in shown)


if __name__ == "__main__":
    main()
