"""Plots of errors: lines in panels that share a legend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.plots import save, subplots

__all__ = ["draw_lines"]

COLOURS = ("#444444", "#1f5fa8", "#c0392b", "#2e8b57", "#d98e04", "#7d4bb0", "#5aa7c7", "#b56a7a", "#8a8f2a")

Line = tuple[Sequence[float], Sequence[float]]


def draw_lines(panels: Mapping[str, Mapping[str, Line]], path: Path, x: str, y: str) -> bool:
    """Draw a panel for each title, with a line for each name. Return whether there was anything to draw."""
    if not panels:
        return False
    picture, axes = subplots(1, len(panels), figsize=(4.2 * len(panels), 3.6), squeeze=False)
    for panel, (title, lines) in zip(axes[0], panels.items(), strict=True):
        for colour, (name, (where, values)) in zip(COLOURS, lines.items(), strict=False):
            panel.plot(where, values, "-o", color=colour, label=name, markersize=3, linewidth=1.4)
        panel.set_title(title, fontsize=10)
        panel.set_xlabel(x)
        panel.set_ylim(bottom=0.0)
    axes[0][0].set_ylabel(y)
    handles, names = axes[0][0].get_legend_handles_labels()
    picture.legend(handles, names, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    save(picture, path)
    return True
