"""The page docs/benchmarks.md, made from the saved results."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

from benchmarks.cases import NAMES
from benchmarks.machine import in_words
from benchmarks.plots import draw_ratios

__all__ = ["in_minutes", "write_page"]

PACKAGE = "stream-maxloss"
HEAD = """# Benchmarks

What this library costs, and how often it errs, beside the systems people use today. `make bench` generates this page;
[the end](#machine) says how long that takes. `make bench-quick` is a short form that takes under two minutes on two
idle cores. Each system runs in its own process, on one core, over the same rows; where time is compared, the systems
take turns after a warm-up, so that all face the same noise. A ratio is the peer's time over ours, repeat by repeat: its
median, with the quartiles in brackets. Times are processor time, which on an idle machine is wall time. Cases that
count errors run two systems at once. The command beside each figure measures that figure alone; run it from the
project's folder with the extra `bench` installed.

Where the time of each hot path goes is in [profiles.md](profiles.md); what focus does, buys and costs in
[focus.md](focus.md); how well every system predicts, over streams of many kinds, in [streams.md](streams.md).
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
        parts += [note for note in (versions(found),) if note]
        parts.append(glance(found))
        if draw_ratios(found, images / "benchmark-ratios.png"):
            parts.append("![Ratios beside their targets](images/benchmark-ratios.png)\n")
    for name, result in found.items():
        parts.append(section(name, result, images))
    parts.append(summary(found))
    parts.append(machines(found))
    page.write_text("\n".join(parts), encoding="utf-8")


def versions(found: dict[str, dict[str, Any]]) -> str:
    """Return which cases were measured with which version of ours; nothing where all were with the same."""
    cases: dict[str, list[str]] = {}
    for name, result in found.items():
        cases.setdefault(result["machine"]["versions"].get(PACKAGE, "unknown"), []).append(f"`{name}`")
    if len(cases) < 2:
        return ""
    each = "; ".join(f"{version}: {', '.join(names)}" for version, names in sorted(cases.items()))
    return f"Not all cases were measured with the same version. {each}.\n"


def saved(results: Path) -> list[tuple[str, Path]]:
    """Return the cases that have results, in their order."""
    return [(name, results / f"{name}.json") for name in NAMES if (results / f"{name}.json").is_file()]


def case_of(name: str) -> Any:
    """Return the module of a case."""
    return importlib.import_module(f"benchmarks.cases.{name}")


def glance(found: dict[str, dict[str, Any]]) -> str:
    """Return the table that leads the page: a line a case, with what it came to and how many targets were reached."""
    rows = []
    for name, result in found.items():
        claims = [claim for claim in result["claims"] if claim["target"] is not None]
        met = f"{sum(claim['met'] for claim in claims)} of {len(claims)}" if claims else "-"
        title = case_of(name).TITLE
        rows.append([f"[{title}](#{anchor(title)})", headline(result["claims"]), met])
    lead = "## At a glance\n\nOurs against each peer, over all points of a case; above 1x ours is quicker. "
    lead += "Every target is listed [at the end](#targets).\n\n"
    return lead + table(["what", "came to", "targets reached"], rows)


def headline(claims: list[dict[str, Any]]) -> str:
    """Return the range of the ratios against each peer or, where there is no peer, the first figures with a target."""
    ratios: dict[str, list[float]] = {}
    for claim in claims:
        _, against, peer = claim["what"].rpartition("against ")
        if against and claim["suffix"] == "x":
            ratios.setdefault(peer.partition(",")[0], []).append(claim["value"])
    if ratios:
        return "; ".join(f"{peer} {spanned(of)}" for peer, of in ratios.items())
    asked = [claim for claim in claims if claim["target"] is not None] or claims
    return "; ".join(f"{claim['what']}: {number(claim['value'])}{claim['suffix']}" for claim in asked[:2]) or "-"


def spanned(ratios: list[float]) -> str:
    """Return the lowest and the highest of some ratios, or the only one."""
    lowest, highest = number(min(ratios)), number(max(ratios))
    return f"{lowest}x" if lowest == highest else f"{lowest}x to {highest}x"


def anchor(title: str) -> str:
    """Return what a Markdown page calls the place of a heading."""
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -_")
    return kept.replace(" ", "-")


def machines(found: dict[str, dict[str, Any]]) -> str:
    """Return what the figures were measured on: once, where all cases agree."""
    by_words: dict[str, list[str]] = {}
    for name, result in found.items():
        by_words.setdefault(in_words(result["machine"]), []).append(name)
    lines = []
    for words, names in by_words.items():
        lines.append(words if len(by_words) == 1 else f"{', '.join(names)}: {words}")
    lines.append(durations(found))
    return "## Machine\n\n" + "\n\n".join(lines) + "\n"


def durations(found: dict[str, dict[str, Any]]) -> str:
    """Return how long the cases took, each and together."""
    each = ", ".join(f"{name} {result['seconds']:.0f} s" for name, result in found.items())
    total = sum(result["seconds"] for result in found.values())
    return (
        f"All cases took {in_minutes(total)}: {each}. Kernels were compiled before, which takes a minute or two more "
        "where none is on disk yet."
    )


def in_minutes(seconds: float) -> str:
    """Return a duration in words."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


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
                call = command(name, claim["point"])
                rows.append([name, claim["what"], figure(claim), target(claim), verdict(claim), call])
    met = sum(row[-2] == "pass" for row in rows)
    lead = f"## Targets\n\n{met} of {len(rows)} reached.\n\n"
    return lead + table(["case", "figure", "measured", "target", "verdict", "command"], rows)


def micro(cost: dict[str, float]) -> str:
    """Return seconds as microseconds with quartiles."""
    return f"{1e6 * cost['median']:.4g} ({1e6 * cost['lower']:.4g} to {1e6 * cost['upper']:.4g})"


def section(name: str, result: dict[str, Any], images: Path) -> str:
    """Return a case's part of the page: ratios, then times, then its own tables and plot."""
    case = case_of(name)
    rows = [
        [claim["what"], figure(claim), target(claim), verdict(claim), command(name, claim["point"])]
        for claim in result["claims"]
    ]
    parts = [f"## {case.TITLE}\n", case.INCLUDED + "\n"]
    if rows:
        parts.append(table(["figure", "measured", "target", "verdict", "command"], rows))
    times = time_rows(name, result)
    if times:
        parts.append(table(["at", "system", "µs: median (quartiles)", "a second", "command"], times))
    parts += own_parts(case, result["measured"], images)
    load = result["machine"]["load"][0]
    parts.append(
        f"Measured in {result['seconds']:.0f} s; load at the start {load} on {result['machine']['cores']} cores.\n"
    )
    return "\n".join(parts)


def own_parts(case: Any, measured: dict[str, Any], images: Path) -> list[str]:
    """Return the tables, texts and plots that a case makes of its measurements itself, if any."""
    parts = []
    if hasattr(case, "tables"):
        for part in case.tables(measured):
            parts.append(part + "\n" if isinstance(part, str) else table(*part))
    if hasattr(case, "plot"):
        for title, file in case.plot(measured, images):
            parts.append(f"![{title}](images/{file})\n")
    return parts


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
