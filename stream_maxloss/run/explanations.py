"""What the prediction for a row is made of, for any model that can say so."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from stream_maxloss.errors import UsageError
from stream_maxloss.run.certificate import promoted

__all__ = ["Explanation", "Part", "explain_row"]


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
