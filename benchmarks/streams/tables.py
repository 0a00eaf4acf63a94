"""The comparison in the terminal."""

from __future__ import annotations

from typing import Any

from benchmarks.streams.places import LOWER_IS_BETTER, mean_places

__all__ = ["print_places", "print_stream"]

COLUMNS = {
    "error": ("error %", 100.0, ".2f"),
    "log loss": ("log loss", 1.0, ".4f"),
    "ap": ("AP %", 100.0, ".2f"),
    "recall at 0.1 %": ("rec.1%", 100.0, ".1f"),
    "recall at 1 %": ("rec 1%", 100.0, ".1f"),
    "rare recall at 1 %": ("rare 1%", 100.0, ".1f"),
    "ece": ("ECE", 1.0, ".4f"),
    "mae": ("MAE", 1.0, ".4g"),
    "rmse": ("RMSE", 1.0, ".4g"),
    "seconds": ("CPU s", 1.0, ".3g"),
    "rows a second": ("rows/s", 1.0, ",.0f"),
    "bytes grown": ("MB", 1e-6, ".0f"),
}
WIDTH = 28


def print_stream(stream: str, figures: dict[str, dict[str, Any]]) -> None:
    """Print a stream's systems, the best first."""
    ran = {system: found for system, found in figures.items() if "failed" not in found}
    shown = [name for name in COLUMNS if any(name in found for found in ran.values())]
    first = "mae" if "mae" in shown else "log loss"
    rows = next((found["rows"] for found in ran.values()), 0)
    print(f"\n{stream}, {rows:,} rows")
    print(" " * WIDTH + "".join(f"{COLUMNS[name][0]:>10}" for name in shown))
    for system, found in sorted(ran.items(), key=lambda item: item[1][first]["mean"]):
        print(f"{system:<{WIDTH}}" + "".join(f"{text(found, name):>10}" for name in shown))
    for system, found in figures.items():
        if "failed" in found:
            print(f"{system:<{WIDTH}}  {found['failed']}")


def text(found: dict[str, Any], name: str) -> str:
    """Return a figure in its unit."""
    if name not in found:
        return "-"
    _, scale, form = COLUMNS[name]
    return format(scale * found[name]["mean"], form)


def print_places(summary: dict[str, dict[str, dict[str, Any]]]) -> None:
    """Print the mean place of each system in each figure, with the streams that it was run on."""
    for what in LOWER_IS_BETTER:
        places = mean_places(summary, what)
        if places:
            print(f"\nmean place in {what} (streams)")
            for system, (mean, streams) in places.items():
                print(f"  {system:<{WIDTH}}{mean:6.2f} ({streams})")
