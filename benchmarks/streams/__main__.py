"""`python -m benchmarks.streams`: run systems over streams, print how they compare, and write docs/streams.md."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.__main__ import rounded
from benchmarks.machine import describe
from benchmarks.measure import ROOT
from benchmarks.peers.systems import SYSTEMS, find_system
from benchmarks.streams.catalogue import STREAMS
from benchmarks.streams.page import write_page
from benchmarks.streams.places import summed_up
from benchmarks.streams.runs import Run, recall, run
from benchmarks.streams.tables import print_places, print_stream

__all__ = ["main"]

ROWS, LIMIT = 50_000, 300
RESULTS, PAGE = ROOT / "benchmarks" / "results" / "streams.json", ROOT / "docs" / "streams.md"


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.streams", description=__doc__)
    parser.add_argument("--systems", metavar="NAME,...", help="default: all; a factory is called module:callable")
    parser.add_argument("--streams", metavar="NAME,...", help=f"default: all, that is {', '.join(STREAMS)}")
    parser.add_argument("--shuffles", type=int, default=1, help="orders of each stream whose order does not matter")
    parser.add_argument("--rows", type=int, default=ROWS, help="at most so many rows of each stream")
    parser.add_argument("--limit", type=int, default=LIMIT, help="seconds of processor time for one run")
    parser.add_argument("--cache", type=Path, default=ROOT / "build" / "streams", help="where results are kept")
    parser.add_argument("--again", action="store_true", help="run also what is kept already")
    parser.add_argument("--page", action="store_true", help="write the page also if not all was run; the rest stays")
    return parser.parse_args(arguments)


def named(text: str | None, known: dict[str, Any], what: str) -> list[str]:
    """Return the names asked for, or all."""
    names = list(known) if text is None else [name.strip() for name in text.split(",")]
    for name in names:
        if what == "streams" and name not in known:
            raise SystemExit(f"--streams must name streams, got {name!r}; there are {', '.join(known)}")
        if what == "systems":
            try:
                find_system(name)
            except ValueError as error:
                raise SystemExit(f"--systems: {error}") from error
    return names


def plan(systems: list[str], streams: list[str], shuffles: int, rows: int) -> Iterator[Run]:
    """Return the runs, stream by stream; a stream of one order is run once."""
    for stream in streams:
        entry = STREAMS[stream]
        for system in systems:
            if find_system(system).takes(entry):
                for seed in range(1, 1 + (1 if entry.one_order else shuffles)):
                    yield Run(system, stream, seed, min(rows, entry.size))


def kept(systems: list[str], streams: list[str], options: argparse.Namespace) -> list[dict[str, Any]]:
    """Return what is known of the systems on the streams."""
    found = (recall(item, options.cache) for item in plan(systems, streams, options.shuffles, options.rows))
    return [result for result in found if result is not None]


def main(arguments: list[str] | None = None) -> None:
    """Run what was asked for and is not known, and show it beside everything that is kept."""
    options = parse(arguments)
    systems = named(options.systems, SYSTEMS, "systems")
    streams = named(options.streams, STREAMS, "streams")
    for item in plan(systems, streams, options.shuffles, options.rows):
        if options.again or recall(item, options.cache) is None:
            print(f"{item.stream}, shuffle {item.seed}: {item.system} ...", flush=True)
            found = run(item, options.cache, options.limit)
            reason = found.get("missing") or found.get("failed")
            if reason:
                print(f"  left out: {reason}", flush=True)
    shown = [*SYSTEMS, *(name for name in systems if name not in SYSTEMS)]
    summary = summed_up(kept(shown, streams, options))
    for stream, figures in summary.items():
        print_stream(stream, figures)
    print_places(summary)
    if options.page or (options.systems is None and options.streams is None):
        save(summed_up(kept(list(SYSTEMS), list(STREAMS), options)), options)


def in_lines(result: dict[str, Any]) -> str:
    """Return results as JSON with a line for each run: short enough to be kept, and a new run changes its line only."""
    figures = ",\n".join(
        f"  {json.dumps(stream)}: {{\n"
        + ",\n".join(f"   {json.dumps(system)}: {json.dumps(found)}" for system, found in systems.items())
        + "\n  }"
        for stream, systems in result["figures"].items()
    )
    head = json.dumps({name: value for name, value in result.items() if name != "figures"}, indent=1)
    return f'{head.removesuffix("}").rstrip()},\n "figures": {{\n{figures}\n }}\n}}\n'


def with_last(summary: dict[str, Any], last: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """Return figures with those of the last page for what was not run, if it had as many rows and shuffles."""
    if (last.get("rows"), last.get("shuffles")) != (options.rows, options.shuffles):
        return summary
    joined: dict[str, Any] = {}
    for stream in STREAMS:
        found = {**last["figures"].get(stream, {}), **summary.get(stream, {})}
        known = {name: found[name] for name in SYSTEMS if name in found}
        if known:
            joined[stream] = known
    return joined


def save(summary: dict[str, Any], options: argparse.Namespace) -> None:
    """Write the results and the page."""
    last = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
    figures = with_last(summary, last, options)
    told = {"rows": options.rows, "shuffles": options.shuffles, "machine": describe()}
    # Who was run since the last page, or is known from this tree; the others' figures are older.
    fresh = [name for name in SYSTEMS if any(name in found for found in summary.values())]
    result = rounded({**told, "fresh": fresh, "figures": figures})
    RESULTS.write_text(in_lines(result), encoding="utf-8")
    write_page(result, PAGE)
    print(f"wrote {PAGE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
