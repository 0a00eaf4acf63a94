"""One row given as a dict."""

from __future__ import annotations

import math
import numbers
from collections.abc import Hashable, Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.features import FeatureMap, HashedFeatureMap, text_feature

__all__ = ["TEXT_KINDS", "enter_row", "feature_values", "number_of", "read_row", "texts_of"]

TEXT_KINDS = (str, list, tuple, set, frozenset)
"""Kinds of values that are text: one, or several at once."""


def texts_of(name: Hashable, value: Any) -> Iterable[str]:
    """Return the texts that a value of one of `TEXT_KINDS` stands for.

    Raises
    ------
    TypeError
        If something in a list is no text.

    """
    if isinstance(value, str):
        return (value,)
    for text in value:
        if text is not None and not isinstance(text, str):
            raise TypeError(f"feature {name!r} must be a list of texts, got {text!r} in it; spread numbers over names")
    return [text for text in value if text is not None]


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
    if type(value) is float and -math.inf < value < math.inf:
        return value  # the usual case: asking an abstract class costs ten times as much
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

    A list, tuple or set of texts gives one feature for each.

    Raises
    ------
    ValueError
        If a value is infinite.
    TypeError
        If a value is neither a number nor text.

    """
    values: dict[Hashable, float] = {}
    for name, value in x.items():
        if isinstance(value, TEXT_KINDS):
            values.update((text_feature(name, text), 1.0) for text in texts_of(name, value))
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
    return enter_row(feature_values(x), features, learn)


def enter_row(
    values: Mapping[Hashable, float], features: FeatureMap | HashedFeatureMap, learn: bool
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the columns and the values of a row whose features were read; see `read_row`."""
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
