"""One row given as a dict."""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.features import FeatureMap, HashedFeatureMap, text_feature

__all__ = ["number_of", "read_row"]


def number_of(name: Hashable, value: Any) -> float | None:
    """Return a number or boolean as a float, or None if it is missing: None, NaN.

    Raises
    ------
    ValueError
        If it is infinite, or too large for a float.
    TypeError
        If it is no number.

    """
    if value is None:
        return None
    if not isinstance(value, numbers.Real | np.bool_ | Decimal):
        raise TypeError(
            f"feature {name!r} must be a number, a boolean, text or None, got {value!r}; convert it or leave it out"
        )
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isinf(number):
        raise ValueError(f"feature {name!r} must be finite, got {shorten(value)}; clip it or leave it out")
    return number if number == number else None


def shorten(value: object) -> str:
    """Return what a value looks like, cut where a number has hundreds of digits."""
    shown = repr(value)
    return shown if len(shown) <= 40 else f"{shown[:20]}... ({len(shown)} characters)"


def feature_values(x: Mapping[Hashable, Any]) -> dict[Hashable, float]:
    """Return the features of a row: numbers and booleans by name, text as `column=value`, missing values left out.

    Raises
    ------
    ValueError
        If a value is infinite.
    TypeError
        If a value is neither a number nor text.

    """
    values: dict[Hashable, float] = {}
    for name, value in x.items():
        if isinstance(value, str):
            values[text_feature(name, value)] = 1.0
            continue
        number = number_of(name, value)
        if number is not None:
            values[name] = number
    return values


def read_row(
    x: Mapping[Hashable, Any], features: FeatureMap | HashedFeatureMap, learn: bool
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the columns, in ascending order, and the values of a row.

    With `learn`, new names get columns; without, features that were never learned are left out.

    Examples
    --------
    >>> from stream_maxloss.features import FeatureMap
    >>> from stream_maxloss.rows import read_row
    >>> columns, values = read_row({"size": 2, "shape": "round", "age": None}, FeatureMap(), learn=True)
    >>> columns, values
    (array([0, 1]), array([1., 2.]))

    """
    values = feature_values(x)
    if learn:
        features.add(values)
    entries: dict[int, float] = {}
    for name, value in values.items():
        column = features.find(name)
        if column >= 0:
            # Two names may share a hashed column: their values add up.
            entries[column] = entries.get(column, 0.0) + value
    columns = np.array(sorted(entries), dtype=np.int64)
    return columns, np.array([entries[column] for column in columns.tolist()], dtype=np.float64)
