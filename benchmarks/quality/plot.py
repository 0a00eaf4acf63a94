"""Error against compute, one panel per data set and error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.plots import save, subplots
from benchmarks.quality.systems import family

__all__ = ["draw"]

COLOURS = {
    "ours": "#6aa5e0",
    "ours, focused": "#0b3d82",
    "River": "#d98b3a",
    "River's trees": "#8a5a1f",
    "VW": "#3a9a6b",
    "scikit-learn": "#9467bd",
}
PANELS = {"rare recall": "rows of the rare slice missed, %", "error": "all rows wrong, %"}


def draw(measured: dict[str, dict[str, Any]], path: Path) -> bool:
    """Draw every system as a labelled point: processor seconds on x, a share of errors on y. Lower left is better."""
    found = {
        name: {system: fact for system, fact in point["facts"].items() if "missing" not in fact}
        for name, point in measured.items()
    }
    found = {name: facts for name, facts in found.items() if facts}
    if not found:
        return False
    picture, panels = subplots(len(found), len(PANELS), figsize=(13.0, 6.6 * len(found)), squeeze=False)
    for row, (name, facts) in zip(panels, found.items(), strict=True):
        for panel, (what, words) in zip(row, PANELS.items(), strict=True):
            fill(panel, facts, what)
            panel.set_title(f"{name}: {words}", fontsize=11)
            panel.set_xlabel("processor seconds of the whole pass")
    handles = [panels[0][0].scatter([], [], color=colour, label=name) for name, colour in COLOURS.items()]
    picture.legend(handles=handles, loc="outside upper center", ncols=len(COLOURS), frameon=False)
    save(picture, path)
    return True


def share(fact: dict[str, Any], what: str) -> float:
    """Return a share of errors in percent."""
    return 100.0 * (1.0 - fact[what] if what == "rare recall" else fact[what])


def fill(panel: Any, facts: dict[str, dict[str, Any]], what: str) -> None:
    """Draw the points of a panel, then their names where there is room."""
    spots = {system: (fact["seconds"], share(fact, what)) for system, fact in facts.items()}
    panel.set_xscale("log")
    heights = [height for _, height in spots.values()]
    span = max(heights) - min(heights) or 1.0
    panel.set_ylim(max(0.0, min(heights) - 0.06 * span), max(heights) + 0.06 * span)
    least, most = min(seconds for seconds, _ in spots.values()), max(seconds for seconds, _ in spots.values())
    panel.set_xlim(least / 1.5, most * 4.0)
    for system, spot in spots.items():
        panel.scatter(*spot, color=COLOURS[family(system)], s=34, zorder=3)
    name_points(panel, spots)


def name_points(panel: Any, spots: dict[str, tuple[float, float]]) -> None:
    """Write each name right of its point, moved up or down until it covers no other; a thin line ties them."""
    panel.figure.canvas.draw()
    points = {system: panel.transData.transform(spot) for system, spot in spots.items()}
    taken = [(x - 4.0, y - 4.0, x + 4.0, y + 4.0) for x, y in points.values()]
    for system, (x, y) in sorted(points.items(), key=lambda item: -item[1][1]):
        # About 4.6 by 10 units a letter at this size; measuring the text itself would change nothing that is seen.
        width, height = 4.6 * len(system), 10.0
        left, bottom = place(x, y, width, height, taken)
        taken.append((left, bottom, left + width, bottom + height))
        panel.annotate(
            system,
            xy=spots[system],
            xytext=panel.transData.inverted().transform((left, bottom)),
            fontsize=7.5,
            va="bottom",
            arrowprops={"arrowstyle": "-", "linewidth": 0.5, "color": "#999999", "shrinkA": 0.0, "shrinkB": 2.0},
        )


def place(
    x: float, y: float, width: float, height: float, taken: list[tuple[float, float, float, float]]
) -> tuple[float, float]:
    """Return the lower left corner, nearest to the point, of a free box for a name."""
    steps = sorted(range(-24, 25), key=abs)
    for step in steps:
        for left in (x + 8.0, x - 8.0 - width):
            bottom = y - height / 2.0 + step * 5.0
            if left > 0.0 and not any(
                left < right and begin < left + width and bottom < top and base < bottom + height
                for begin, base, right, top in taken
            ):
                return left, bottom
    return x + 8.0, y
