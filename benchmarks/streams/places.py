"""From single runs to what a reader compares: means over shuffles, and places among the systems."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from benchmarks.streams.scores import FALSE_ALARMS

__all__ = ["FIGURES", "LOWER_IS_BETTER", "mean_places", "place", "summed_up", "worse_than_constant"]

LOWER_IS_BETTER = {"log loss": True, "ap": False, "error": True, "mae": True}
FIGURES = ("error", "log loss", "ap", *FALSE_ALARMS, "ece", "mae", "rmse", "seconds", "rows a second", "bytes grown")
OF_RARE = ("error", "ap", *FALSE_ALARMS, "mae")

Figures = dict[str, Any]


def summed_up(runs: Iterable[Figures]) -> dict[str, dict[str, Figures]]:
    """Return by stream and system the mean and the standard deviation of each figure over the shuffles.

    A system that failed on any shuffle has failed: its figures on the others would be those of the lucky ones.
    """
    grouped: dict[str, dict[str, list[Figures]]] = {}
    for run in runs:
        if "missing" not in run:
            grouped.setdefault(run["stream"], {}).setdefault(run["system"], []).append(run)
    return {
        stream: {system: over_shuffles(found) for system, found in systems.items()}
        for stream, systems in grouped.items()
    }


def over_shuffles(runs: list[Figures]) -> Figures:
    """Return the figures of a system on one stream."""
    failed = [run["failed"] for run in runs if "failed" in run]
    if failed:
        return {"failed": failed[0]}
    flat = [with_rare(run) for run in runs]
    first = runs[0]
    # A class of several is told by its stream's macro figures; what is kept are the slices of positives.
    slices = [
        name
        for name, figures in first.get("slices", {}).items()
        if next(iter(FALSE_ALARMS)) in figures and all(name in run["slices"] for run in runs)
    ]
    return mean_and_spread(flat) | {
        "slices": {name: mean_and_spread([run["slices"][name] for run in runs]) for name in slices},
        "shuffles": len(runs),
        "rows": first["rows"],
        "version": first["version"],
        "reliability": first.get("reliability"),
    }


def mean_and_spread(runs: list[Figures]) -> Figures:
    """Return mean and standard deviation of each figure that all runs have."""
    names = [name for name in runs[0] if all(run.get(name) is not None for run in runs)]
    values = {name: [run[name] for run in runs] for name in names}
    return {name: {"mean": float(np.mean(of)), "spread": float(np.std(of))} for name, of in values.items()}


def with_rare(run: Figures) -> Figures:
    """Return a run's plain figures, and those of its rare slice by the name "rare ..."."""
    plain = {name: run[name] for name in FIGURES if name in run}
    rare = run.get("slices", {}).get(run.get("rare", ""), {})
    return plain | {f"rare {name}": rare[name] for name in OF_RARE if name in rare}


def place(figures: dict[str, Figures], what: str) -> dict[str, float]:
    """Return the place of each system on one stream, 1 the best; equals share the mean, who failed shares the last."""
    sign = 1.0 if LOWER_IS_BETTER[what] else -1.0
    values = {
        system: np.inf if "failed" in found else sign * found[what]["mean"]
        for system, found in figures.items()
        if "failed" in found or what in found
    }
    if all(np.isinf(value) for value in values.values()):
        return {}
    return {
        system: 1.0
        + sum(other < value for other in values.values())
        + 0.5 * (sum(other == value for other in values.values()) - 1.0)
        for system, value in values.items()
    }


def mean_places(summary: dict[str, dict[str, Figures]], what: str) -> dict[str, tuple[float, int]]:
    """Return each system's mean place in a figure, with the number of streams that it was run on, the best first."""
    places: dict[str, list[float]] = {}
    for figures in summary.values():
        for system, at in place(figures, what).items():
            places.setdefault(system, []).append(at)
    means = {system: (float(np.mean(at)), len(at)) for system, at in places.items()}
    return dict(sorted(means.items(), key=lambda item: item[1]))


def worse_than_constant(summary: dict[str, dict[str, Figures]], system: str, what: str) -> list[str]:
    """Return the streams on which a system is worse than an answer that knows no column."""
    sign = 1.0 if LOWER_IS_BETTER[what] else -1.0
    worse = []
    for stream, figures in summary.items():
        found, constant = figures.get(system, {}), figures.get("constant", {})
        if what in found and what in constant and sign * found[what]["mean"] > sign * constant[what]["mean"]:
            worse.append(stream)
    return worse
