"""Error curves as a picture."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stream_maxloss.errors import MissingExtraError, UsageError
from stream_maxloss_connectors.file_kinds import require_file

__all__ = ["can_plot", "plot_curves"]

Curve = tuple[Sequence[float], Sequence[float]]

STYLES = (("#4c72b0", "-"), ("#dd8452", "-"), ("#55a868", "--"), ("#c44e52", "-."), ("#8172b3", ":"))


def can_plot() -> bool:
    """Return whether matplotlib is there, without loading it."""
    return importlib.util.find_spec("matplotlib") is not None


def plot_curves(path: Path, panels: Mapping[str, Mapping[str, Curve]], title: str, y_label: str) -> None:
    """Draw one panel for each slice with one curve for each model, and write it as PNG.

    Parameters
    ----------
    path
        The file.
    panels
        Heading of a panel -> name of a model -> rows and values.
    title
        Above all panels.
    y_label
        What the values are, with their unit.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    UsageError
        If the file cannot be written.

    """
    if not can_plot():
        raise MissingExtraError("drawing a plot", "plot")
    require_file(path, "plot", "name a file")
    # Figure and canvas directly: pyplot would look for a display.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    columns = min(2, len(panels))
    lines = -(-len(panels) // columns)
    figure = Figure(figsize=(5.0 * columns, 3.2 * lines + 0.5), layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.subplots(lines, columns, squeeze=False)
    for place, (heading, curves) in enumerate(panels.items()):
        draw_panel(grid[place // columns][place % columns], heading, curves, y_label)
    for place in range(len(panels), lines * columns):
        grid[place // columns][place % columns].set_visible(False)
    figure.suptitle(title)
    lines_drawn, names = grid[0][0].get_legend_handles_labels()
    figure.legend(lines_drawn, names, loc="outside lower center", ncols=2, fontsize=9, frameon=False)
    try:
        figure.savefig(path, dpi=110, format="png")
    except OSError as error:
        raise UsageError(f"plot must be writable, got {str(path)!r}: {error.strerror}; choose another path") from error


def draw_panel(axes: Any, heading: str, curves: Mapping[str, Curve], y_label: str) -> None:
    """Draw the curves of one slice."""
    for number, (name, (rows, values)) in enumerate(curves.items()):
        color, style = STYLES[number % len(STYLES)]
        axes.plot(rows, values, color=color, linestyle=style, linewidth=1.8, label=name)
    axes.set_title(heading, fontsize=10)
    axes.set_xlabel("rows of the stream")
    axes.set_ylabel(y_label)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.xaxis.get_major_locator().set_params(nbins=5)
    heights = [value for _, values in curves.values() for value in values]
    # From zero where that does not press all curves against the upper edge, as accuracies near 1 would be.
    if heights and 0 <= min(heights) < 0.5 * max(heights):
        axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
