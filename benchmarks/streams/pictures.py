"""The pictures of the comparison: what was said against what happened, and quality against compute."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.systems import SYSTEMS
from benchmarks.plots import MUTED, save, subplots
from benchmarks.quality.plot import name_points

__all__ = ["draw_cost", "draw_reliability"]

COLOURS = {
    "ours": "#1f5fa8",
    "baseline": "#999999",
    "River": "#d98b3a",
    "CapyMOA": "#c0392b",
    "LightGBM": "#7d4bb0",
    "VW": "#3a9a6b",
}
# Whose probabilities are drawn, if they were run: one of each family.
CALIBRATED = ("auto", "HingeOGD focused", "River linear", "CapyMOA ARF10", "LightGBM refitted", "VW")
LEAST_ROWS = 20
COLUMNS = 5


def draw_reliability(figures: dict[str, Any], path: Path) -> bool:
    """Draw a panel for each stream of two labels, a line for each system. Return whether there was anything to draw."""
    streams = {
        stream: found
        for stream, found in figures.items()
        if any("recall at 1 %" in found.get(system, {}) for system in CALIBRATED)
    }
    if not streams:
        return False
    columns = min(COLUMNS, len(streams))
    height = -(-len(streams) // columns)
    picture, axes = subplots(height, columns, figsize=(2.5 * columns, 2.5 * height + 0.5), squeeze=False)
    for panel in axes.flat[len(streams) :]:
        panel.set_axis_off()
    for panel, (stream, found) in zip(axes.flat, streams.items(), strict=False):
        panel.plot([0.0, 1.0], [0.0, 1.0], color=MUTED, linewidth=0.6)
        for system in CALIBRATED:
            bins = [entry for entry in found.get(system, {}).get("reliability") or [] if entry[0] >= LEAST_ROWS]
            colour = COLOURS[SYSTEMS[system].family] if system != "HingeOGD focused" else "#6aa5e0"
            panel.plot(
                [said for _, said, _ in bins],
                [came for _, _, came in bins],
                "-o",
                color=colour,
                markersize=2,
                label=system,
            )
        panel.set_title(stream, fontsize=9)
        panel.tick_params(labelsize=7)
        panel.set_aspect("equal")
        panel.set_xlabel("probability said", fontsize=7)
        panel.set_ylabel("share that happened", fontsize=7)
    handles, names = axes.flat[0].get_legend_handles_labels()
    picture.legend(handles, names, loc="outside lower center", ncols=len(CALIBRATED), fontsize=8, frameon=False)
    save(picture, path)
    return True


def draw_cost(figures: dict[str, Any], path: Path) -> bool:
    """Draw each system as one point: its compute and its log loss beside the best, over the streams of labels.

    Both are geometric means of ratios, so that no stream counts for more than another. Return whether there was
    anything to draw.
    """
    means = {system: np.exp(np.mean(np.log(pairs), axis=0)) for system, pairs in beside_best(figures).items()}
    spots = {system: spot for system, spot in means.items() if SYSTEMS[system].family != "baseline"}
    if not spots:
        return False
    picture, axes = subplots(figsize=(8.5, 5.2))
    for system, spot in spots.items():
        axes.scatter(*spot, color=COLOURS[SYSTEMS[system].family], s=34, zorder=3)
    if "constant" in means:
        axes.axhline(means["constant"][1], color=COLOURS["baseline"], linewidth=0.8, linestyle="--")
        axes.annotate(
            "a constant", (1.0, means["constant"][1]), xycoords=("axes fraction", "data"), ha="right", va="bottom"
        )
    axes.set_xscale("log")
    axes.set_yscale("log")
    low, high = axes.get_xlim()
    axes.set_xlim(low, 4.0 * high)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}")
    axes.set_xlabel("processor time, µs a row (geometric mean over the streams that it was run on)")
    axes.set_ylabel("log loss over the best system's")
    # Where there is room for names is known once everything else has its place, and they must not move it again.
    picture.canvas.draw()
    picture.set_layout_engine("none")
    name_points(axes, spots)
    save(picture, path)
    return True


def beside_best(figures: dict[str, Any]) -> dict[str, list[tuple[float, float]]]:
    """Return for each system and stream its microseconds a row, and its log loss over the best system's."""
    pairs: dict[str, list[tuple[float, float]]] = {}
    for found in figures.values():
        known = {system: entry for system, entry in found.items() if "log loss" in entry}
        best = min((entry["log loss"]["mean"] for entry in known.values()), default=0.0)
        for system, entry in known.items():
            if best > 0.0:
                cost = 1e6 / entry["rows a second"]["mean"]
                pairs.setdefault(system, []).append((cost, entry["log loss"]["mean"] / best))
    return pairs
