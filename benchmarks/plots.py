"""The plots of the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.cases import growth

__all__ = ["draw_growth", "draw_ratios"]

OWN, PEER, MUTED = "#1f5fa8", "#b8c4d2", "#444444"


def draw_ratios(found: dict[str, dict[str, Any]], path: Path) -> bool:
    """Draw every ratio as a bar with its quartiles, and its target as a tick. Return whether there was any."""
    bars = [
        (f"{name}: {claim['what']}", claim)
        for name, result in found.items()
        for claim in result["claims"]
        if claim["suffix"] == "x" and claim["lower"] is not None
    ]
    if not bars:
        return False
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    picture, axes = plt.subplots(figsize=(8.5, 1.0 + 0.28 * len(bars)), layout="constrained")
    for place, (_, claim) in enumerate(reversed(bars)):
        left, right = claim["value"] - claim["lower"], claim["upper"] - claim["value"]
        axes.barh(place, claim["value"], color=OWN if claim["met"] is not False else PEER, height=0.65)
        axes.errorbar(claim["value"], place, xerr=[[max(left, 0.0)], [max(right, 0.0)]], color=MUTED, linewidth=1)
        if claim["target"] is not None:
            axes.plot([claim["target"]] * 2, [place - 0.42, place + 0.42], color="#c0392b", linewidth=2)
    axes.set_yticks(range(len(bars)), [label for label, _ in reversed(bars)], fontsize=8)
    axes.set_ylim(-0.7, len(bars) - 0.3)
    axes.set_xscale("log")
    axes.axvline(1.0, color=MUTED, linewidth=0.8)
    axes.set_xlabel("peer's time over ours (red: target; grey: not reached)")
    axes.spines[["top", "right"]].set_visible(False)
    picture.savefig(path, dpi=110)
    plt.close(picture)
    return True


def draw_growth(measured: dict[str, dict[str, Any]], path: Path) -> bool:
    """Draw the cost of a row against features, window and rows, with the fitted lines."""
    axes_names = [axis for axis in growth.LIMITS if len(growth.series(measured, axis)[0]) > 1]
    if not axes_names:
        return False
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    import numpy as np

    picture, panels = plt.subplots(
        1, len(axes_names), figsize=(3.4 * len(axes_names), 3.2), layout="constrained", squeeze=False
    )
    for panel, axis in zip(panels[0], axes_names, strict=True):
        sizes, costs = growth.series(measured, axis)
        slope = growth.exponent(sizes, costs)
        offset = float(np.mean(np.log(costs)) - slope * np.mean(np.log(sizes)))
        panel.loglog(sizes, [1e6 * cost for cost in costs], "o", color=OWN)
        panel.loglog(sizes, [1e6 * float(np.exp(offset)) * size**slope for size in sizes], color=PEER, zorder=0)
        panel.set_title(f"row cost ~ {axis}^{slope:.2f}", fontsize=10)
        panel.set_xlabel(axis)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0][0].set_ylabel("µs a row")
    picture.savefig(path, dpi=110)
    plt.close(picture)
    return True
