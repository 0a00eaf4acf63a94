"""Error against compute, a panel for each of two errors."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

from benchmarks.plots import save, subplots
from benchmarks.quality.systems import family

__all__ = ["draw", "draw_all"]

Box = tuple[float, float, float, float]

COLOURS = {
    "ours": "#6aa5e0",
    "ours, focused": "#0b3d82",
    "River": "#d98b3a",
    "River's trees": "#8a5a1f",
    "VW": "#3a9a6b",
    "scikit-learn": "#9467bd",
}
TICKS = (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 20.0, 50.0)
# Data sets beside each other where all are drawn together.
COLUMNS = 4
PANELS = {"rare recall": "rows of the rare slice missed, %", "error": "all rows wrong, %"}


def draw_all(found: dict[str, dict[str, dict[str, Any]]], path: Path) -> bool:
    """Draw both panels of each data set, small and without names. Return whether there was anything to draw."""
    if not found:
        return False
    names = list(found)
    blocks = [names[first : first + COLUMNS] for first in range(0, len(names), COLUMNS)]
    width, height = min(COLUMNS, len(names)), len(blocks) * len(PANELS)
    size = (2.7 * width + 0.6, 2.4 * height + 0.5)
    picture, panels = subplots(height, width, figsize=size, squeeze=False)
    add_legend(picture, panels[0][0])
    for row, (block, (what, words)) in zip(panels, product(blocks, PANELS.items()), strict=True):
        row[0].set_ylabel(words, fontsize=8)
        for panel, name in zip(row, block, strict=False):
            fill(panel, found[name], what)
            panel.set_title(name, fontsize=10)
            panel.set_xlabel("processor seconds", fontsize=8)
            panel.tick_params(labelsize=8)
        for panel in row[len(block) :]:
            panel.set_axis_off()
    save(picture, path)
    return True


def add_legend(picture: Any, panel: Any) -> None:
    """Say above the panels which colour is whose."""
    handles = [panel.scatter([], [], color=colour, label=name) for name, colour in COLOURS.items()]
    picture.legend(handles=handles, loc="outside upper center", ncols=len(COLOURS), frameon=False, fontsize=9)


def draw(facts: dict[str, dict[str, Any]], path: Path) -> None:
    """Draw every system as a labelled point: processor seconds on x, a share of errors on y. Lower left is better."""
    picture, [panels] = subplots(1, len(PANELS), figsize=(13.0, 6.6), squeeze=False)
    named = []
    for panel, (what, words) in zip(panels, PANELS.items(), strict=True):
        named.append((panel, fill(panel, facts, what)))
        panel.set_title(words, fontsize=11)
        panel.set_xlabel("processor seconds of the whole pass")
    add_legend(picture, panels[0])
    # Where there is room for names is known once everything else has its place, and they must not move it again.
    picture.canvas.draw()
    picture.set_layout_engine("none")
    for panel, spots in named:
        name_points(panel, spots)
    save(picture, path)


def share(fact: dict[str, Any], what: str) -> float:
    """Return a share of errors in percent."""
    value = float(fact[what])
    return 100.0 * (1.0 - value if what == "rare recall" else value)


def fill(panel: Any, facts: dict[str, dict[str, Any]], what: str) -> dict[str, tuple[float, float]]:
    """Draw the points of a panel and return where they are."""
    spots = {system: (fact["seconds"], share(fact, what)) for system, fact in facts.items()}
    panel.set_xscale("log")
    heights = [height for _, height in spots.values()]
    if what == "error" and max(heights) > 4.0 * min(heights):
        # One system may be wrong a hundred times as often as another.
        panel.set_yscale("log")
        panel.set_ylim(0.8 * min(heights) + 1e-3, 1.25 * max(heights))
        panel.set_yticks([tick for tick in TICKS if 0.8 * min(heights) <= tick <= 1.25 * max(heights)])
        panel.yaxis.set_major_formatter("{x:g}")
        panel.yaxis.set_minor_formatter("")
    else:
        span = max(heights) - min(heights) or 1.0
        panel.set_ylim(max(0.0, min(heights) - 0.06 * span), max(heights) + 0.06 * span)
    least, most = min(seconds for seconds, _ in spots.values()), max(seconds for seconds, _ in spots.values())
    panel.set_xlim(least / 2.0, most * 4.0)
    for system, spot in spots.items():
        panel.scatter(*spot, color=COLOURS[family(system)], s=34, zorder=3)
    return spots


def name_points(panel: Any, spots: dict[str, tuple[float, float]]) -> None:
    """Write each name right of its point, moved up or down until it covers no other; a thin line ties them."""
    points = {system: panel.transData.transform(spot) for system, spot in spots.items()}
    taken = [(x - 4.0, y - 4.0, x + 4.0, y + 4.0) for x, y in points.values()]
    for system, (x, y) in sorted(points.items(), key=lambda item: -item[1][1]):
        # The size of a letter at this size of type; measuring each text would change nothing that is seen.
        width, height = 5.9 * len(system), 11.0
        left, bottom = place((x, y), (width, height), (panel.bbox.x0, panel.bbox.x1), taken)
        taken.append((left, bottom, left + width, bottom + height))
        panel.annotate(
            system,
            xy=spots[system],
            xytext=panel.transData.inverted().transform((left if left > x else left + width, bottom)),
            fontsize=7.5,
            va="bottom",
            ha="left" if left > x else "right",
            arrowprops={"arrowstyle": "-", "linewidth": 0.5, "color": "#999999", "shrinkA": 0.0, "shrinkB": 2.0},
        )


def place(
    point: tuple[float, float], size: tuple[float, float], between: tuple[float, float], taken: list[Box]
) -> tuple[float, float]:
    """Return the lower left corner, nearest to the point, of a free box for a name."""
    (x, y), (width, height) = point, size
    for step in sorted(range(-30, 31), key=abs):
        for left in (x + 8.0, x - 8.0 - width):
            bottom = y - height / 2.0 + step * 4.0
            inside = between[0] < left and left + width < between[1]
            if inside and not any(overlap((left, bottom, left + width, bottom + height), other) for other in taken):
                return left, bottom
    return x + 8.0, y


def overlap(one: Box, other: Box) -> bool:
    """Return whether two boxes (left, bottom, right, top) share any place."""
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
