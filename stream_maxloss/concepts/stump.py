"""A concept that looks at one feature."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Stump"]


@dataclass(frozen=True)
class Stump:
    """Positive where one feature reaches a threshold (or stays below it).

    A ready concept for `Consistent` and `Halving`: a grid of stumps is a finite class that can be pickled,
    which a list of lambdas cannot.

    Parameters
    ----------
    feature
        The feature to look at. Where it is missing or null, its value is 0.
    threshold
        The value from which on the feature counts as high.
    above
        The answer for high values; low values get the opposite.

    Examples
    --------
    >>> from stream_maxloss.concepts import Stump
    >>> is_hot = Stump("celsius", 30)
    >>> is_hot({"celsius": 31}), is_hot({"celsius": 12}), is_hot({})
    (True, False, False)

    """

    feature: Hashable
    threshold: float
    above: bool = True

    def __call__(self, x: Mapping[Any, Any]) -> bool:
        """Return the answer for one row."""
        value = x.get(self.feature)
        return ((0.0 if value is None else value) >= self.threshold) == self.above
