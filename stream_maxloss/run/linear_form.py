"""A linear model as plain numbers, for other programs to compute with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from stream_maxloss.errors import UsageError
from stream_maxloss.run.certificate import promoted

__all__ = ["LinearForm", "NumberColumn", "TextColumn", "linear_form", "model_as_json"]


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers: its weight, and how it is scaled; a missing value counts as nothing.

    The score grows by `weight * clip((value - mean) / deviation)`, and by nothing if the deviation is 0.
    """

    name: str
    weight: float
    mean: float
    deviation: float


@dataclass(frozen=True)
class TextColumn:
    """A column of texts: the weight of each; others count as nothing."""

    name: str
    weights: dict[str, float]


@dataclass(frozen=True)
class LinearForm:
    """A linear model: columns, what is added whatever the row, and what becomes of the score.

    Parameters
    ----------
    numbers, texts
        The columns.
    intercept
        What is added.
    clip
        Bound of scaled numbers, or None.
    is_classifier
        Whether the score is log-odds of True (True where it is not negative), or the predicted number.
    low, high
        Bounds of a predicted number, or None.

    """

    numbers: list[NumberColumn]
    texts: list[TextColumn]
    intercept: float
    clip: float | None
    is_classifier: bool
    low: float | None = None
    high: float | None = None


def linear_form(model: Any, columns: Sequence[str]) -> LinearForm:
    """Return the form of one of our linear learners, bare, scaled or focused.

    Parameters
    ----------
    model
        The model.
    columns
        The columns that it was learned from, as they were read.

    Raises
    ------
    UsageError
        If it is another model, or has features that are not columns.

    Examples
    --------
    >>> from stream_maxloss.linear import Perceptron
    >>> from stream_maxloss.run.linear_form import linear_form
    >>> learner = Perceptron()
    >>> learner.learn_one({"size": 2.0, "shape": "round"}, False)
    >>> form = linear_form(learner, ["size", "shape"])
    >>> form.numbers[0].weight, form.texts[0].weights, form.intercept
    (-2.0, {'round': -1.0}, -1.0)

    """
    from river import base

    from stream_maxloss.linear import Scaler
    from stream_maxloss.linear.learner import Learner

    model = promoted(model)
    steps = list(model.steps.values()) if hasattr(model, "steps") else [model]
    learner = getattr(steps[-1], "_wrapped_model", steps[-1]) if hasattr(steps[-1], "hardest") else steps[-1]
    scaler = steps[0] if len(steps) == 2 and isinstance(steps[0], Scaler) else None
    if not isinstance(learner, Learner) or len(steps) > 1 + (scaler is not None):
        names = " | ".join(type(step).__name__ for step in steps)
        raise UsageError(f"a linear form must come with one of our linear learners, got {names}")
    if getattr(steps[-1], "output", "last") != "last":
        raise UsageError(f"a linear form must come with a focus of output 'last', got {steps[-1].output!r}")
    if not learner._model.features.grows:
        raise UsageError("a linear form must come with features by name, got hashed ones")
    means, variances = ({}, {}) if scaler is None else (scaler.means, scaler.variances)
    numbers: list[NumberColumn] = []
    texts: dict[str, dict[str, float]] = {}
    for feature, weight in learner.weights.items():
        name = str(feature)
        column, separator, text = name.partition("=")
        if name in columns:
            deviation = math.sqrt(variances[feature]) if feature in variances else 1.0
            numbers.append(NumberColumn(name, float(weight), float(means.get(feature, 0.0)), deviation))
        elif separator and column in columns and text != "(other)":
            texts.setdefault(column, {})[text] = float(weight)
        else:
            raise UsageError(f"a linear form must come with features that are columns, got {name!r}")
    return LinearForm(
        numbers,
        [TextColumn(name, weights) for name, weights in texts.items()],
        float(learner._model.score({})),
        None if scaler is None else scaler.clip,
        isinstance(learner, base.Classifier),
        getattr(learner, "low", None),
        getattr(learner, "high", None),
    )


def model_as_json(model: Any, columns: Sequence[str]) -> dict[str, Any]:
    """Return any model of ours as plain values: what it is, and its weights, thresholds and statistics by name.

    A linear model also has its `linear` form, from which a prediction is a sum.
    """
    from stream_maxloss.checkpoint import Content, put_model

    content = Content()
    put_model(content, promoted(model), allow_pickle=False)
    found: dict[str, Any] = {
        "format": "stream-maxloss",
        "v": 1,
        "model": content.values["model.description"],
        "values": {name: value for name, value in content.values.items() if name != "model.description"},
        "arrays": {name: array.tolist() for name, array in content.arrays.items()},
    }
    try:
        form = linear_form(model, columns)
    except UsageError:
        return found
    parts = {"numbers": [vars(column) for column in form.numbers], "texts": [vars(column) for column in form.texts]}
    return {**found, "linear": {**vars(form), **parts}}
