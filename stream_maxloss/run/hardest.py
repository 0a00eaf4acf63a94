"""The rows that a model keeps failing on, with where they came from and why it fails."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import asdict
from typing import Any

from stream_maxloss.run.explanations import parts_of
from stream_maxloss.run.origins import Origin
from stream_maxloss.run.parts import auto_part, find_scaler, focused_part, hard_row

__all__ = ["as_read", "describe_hard_rows"]

REASONS = 4


def describe_hard_rows(
    model: Any, count: int, learned: int, find: Callable[[int], Origin | None]
) -> list[dict[str, Any]] | None:
    """Return the hardest rows of a model as plain values, hardest first; None where it keeps none.

    Parameters
    ----------
    model
        The model.
    count
        How many rows.
    learned
        Rows that it has learned.
    find
        Return the origin of a row by its number, from 0, as it was learned; None for one that is not known.

    Examples
    --------
    >>> from stream_maxloss.focus import FocusedClassifier
    >>> from stream_maxloss.linear import Perceptron
    >>> from stream_maxloss.run.hardest import describe_hard_rows
    >>> model = FocusedClassifier(Perceptron(), window=10, replays=0)
    >>> for x, y in [(1.0, True), (-1.0, False), (-2.0, True)]:
    ...     model.learn_one({"x": x}, y)
    >>> row = describe_hard_rows(model, 1, 3, lambda number: None)[0]
    >>> row["y"], row["x"], [reason["condition"] for reason in row["reasons"]], row["origin"]
    (True, {'x': 1.0}, ['always', 'x = 1'], None)

    """
    kept = focused_part(model) or auto_part(model)
    if kept is None or not getattr(kept, "keeps_rows", True):
        return None
    scaler = find_scaler(model)
    rows = []
    for hard in kept.hardest(count):
        origin, row = find(learned - 1 - hard.age), hard_row(hard, scaler)
        if origin is not None:
            row["x"] = as_read(row["x"], origin.row)
        if "reasons" not in row:
            row["reasons"] = reasons_of(kept, hard, row["x"])
        row["reasons"] = row["reasons"][:REASONS]
        known = {} if origin is None else {"key": origin.key, "slice": origin.slice, "row": origin.row}
        rows.append(row | {"origin": None if origin is None else origin.address} | known)
    return rows


def as_read(x: dict[Any, Any], row: dict[str, Any]) -> dict[Any, Any]:
    """Return the features of a row with its numbers as they were read, where those are columns by the same name."""
    return {name: row[name] if isinstance(row.get(name), int | float) else value for name, value in x.items()}


def reasons_of(focused: Any, hard: Any, shown: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what speaks for the label of a row (+) and against it (-) in a linear learner; nothing of others."""
    learner: Any = getattr(focused, "_wrapped_model", None)
    if not hasattr(learner, "explain_one"):
        return []
    # Text is kept as `column=value`, and told as such and not as a number.
    numbers: dict[Hashable, Any] = {name: value for name, value in shown.items() if "=" not in str(name)}
    sign = -1.0 if hard.y is False else 1.0
    parts = [asdict(part) for part in parts_of(learner.explain_one(hard.x), numbers)]
    return [{**part, "contribution": sign * part["contribution"]} for part in parts]
