"""How the cost grows with features, window and rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import BATCH, as_batches, dense_rows
from benchmarks.plots import OWN, PEER, save, subplots
from benchmarks.point import OURS, Point, claim

TITLE = "How cost grows"
INCLUDED = (
    "Cost of a row of our own: the Perceptron's `learn_many` against the number of features, in batches of 4,096 rows, "
    "at each point so many of them that they take 80 MB (160 at 5,000 features), more than the caches hold; "
    "`FocusedClassifier(HingeOGD()).learn_many` and `replay`, four rounds a row, with 20 features against the rows of "
    "a full window; and the Perceptron's whole pass with 20 features against the rows of the stream. The exponent is "
    "the slope of a straight line through the logarithms: 1 is linear, 0 is no growth. A row costs a fixed share "
    "besides, so a line through few and many features is flatter than one through many, and both are given; a window "
    "costs its logarithm and what leaves the cache. What a batch costs once for each of its columns is in "
    "[profiles.md](profiles.md)."
)
AXIS = None
REPLAYS = 4
# The same number of rows a batch at every width, so that what a batch and a column cost once is spread alike, and the
# same number of values in all, so that all points read from memory alike.
BATCH_ROWS = 4096
VALUES = 10_240_000
FEATURES = (5, 20, 100, 200, 500, 1000, 2000, 5000)
# From here on what a row costs whatever its width no longer counts.
MANY = 100
WINDOWS = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
ROWS = (100_000, 1_000_000, 10_000_000)
# What each exponent must not exceed: linear in features and rows, and for a window less than a fourth root.
LIMITS = {"features": 1.15, "window": 0.25, "rows": 1.05}


def points(quick: bool) -> list[Point]:
    """Return all points of the three axes; the short form has two points of two."""
    sizes: dict[str, tuple[int, ...]] = {"features": FEATURES, "window": WINDOWS, "rows": ROWS}
    if quick:
        sizes = {"features": FEATURES[2:5:2], "window": WINDOWS[:3:2]}
    return [
        Point(f"{axis}-{size}", f"{size:,} {axis}", (OURS,), {"axis": axis, "size": size})
        for axis, chosen in sizes.items()
        for size in chosen
    ]


def prepare(system: str, settings: dict[str, Any]) -> Callable[[], int]:
    """Return some work of the size asked for."""
    axis, size = settings["axis"], settings["size"]
    if axis == "window":
        return prepare_window(size)
    from stream_maxloss.linear import Perceptron

    model = Perceptron()
    if axis == "features":
        rows = max(1, VALUES // size // BATCH_ROWS) * BATCH_ROWS
        batches, passes = as_batches(*dense_rows(rows, size), BATCH_ROWS), 1
    else:
        batches, passes = as_batches(*dense_rows(BATCH, 20)), max(1, round(size / BATCH))

    rows = passes * sum(len(labels) for _, labels in batches)

    def work() -> int:
        for _ in range(passes):
            for batch, labels in batches:
                model.learn_many(batch, labels)
        return rows

    return work


def prepare_window(size: int) -> Callable[[], int]:
    """Return a pass of the focused learner whose window is full.

    Replays are asked for apart from the arrivals, so that a window can be filled without them.
    """
    from stream_maxloss.focus import FocusedClassifier
    from stream_maxloss.linear import HingeOGD

    model = FocusedClassifier(HingeOGD(), window=size, replays=0, seed=1)
    batches = as_batches(*dense_rows(4 * BATCH, 20))
    for start in range(0, size, 4 * BATCH):
        for first, (batch, labels) in enumerate(batches):
            if start + first * BATCH < size:
                model.learn_many(batch, labels)
    short, labels = batches[0][0].slice(0, 2048), batches[0][1].slice(0, 2048)

    def work() -> int:
        model.learn_many(short, labels)
        model.replay(2048 * REPLAYS)
        return 2048

    return work


def series(measured: dict[str, dict[str, Any]], axis: str) -> tuple[list[int], list[float]]:
    """Return the sizes of an axis and the median seconds per row at each."""
    found = []
    for result in measured.values():
        settings, costs = result.get("settings", {}), result.get("seconds_per_unit", {})
        if settings.get("axis") == axis and OURS in costs:
            found.append((settings["size"], costs[OURS]["median"]))
    found.sort()
    return [size for size, _ in found], [cost for _, cost in found]


def exponent(sizes: list[int], costs: list[float]) -> float:
    """Return the slope of log cost over log size."""
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def conclude(measured: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the fitted exponents."""
    claims = []
    for what, axis, least in (
        ("cost of a row against features", "features", 0),
        (f"cost of a row against features, from {MANY} on", "features", MANY),
        ("cost of a row against the window", "window", 0),
        ("cost of a pass against its rows", "rows", 0),
    ):
        found = [pair for pair in zip(*series(measured, axis), strict=True) if pair[0] >= least]
        if len(found) < 2:
            continue
        slope = exponent(*map(list, zip(*found, strict=True))) + (1.0 if axis == "rows" else 0.0)
        claims.append(claim("", f"{what}: exponent", slope, suffix="", target=LIMITS[axis], at_most=True))
    return claims


def plot(measured: dict[str, dict[str, Any]], folder: Path) -> list[tuple[str, str]]:
    """Draw the cost of a row against features, window and rows, with the fitted lines."""
    axes_names = [axis for axis in LIMITS if len(series(measured, axis)[0]) > 1]
    if not axes_names:
        return []
    picture, panels = subplots(1, len(axes_names), figsize=(3.4 * len(axes_names), 3.2), squeeze=False)
    for panel, axis in zip(panels[0], axes_names, strict=True):
        sizes, costs = series(measured, axis)
        slope = exponent(sizes, costs)
        offset = float(np.mean(np.log(costs)) - slope * np.mean(np.log(sizes)))
        panel.loglog(sizes, [1e6 * cost for cost in costs], "o", color=OWN)
        panel.loglog(sizes, [1e6 * float(np.exp(offset)) * size**slope for size in sizes], color=PEER, zorder=0)
        panel.set_title(f"row cost ~ {axis}^{slope:.2f}", fontsize=10)
        panel.set_xlabel(axis)
    panels[0][0].set_ylabel("µs a row")
    save(picture, folder / "benchmark-growth.png")
    return [("Cost against features, window and rows", "benchmark-growth.png")]
