"""How a run stands, as JSON: what the page draws and what clients may ask for."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

import stream_maxloss
from stream_maxloss.run.certificate import promoted
from stream_maxloss.run.history import History, finite
from stream_maxloss.run.parts import auto_part, find_scaler, focused_part, hard_row

if TYPE_CHECKING:
    from stream_maxloss.evaluate import Progress

__all__ = ["describe_experts", "describe_facts", "describe_hard", "describe_slices", "snapshot_of"]

HARD_ROWS = 10


def snapshot_of(
    model: Any,
    columns: Any,
    source: str,
    progress: Progress,
    report: dict[str, Any] | None,
    history: History,
    extra: dict[str, Any],
) -> dict[str, Any]:
    """Return all that is shown of a run at one moment.

    Parameters
    ----------
    model, columns, source
        What learns what from where.
    progress, report
        How it stands, and its report by slice.
    history
        What came before.
    extra
        What else is to be shown, such as the queue of a service.

    """
    return {
        "facts": describe_facts(model, columns, source),
        "points": list(history.points),
        "added": history.added,
        "now": {
            "rows": progress.rows,
            "learned": progress.learned,
            "bad": progress.bad,
            "rate": finite(progress.rate),
            "recent_rate": finite(progress.recent_rate),
            "lag": progress.lag,
            "lag_unit": progress.lag_unit,
            "done": progress.done,
            "checkpoint": progress.checkpoint,
            **extra,
        },
        "slices": describe_slices(report),
        "hard": describe_hard(model, HARD_ROWS),
        "experts": describe_experts(model),
    }


def describe_facts(model: Any, columns: Any, source: str) -> dict[str, Any]:
    """Return what the model is and what it learns."""
    shown = promoted(model)
    size = getattr(shown, "memory_bytes", None)
    return {
        "model": " ".join(str(shown).split())[:400],
        "class": type(shown).__name__,
        "bytes": int(size) if isinstance(size, int) else None,
        "target": columns.target,
        "slice_by": columns.slice_by,
        "source": source,
        "version": stream_maxloss.__version__,
        "python": platform.python_version(),
    }


def describe_slices(report: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the report by slice, the worst one first and then by rows."""
    if report is None:
        return None
    metric, slices = report["worst_by"], report["slices"]
    order = sorted(slices, key=lambda name: (name != report["worst"], -slices[name]["rows"]))
    return {
        "by": report["by"],
        "metric": metric,
        "worst": report["worst"],
        "overall": clean(report["overall"]),
        "slices": [{"name": name, **clean(slices[name])} for name in order],
    }


def clean(scores: dict[str, Any]) -> dict[str, Any]:
    """Return numbers that JSON has."""
    return {name: finite(value) for name, value in scores.items()}


def describe_hard(model: Any, count: int) -> list[dict[str, Any]] | None:
    """Return the rows that the model keeps failing on; None where it keeps none."""
    focused = focused_part(model)
    if focused is None:
        return None
    scaler = find_scaler(model)
    return [plain_row(hard_row(row, scaler)) for row in focused.hardest(count)]


def plain_row(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with values that JSON has."""
    found = {name: finite(value) if isinstance(value, float) else value for name, value in row.items() if name != "x"}
    label: Any = found["y"]
    found["y"] = label.item() if hasattr(label, "item") else label
    x = {name: finite(float(v)) if isinstance(v, float) else str(v) for name, v in list(row["x"].items())[:200]}
    return {**found, "x": x}


def describe_experts(model: Any) -> list[dict[str, Any]] | None:
    """Return how much each expert of `auto` weighs, most first; None for another model."""
    auto = auto_part(model)
    if auto is None:
        return None
    weights = sorted(auto.weights().items(), key=lambda item: -item[1])
    return [{"name": name, "weight": finite(float(weight))} for name, weight in weights]
