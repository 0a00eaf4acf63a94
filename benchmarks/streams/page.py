"""The page docs/streams.md, made from the saved results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.machine import in_words
from benchmarks.page import number, table
from benchmarks.peers.systems import SYSTEMS
from benchmarks.streams.catalogue import STREAMS
from benchmarks.streams.pictures import draw_cost, draw_reliability
from benchmarks.streams.places import LOWER_IS_BETTER, mean_places, worse_than_constant
from benchmarks.streams.scores import BINS, FALSE_ALARMS, FLOOR

__all__ = ["write_page"]

HEAD = """# Streams

How well each system predicts a row before it learns it, over {streams} streams: at most {rows:,} rows of each,
{shuffles}. Made by `python -m benchmarks.streams --rows {rows} --shuffles {count}` with the extras `bench` and
`capymoa`; `--systems` and `--streams` select single figures. Every system is set up
[as its documentation does it](#systems), sees the same rows in the same order, and runs in its own process. Where there
are several shuffles, a figure is their mean, followed by their standard deviation. A dash means not run.
"""
# Figure, heading, factor, form, and what to know about it.
SECTIONS: dict[str, tuple[str, float, str, str]] = {
    "log loss": ("Log loss", 1.0, ".4f", f"Lower is better. No row costs more than -log {FLOOR:g}."),
    "ap": (
        "Average precision, %",
        100.0,
        ".1f",
        "Higher is better; of several classes the mean, each against the rest.",
    ),
    "error": ("Error, %", 100.0, ".2f", "Rows whose most probable label is wrong."),
    "recall at 0.1 %": (
        "Recall at 0.1 % false alarms, %",
        100.0,
        ".1f",
        "Positives found where one negative in 1,000 is.",
    ),
    "recall at 1 %": ("Recall at 1 % false alarms, %", 100.0, ".1f", "Positives found where one negative in 100 is."),
    "ece": (
        "Calibration",
        1.0,
        ".4f",
        f"Expected calibration error over {BINS} bins of equal width: of the probability of True, or of the most "
        "probable of several classes.",
    ),
    "mae": ("Mean absolute error", 1.0, ".4g", "Streams of numbers; lower is better."),
    "rmse": ("Root mean squared error", 1.0, ".4g", "Streams of numbers; lower is better."),
    "rows a second": ("Rows a second", 1.0, ",.0f", "Predicted and learned, by processor time."),
    "bytes grown": (
        "Memory, MB",
        1e-6,
        ".0f",
        "By how much the process grew at most while it ran; with Java, garbage that waits for collection counts.",
    ),
}


def write_page(result: dict[str, Any], page: Path) -> None:
    """Write the page and its pictures."""
    figures, images = result["figures"], page.parent / "images"
    images.mkdir(parents=True, exist_ok=True)
    many = result["shuffles"] > 1
    shuffles = f"{result['shuffles']} shuffles where order does not matter" if many else "one shuffle"
    head = HEAD.format(streams=len(figures), rows=result["rows"], shuffles=shuffles, count=result["shuffles"])
    known = {name for found in figures.values() for name in found}
    if known - set(result.get("fresh", known)):
        fresh = ", ".join(f"`{name}`" for name in result["fresh"])
        head += f"\nRun for this page: {fresh}. The other figures are from earlier runs over the same rows.\n"
    parts = [head, places(figures)]
    if draw_cost(figures, images / "streams-cost.png"):
        parts.append("![Log loss over the best system's, against processor time](images/streams-cost.png)\n")
    if draw_reliability(figures, images / "streams-reliability.png"):
        parts.append("![What was said against what happened](images/streams-reliability.png)\n")
    parts += [section(figures, what) for what in SECTIONS]
    parts += [slices(figures, what) for what in FALSE_ALARMS]
    parts += [failures(figures), systems(figures), streams(figures), f"## Machine\n\n{in_words(result['machine'])}\n"]
    page.write_text("\n".join(part for part in parts if part), encoding="utf-8")


def places(figures: dict[str, Any]) -> str:
    """Return the table that leads: mean places, and where a system loses to an answer that knows no column."""
    means = {what: mean_places(figures, what) for what in LOWER_IS_BETTER}
    means = {what: found for what, found in means.items() if found}
    names = list(dict.fromkeys(system for found in means.values() for system in found))
    rows = []
    for system in names:
        cells = [f"{found[system][0]:.2f} ({found[system][1]})" if system in found else "-" for found in means.values()]
        worse = {*worse_than_constant(figures, system, "log loss"), *worse_than_constant(figures, system, "mae")}
        rows.append([bold(system), *cells, ", ".join(stream for stream in figures if stream in worse) or "none"])
    lead = (
        "## At a glance\n\nMean place among all systems, 1 the best, and the number of streams it was run on. A "
        "system that did not finish a stream has the last place there. Means over different numbers of streams are not "
        "comparable.\n\n"
    )
    return lead + table(["system", *(f"place in {what}" for what in means), "worse than a constant on"], rows)


def bold(system: str) -> str:
    """Return a system's name, ours in bold."""
    return f"**{system}**" if SYSTEMS[system].family == "ours" else system


def section(figures: dict[str, Any], what: str) -> str:
    """Return the part of the page about one figure."""
    return grid(figures, what, SECTIONS[what])


def grid(figures: dict[str, Any], what: str, shown: tuple[str, float, str, str]) -> str:
    """Return a section with a table: a row for each stream or slice, a column for each system that has any figure."""
    title, scale, form, words = shown
    having = [system for system in SYSTEMS if any(what in found.get(system, {}) for found in figures.values())]
    rows = []
    for stream, found in figures.items():
        cells = [cell(found.get(system, {}), what, scale, form) for system in having]
        if any(cell != "-" for cell in cells):
            rows.append([stream, *mark_best(found, having, cells, what)])
    return f"## {title}\n\n{words}\n\n" + table(["stream", *map(bold, having)], rows) if rows else ""


def slices(figures: dict[str, Any], what: str) -> str:
    """Return a recall of each named slice of positives, at the same false alarms among all negative rows."""
    named = {}
    for stream, found in figures.items():
        # A slice whose recall is that of all positives tells nothing new.
        names = dict.fromkeys(name for entry in found.values() for name in entry.get("slices", {}))
        for name in names:
            cut = {
                system: {**entry["slices"].get(name, {}), "shuffles": entry["shuffles"]} for system, entry in ran(found)
            }
            if any(what in entry and entry[what] != dict(ran(found))[system][what] for system, entry in cut.items()):
                rows = next(entry["rows"]["mean"] for entry in cut.values())
                named[f"{stream}: {name} ({rows:,.0f} rows)"] = cut
    title, scale, form, _ = SECTIONS[what]
    words = "Positives of one slice, at the same false alarms among all negative rows of the stream."
    return grid(named, what, (f"Named slices: {title[0].lower()}{title[1:]}", scale, form, words))


def ran(found: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the systems that finished a stream, with their figures."""
    return [(system, entry) for system, entry in found.items() if "failed" not in entry]


def cell(found: dict[str, Any], what: str, scale: float, form: str) -> str:
    """Return a mean, with its spread if there are several shuffles."""
    if what not in found:
        return "-"
    mean, spread = scale * found[what]["mean"], scale * found[what]["spread"]
    return format(mean, form) + (f" ± {number(spread)}" if found["shuffles"] > 1 else "")


def mark_best(found: dict[str, Any], systems: list[str], cells: list[str], what: str) -> list[str]:
    """Return the cells of a stream with the best in bold."""
    lower = LOWER_IS_BETTER.get(what, what in ("ece", "rmse", "bytes grown"))
    means = [found[system][what]["mean"] if what in found.get(system, {}) else None for system in systems]
    known = [mean for mean in means if mean is not None]
    best = min(known) if lower else max(known)
    return [f"**{text}**" if mean == best else text for text, mean in zip(cells, means, strict=True)]


def failures(figures: dict[str, Any]) -> str:
    """Return who failed where, and why."""
    rows = [
        [stream, bold(system), found["failed"]]
        for stream, systems in figures.items()
        for system, found in systems.items()
        if "failed" in found
    ]
    return "## Not finished\n\n" + table(["stream", "system", "why"], rows) if rows else ""


def systems(figures: dict[str, Any]) -> str:
    """Return how each system is set up."""
    versions = {
        system: entry["version"] for found in figures.values() for system, entry in found.items() if "version" in entry
    }
    rows = [
        [bold(name), system.words, "-" if system.family in ("ours", "baseline") else versions[name]]
        for name, system in SYSTEMS.items()
        if name in versions
    ]
    return "## Systems\n\nTrees are not run over sparse texts.\n\n" + table(["system", "set up as", "version"], rows)


def streams(figures: dict[str, Any]) -> str:
    """Return what each stream is."""
    rows = []
    for name, found in figures.items():
        entry = STREAMS[name]
        count = next((figures["rows"] for figures in found.values() if "rows" in figures), 0)
        rows.append([name, entry.words, entry.kind, f"{count:,}", "as it comes" if entry.one_order else "by seed"])
    return "## The streams\n\n" + table(["stream", "what it is", "label", "rows", "order"], rows)
