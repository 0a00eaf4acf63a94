"""Quality beside the peers: progressive validation over the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks import data_sets
from benchmarks.point import Point
from benchmarks.quality import scikit, systems
from benchmarks.quality.scores import ALPHA, SUPPORT, score, watch

TITLE = "Quality beside the peers"
INCLUDED = (
    "Progressive validation: every system predicts a row before it learns it, over the same rows in the same "
    "order, each in a process of its own. No system was tuned, ours no more than the peers: defaults, or "
    f"what the authors' documentation shows. scikit-learn alone is asked in batches, of {scikit.BATCH} rows: it "
    "predicts a whole batch before it learns any of it. All systems give a probability, the linear ones the sigmoid"
    " of a score: a row is called positive above one half, and its loss is one minus what its label gets. Tail loss"
    f" is the mean of the worst {ALPHA:.0%} of these losses. The worst slice is one of at least {SUPPORT} rows; rare "
    "recall is the share of the rare slice's rows that are called right. "
    "Two systems run beside each other, one on each core, and disturb each other's caches a little. Seconds are "
    "processor seconds of predicting and learning, "
    "after rows were put into the form that a system takes (ours: Arrow batches; River: dicts; VW: a text file, which "
    "it parses while it learns; scikit-learn: a "
    "matrix, with all values of the text columns declared beforehand). Memory is how far the process grew "
    "meanwhile. Focused learners run with five seeds: the line is the run of the middle rare recall, with the least"
    " and the greatest in brackets; peers that draw run with one seed. River's trees, the costly reference, run over "
    f"{', '.join(systems.TREE_SETS[:-2])} and {systems.TREE_SETS[-2]}. What focus buys and costs on longer streams "
    "is in [focus.md](focus.md)."
)
AXIS = None
ROWS = 10_000
HEADER = ["system", "error", "worst slice", "rare recall", "max loss", "tail loss", "seconds", "memory", "command"]


def points(quick: bool) -> list[Point]:
    """Return one point per data set: those at hand, or those that River brings along."""
    names = [name for name in data_sets.STORED if data_sets.find_set(name)] or list(data_sets.BUNDLED)
    if quick:
        settings = {"stream": names[0], "rows": 2_000}
        return [Point(names[0], names[0], systems.QUICK, settings, kind="fact", at_once=2)]
    return [
        Point(name, name, systems.systems_for(name), {"stream": name, "rows": ROWS}, kind="fact", at_once=2)
        for name in names
    ]


def observe(system: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the scores and the cost of one system: of its middle run by rare recall, where it has several."""
    stream = data_sets.load(settings["stream"], rows=settings["rows"])
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
    """Return ranks over all data sets, a table for each, lowest error first, and how each system was set up."""
    found = {name: ran(point) for name, point in measured.items() if ran(point)}
    parts: list[Any] = rank_table(found) if len(found) > 1 else []
    told = {**data_sets.STORED, **data_sets.BUNDLED}
    for name, facts in found.items():
        first = next(iter(facts.values()))
        count = first["rows of slices"][first["rare"]]
        words = f"{told[name].words}. {first['rows']:,} rows, of which {count:,} are of the rare slice."
        parts.append(f"### {name}\n\n{words}\n")
        ranked = sorted(facts, key=lambda system: facts[system]["error"])
        parts.append((HEADER, [table_row(name, system, facts[system]) for system in ranked]))
        parts.append(leaders(facts))
        absent = {s: fact["missing"] for s, fact in measured[name]["facts"].items() if "missing" in fact}
        if absent:
            parts.append("Left out: " + "; ".join(f"{system}: {reason}" for system, reason in absent.items()) + ".")
        parts.append(f"![{name}: error against compute, lower left is better](images/{picture_of(name)})")
    parts.append("How each system is set up:")
    parts.append("\n".join(f"- {system}: {words}." for system, words in systems.CONFIGURED.items()))
    return parts


def ran(point: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return by system the facts of those that ran."""
    return {system: fact for system, fact in point["facts"].items() if "missing" not in fact}


def rank_table(found: dict[str, dict[str, dict[str, Any]]]) -> list[Any]:
    """Return the mean places of the systems that ran over all data sets: 1 is the best, equal ones share a place."""
    everywhere = set.intersection(*(set(facts) for facts in found.values()))
    places: dict[str, list[float]] = {system: [] for system in everywhere}
    columns = {"error": 1.0, "rare recall": -1.0, "tail loss": 1.0, "seconds": 1.0}
    for what, sign in columns.items():
        of_sets = [ranks({system: sign * facts[system][what] for system in everywhere}) for facts in found.values()]
        for system in everywhere:
            places[system].append(sum(of_set[system] for of_set in of_sets) / len(of_sets))
    rows = [
        [f"**{system}**" if is_ours(system) else system, *(f"{place:.1f}" for place in places[system])]
        for system in sorted(everywhere, key=lambda system: (places[system], system))
    ]
    words = f"Mean place of {len(everywhere)} systems over {len(found)} data sets; 1 would be the best on each:"
    return [words, (["system", *columns], rows)]


def ranks(values: dict[str, float]) -> dict[str, float]:
    """Return the place of each by its value, the least first; equal ones share the mean of their places."""
    ordered = sorted(values.values())
    return {name: 1.0 + ordered.index(value) + (ordered.count(value) - 1) / 2.0 for name, value in values.items()}


def is_ours(system: str) -> bool:
    """Tell whether a system is one of this library's."""
    return systems.family(system).startswith("ours")


def leaders(facts: dict[str, dict[str, Any]]) -> str:
    """Return who errs least and who finds most of the rare rows, and how the best of ours compares."""
    ours = [system for system in facts if is_ours(system)]

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
        f"**{system}**" if is_ours(system) else system,
        f"{fact['error']:.2%}",
        f"{worst}: {fact['errors of slices'][worst]:.1%}",
        f"{fact['rare recall']:.1%}" + ("" if spread is None else f" ({spread[0]:.1%} to {spread[1]:.1%})"),
        f"{fact['max loss']:.3f}",
        f"{fact['tail loss']:.3f}",
        f"{fact['seconds']:.3g}",
        "-" if fact["bytes grown"] is None else f"{fact['bytes grown'] / 1e6:.1f} MB",
        f'`python -m benchmarks --only "quality:{name}:{system}"`',
    ]


def picture_of(name: str) -> str:
    """Return the file of a data set's plot."""
    return f"benchmark-quality-{name}.png"


def plot(measured: dict[str, dict[str, Any]], folder: Path) -> list[tuple[str, str]]:
    """Draw error against compute: all data sets side by side, and each with its systems' names beside its table."""
    from benchmarks.quality.plot import draw, draw_all

    found = {name: ran(point) for name, point in measured.items() if ran(point)}
    for name, facts in found.items():
        draw(facts, folder / picture_of(name))
    file = "benchmark-quality.png"
    return [("Error against compute: lower left is better", file)] if draw_all(found, folder / file) else []
