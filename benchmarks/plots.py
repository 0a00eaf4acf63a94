"""The plots of the page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["MUTED", "OWN", "PEER", "draw_ratios", "save", "subplots"]

OWN, PEER, MUTED = "#1f5fa8", "#b8c4d2", "#444444"


def subplots(*arguments: Any, **options: Any) -> Any:
    """Return a figure and its axes for a file, never a window."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    picture, axes = plt.subplots(*arguments, layout="constrained", **options)
    for panel in picture.axes:
        panel.spines[["top", "right"]].set_visible(False)
    return picture, axes


def save(picture: Any, path: Path) -> None:
    """Write a figure and let go of it."""
    import matplotlib.pyplot as plt

    picture.savefig(path, dpi=110)
    plt.close(picture)


def timed(result: dict[str, Any]) -> set[str]:
    """Return the points of a case at which systems were timed in turns: other ratios are none of times."""
    return {name for name, point in result["measured"].items() if "ratios" in point}


def draw_ratios(found: dict[str, dict[str, Any]], path: Path) -> bool:
    """Draw every ratio as a bar with its quartiles, and its target as a tick. Return whether there was any."""
    bars = [
        (f"{name}: {claim['what']}", claim)
        for name, result in found.items()
        for claim in result["claims"]
        if claim["suffix"] == "x" and claim["lower"] is not None and claim["point"] in timed(result)
    ]
    if not bars:
        return False
    picture, axes = subplots(figsize=(8.5, 1.0 + 0.28 * len(bars)))
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
    save(picture, path)
    return True
