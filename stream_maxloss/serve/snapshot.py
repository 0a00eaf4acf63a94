"""How a run stands, as JSON: what the page draws and what clients may ask for."""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import stream_maxloss
from stream_maxloss.run.certificate import promoted
from stream_maxloss.run.explanations import describe_hard_rows
from stream_maxloss.run.history import History, finite
from stream_maxloss.run.parts import auto_part, focused_part

if TYPE_CHECKING:
    from stream_maxloss.evaluate import Progress
    from stream_maxloss.run import Session
    from stream_maxloss.run.origins import Origin

    Find = Callable[[int], Origin | None]

__all__ = ["describe_experts", "describe_hard", "describe_slices", "find_in", "snapshot_of"]

HARD_ROWS = 10


def snapshot_of(
    model: Any,
    columns: Any,
    source: str,
    progress: Progress,
    report: dict[str, Any] | None,
    history: History,
    extra: dict[str, Any],
    find: Find,
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
    find
        Return the origin of a row by its number.

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
            "alerts": list(progress.alerts),
            "no_better": progress.no_better,
            **extra,
        },
        "slices": describe_slices(report),
        "hard": describe_hard(model, HARD_ROWS, progress.learned, find),
        "experts": describe_experts(model),
        "focus": describe_focus(model),
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


def find_in(session: Session) -> Find:
    """Return what finds the origin of a row of a run by its number."""
    return (lambda number: None) if session.origins is None else session.origins.find


def describe_hard(model: Any, count: int, learned: int, find: Find) -> list[dict[str, Any]] | None:
    """Return the rows that the model keeps failing on; None where it keeps none."""
    found = describe_hard_rows(model, count, learned, find)
    return None if found is None else [plain_row(row) for row in found]


def plain_row(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with values that JSON has."""
    found = {name: finite(value) if isinstance(value, float) else value for name, value in row.items()}
    label: Any = found["y"]
    found["y"] = label.item() if hasattr(label, "item") else label
    return found | {name: plain_values(row[name]) for name in ("x", "row") if row.get(name) is not None}


def plain_values(values: dict[str, Any]) -> dict[str, Any]:
    """Return the first values of a row: numbers and flags as they are, all else as text."""
    return {
        str(name): finite(float(v)) if isinstance(v, float) else v if v is None or isinstance(v, bool | int) else str(v)
        for name, v in list(values.items())[:200]
    }


def describe_focus(model: Any) -> dict[str, Any] | None:
    """Return what the game is about, in a few numbers; None where there is none."""
    focused = focused_part(model)
    return None if focused is None or not hasattr(focused, "describe") else clean(focused.describe())


def describe_experts(model: Any) -> list[dict[str, Any]] | None:
    """Return how much each expert of `auto` weighs, most first; None for another model."""
    auto = auto_part(model)
    if auto is None:
        return None
    weights = sorted(auto.weights().items(), key=lambda item: -item[1])
    return [{"name": name, "weight": finite(float(weight))} for name, weight in weights]
