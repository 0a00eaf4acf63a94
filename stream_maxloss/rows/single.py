"""One row given as a dict."""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.features import FeatureMap, HashedFeatureMap, text_feature

__all__ = ["read_row"]


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
        elif value is None:
            continue
        elif isinstance(value, numbers.Real | np.bool_):
            number = float(value)
            if math.isinf(number):
                raise ValueError(f"feature {name!r} must be finite, got {value!r}; clip it or leave it out")
            if number == number:
                values[name] = number
        else:
            raise TypeError(
                f"feature {name!r} must be a number, a boolean, text or None, got {value!r}; convert it or leave it out"
            )
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
