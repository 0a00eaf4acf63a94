"""Quality beside the peers: progressive validation over the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.data import find_data
from benchmarks.point import Point
from benchmarks.quality import scikit, streams, systems
from benchmarks.quality.scores import ALPHA, SUPPORT, score, watch

TITLE = "Quality beside the peers"
INCLUDED = (
    "Progressive validation: every system predicts a row before it learns it, over the same rows in the same "
    "shuffled order, each in a process of its own. No system was tuned, ours no more than the peers: defaults, or "
    f"what the authors' documentation shows. scikit-learn alone is asked in batches, of {scikit.BATCH} rows: it "
    "predicts a whole batch before it learns any of it. All systems give a probability, the linear ones the sigmoid"
    " of a score: a row is called positive above one half, and its loss is one minus what its label gets. Tail loss"
    f" is the mean of the worst {ALPHA:.0%} of these losses. The worst slice is one of at least {SUPPORT} rows. "
    "Two systems run beside each other, one on each core. Seconds are processor seconds of predicting and learning, "
    "after rows were put into the form that a system takes (ours: Arrow batches; River: dicts; VW: a text file, which "
    "it parses while it learns; scikit-learn: a "
    "matrix, with all values of the text columns declared beforehand). Memory is how far the process grew "
    "meanwhile. Focused learners run with five seeds: the line is the run of the middle rare recall, with the least"
    " and the greatest in brackets; peers that draw run with one seed. What focus buys and costs on longer streams "
    "is in [focus.md](focus.md)."
)
AXIS = None
ROWS = 20_000
HEADER = ["system", "error", "worst slice", "rare recall", "max loss", "tail loss", "seconds", "memory", "command"]


def points(quick: bool) -> list[Point]:
    """Return one point per data set that is at hand."""
    folder = find_data()
    names = [name for name in streams.STORED if folder and (folder / name / f"{name}.parquet").is_file()]
    names = names or list(streams.BUNDLED)
    chosen, rows = (systems.QUICK, 2_000) if quick else (tuple(systems.CONFIGURED), ROWS)
    return [
        Point(name, name, chosen, {"stream": name, "rows": rows}, kind="fact", at_once=2)
        for name in names[: 1 if quick else None]
    ]


def observe(system: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the scores and the cost of one system: of its middle run by rare recall, where it has several."""
    stream = streams.load(settings["stream"], settings["rows"])
    runs = []
    for seed in systems.seeds(system):
        answers, seconds, grown = watch(systems.prepare(system, stream, seed))
        runs.append({**score(stream, answers), "seed": seed, "seconds": seconds, "bytes grown": grown})
    runs.sort(key=lambda run: run["rare recall"])
    spread = [runs[0]["rare recall"], runs[-1]["rare recall"]] if len(runs) > 1 else None
    # Later runs find the memory of the first one at hand.
    grown = max((run["bytes grown"] for run in runs if run["bytes grown"] is not None), default=None)
    return {
        **runs[len(runs) // 2],
        "rare recall of all seeds": spread,
        "bytes grown": grown,
        "rows": len(stream.labels),
    }


def conclude(measured: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return nothing: no figure here has a target. The tables tell where the peers are better."""
    return []


def tables(measured: dict[str, dict[str, Any]]) -> list[Any]:
    """Return a table per data set, lowest error first, and how each system was set up."""
    parts: list[Any] = []
    told = {**streams.STORED, **streams.BUNDLED}
    for name, point in measured.items():
        facts = {system: fact for system, fact in point["facts"].items() if "missing" not in fact}
        if not facts:
            continue
        first = next(iter(facts.values()))
        rare = first["rare"]
        count = first["rows of slices"][rare]
        parts.append(
            f"### {name}\n\n{told[name]}. The first {first['rows']:,} rows of its shuffle; {count} are rare.\n"
        )
        ranked = sorted(facts, key=lambda system: facts[system]["error"])
        parts.append((HEADER, [table_row(name, system, facts[system]) for system in ranked]))
        parts.append(leaders(facts))
        absent = [f"{system}: {fact['missing']}" for system, fact in point["facts"].items() if "missing" in fact]
        if absent:
            parts.append("Left out: " + "; ".join(absent) + ".")
    parts.append("How each system is set up:")
    parts.append("\n".join(f"- {system}: {words}." for system, words in systems.CONFIGURED.items()))
    return parts


def leaders(facts: dict[str, dict[str, Any]]) -> str:
    """Return who errs least and who finds most of the rare rows, and how the best of ours compares."""
    ours = [system for system in facts if systems.family(system).startswith("ours")]

    def told(system: str) -> str:
        fact = facts[system]
        found = f"{fact['rare recall']:.1%} of the rare found"
        return f"{system} ({fact['error']:.2%} wrong, {found}, {fact['seconds']:.3g} s)"

    sentences = []
    for words, what, sign in (("Lowest error", "error", 1.0), ("Most of the rare rows", "rare recall", -1.0)):
        ranked = [system for _, system in sorted((sign * fact[what], system) for system, fact in facts.items())]
        text = f"{words}: {told(ranked[0])}"
        if ours and ranked[0] not in ours:
            text += f"; of ours {told(next(system for system in ranked if system in ours))}"
        sentences.append(text + ".")
    return " ".join(sentences)


def table_row(name: str, system: str, fact: dict[str, Any]) -> list[str]:
    """Return a system's line; ours are bold."""
    worst, spread = fact["worst slice"], fact["rare recall of all seeds"]
    return [
        f"**{system}**" if systems.family(system).startswith("ours") else system,
        f"{fact['error']:.2%}",
        f"{worst}: {fact['errors of slices'][worst]:.1%}",
        f"{fact['rare recall']:.1%}" + ("" if spread is None else f" ({spread[0]:.1%} to {spread[1]:.1%})"),
        f"{fact['max loss']:.3f}",
        f"{fact['tail loss']:.3f}",
        f"{fact['seconds']:.3g}",
        "-" if fact["bytes grown"] is None else f"{fact['bytes grown'] / 1e6:.1f} MB",
        f'`python -m benchmarks --only "quality:{name}:{system}"`',
    ]


def plot(measured: dict[str, dict[str, Any]], folder: Path) -> list[tuple[str, str]]:
    """Draw error against compute."""
    from benchmarks.quality.plot import draw

    file = "benchmark-quality.png"
    return [("Error against compute: lower left is better", file)] if draw(measured, folder / file) else []
