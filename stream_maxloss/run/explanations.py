"""What a prediction is made of, and the rows that a model keeps failing on, for any model that can say so."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from stream_maxloss.errors import UsageError
from stream_maxloss.run.certificate import promoted
from stream_maxloss.run.origins import Origin
from stream_maxloss.run.parts import auto_part, find_scaler, focused_part, hard_row

__all__ = ["Explanation", "Part", "as_read", "describe_hard_rows", "explain_row"]

REASONS = 4


@dataclass(frozen=True)
class Part:
    """What one condition adds to the score, in log-odds for a classifier and in units of the target for a regressor."""

    condition: str
    contribution: float


@dataclass(frozen=True)
class Explanation:
    """A prediction, the probability of each class (None for a regressor), and its parts, the largest first."""

    prediction: Any
    probabilities: dict[Any, float] | None
    parts: list[Part]


def explain_row(model: Any, x: Mapping[Hashable, Any]) -> Explanation:
    """Return what the prediction of a model for a row is made of.

    A pipeline is walked through, a focus is looked into, values are shown as they were before they were scaled.

    Raises
    ------
    UsageError
        If the model cannot say.

    Examples
    --------
    >>> from stream_maxloss.linear import Perceptron, Scaler
    >>> from stream_maxloss.run.explanations import explain_row
    >>> model = Scaler() | Perceptron()
    >>> for size in (1.0, 5.0, 2.0, 7.0):
    ...     model.learn_one({"size": size}, size > 3.0)
    >>> explanation = explain_row(model, {"size": 6.0})
    >>> explanation.prediction, explanation.parts[0].condition
    (True, 'size = 6')

    """
    model = promoted(model)
    steps = list(model.steps.values()) if hasattr(model, "steps") else [model]
    inner, row = steps[-1], dict(x)
    for step in steps[:-1]:
        row = step.transform_one(row)
    inner = getattr(inner, "_wrapped_model", inner) if hasattr(inner, "hardest") else inner
    if not hasattr(inner, "explain_one"):
        raise UsageError(
            f"the model must be auto or one of our linear learners to be explained, got {type(inner).__name__}; "
            "River's models have debug_one in Python"
        )
    probabilities = dict(model.predict_proba_one(dict(x))) if hasattr(steps[-1], "predict_proba_one") else None
    return Explanation(model.predict_one(dict(x)), probabilities, parts_of(inner.explain_one(row), x))


def parts_of(reasons: list[Any], x: Mapping[Hashable, Any]) -> list[Part]:
    """Return reasons of a mixture, or contributions of a linear learner, in one form."""
    return [
        Part(reason.condition if hasattr(reason, "condition") else condition(reason, x), reason.contribution)
        for reason in reasons
    ]


def condition(part: Any, x: Mapping[Hashable, Any]) -> str:
    """Return what holds of a feature, with its value as it was before it was scaled."""
    if part.feature == "always" and part.feature not in x:
        return "always"
    column, separator, text = part.feature.partition("=")
    if separator and part.feature not in x:
        return f"{column} = {text}"
    value = x.get(part.feature, part.value)
    return f"{part.feature} = {value:g}" if isinstance(value, int | float) else f"{part.feature} = {value}"


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
    >>> from stream_maxloss.run.explanations import describe_hard_rows
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
