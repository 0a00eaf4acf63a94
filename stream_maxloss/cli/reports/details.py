"""What the live view shows beside the metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stream_maxloss.cli.options.models import auto_part, focused_part
from stream_maxloss.cli.reports.hard_rows import find_scaler, show, unscale
from stream_maxloss.cli.reports.live import Details
from stream_maxloss.cli.reports.plain import show as show_value

if TYPE_CHECKING:
    from stream_maxloss.run import Tail

__all__ = ["look_at"]

SLICES, EXPERTS, ROWS = 30, 10, 30


def look_at(run: Tail) -> Details:
    """Return the worst slices, the experts and the hardest rows of a run as it stands."""
    return Details(slices_of(run), experts_of(run), hardest_of(run))


def slices_of(run: Tail) -> list[list[str]]:
    """Return a line of cells for each slice, the worst first."""
    report = run.session.board.slices()
    if report is None:
        return []
    lines = []
    for name, found in list(report["slices"].items())[:SLICES]:
        value = found[report["worst_by"]]
        interval = report["intervals"][name]
        shown = "" if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}"
        lines.append([name, f"{found['rows']:,}", "undefined" if value is None else show_value(value), shown])
    return lines


def experts_of(run: Tail) -> list[tuple[str, float]]:
    """Return the experts of `auto`, those of most weight first."""
    auto = auto_part(run.model)
    weights = {} if auto is None or not hasattr(auto, "weights") else auto.weights()
    return sorted(weights.items(), key=lambda item: -item[1])[:EXPERTS]


def hardest_of(run: Tail) -> list[list[str]]:
    """Return a line of cells for each of the hardest rows, with their values as they were read."""
    part = focused_part(run.model)
    if part is None:
        return []
    origins, scaler = run.session.origins, find_scaler(run.model)
    lines = []
    for row in part.hardest(ROWS):
        origin = None if origins is None else origins.find(run.session.learned - 1 - row.age)
        values: dict[Any, Any] = row.x if scaler is None else unscale(row.x, scaler)
        values = values if origin is None else origin.row
        text = " ".join(f"{name}={show(value)}" for name, value in values.items())
        place = "" if origin is None else origin.key or origin.address.rpartition("/")[2]
        lines.append([f"{row.weight:.2%}", f"{row.loss:.2f}", f"{row.age:,}", str(row.y), place, text])
    return lines
