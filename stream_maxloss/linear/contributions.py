"""What the score of a linear learner is made of: weight times value, feature by feature."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stream_maxloss.features import text_feature

if TYPE_CHECKING:
    from stream_maxloss.linear.model import LinearModel

__all__ = ["Contribution", "contributions_of"]

ALWAYS = "always"
"""What is there whatever the row: the intercept, or a threshold."""


@dataclass(frozen=True)
class Contribution:
    """One feature's part of a score.

    Parameters
    ----------
    feature
        Its name; `always` for what is there whatever the row.
    value, weight
        Of the feature in the row, and in the model.
    contribution
        Their product.

    """

    feature: str
    value: float
    weight: float
    contribution: float


def contributions_of(model: LinearModel, x: Mapping[Hashable, Any]) -> list[Contribution]:
    """Return what the score of a row is made of, the largest part first; they add up to the score.

    Examples
    --------
    >>> from stream_maxloss.linear import Perceptron
    >>> learner = Perceptron()
    >>> learner.learn_one({"size": 2.0, "shape": "round"}, False)
    >>> [(part.feature, part.contribution) for part in learner.explain_one({"size": 3.0, "shape": "round"})]
    [('size', -6.0), ('shape=round', -1.0), ('always', -1.0)]

    """
    weights = model.weight_vector()
    parts = []
    for name, value in features_of(x):
        column = model.features.find(name)
        weight = float(weights[column]) if 0 <= column < len(weights) else 0.0
        parts.append(Contribution(str(name), value, weight, weight * value))
    rest = float(model.score(x)) - sum(part.contribution for part in parts)
    parts.append(Contribution(ALWAYS, 1.0, rest, rest))
    return sorted(parts, key=lambda part: -abs(part.contribution))


def features_of(x: Mapping[Hashable, Any]) -> Iterator[tuple[Hashable, float]]:
    """Yield the features of a row: a text value is one of its own, what is missing is none."""
    for name, value in x.items():
        if isinstance(value, str):
            yield text_feature(name, value), 1.0
        elif isinstance(value, list | tuple | set):
            yield from ((text_feature(name, token), 1.0) for token in value if isinstance(token, str))
        elif value is not None and value == value:
            yield name, float(value)
