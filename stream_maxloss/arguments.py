"""Checks of constructor arguments, with one form of message."""

from __future__ import annotations

import math
from collections.abc import Collection
from numbers import Integral, Real

__all__ = ["require_choice", "require_count", "require_open_unit", "require_positive"]

MOST = 1 << 56
"""Above any count of things in memory, and far enough below 64 bits to reckon with."""


def require_positive(name: str, value: float, remedy: str = "") -> None:
    """Raise ValueError unless `value` is a positive, finite number.

    Examples
    --------
    >>> from stream_maxloss.arguments import require_positive
    >>> require_positive("lr", -1, "0.1 is a good start")
    Traceback (most recent call last):
    ...
    ValueError: lr must be positive, got -1; 0.1 is a good start

    """
    if not (isinstance(value, Real) and 0.0 < value < math.inf):
        raise ValueError(f"{name} must be positive, got {value!r}" + (f"; {remedy}" if remedy else ""))


def require_open_unit(name: str, value: float, high: float = 1.0, remedy: str = "") -> None:
    """Raise ValueError unless `value` lies strictly between 0 and `high`."""
    if not (isinstance(value, Real) and 0.0 < value < high):
        ending = f"; {remedy}" if remedy else ""
        raise ValueError(f"{name} must lie strictly between 0 and {high:g}, got {value!r}{ending}")


def require_count(name: str, value: int, remedy: str = "") -> None:
    """Raise ValueError unless `value` is a whole number from 1 on, and one that memory could have places for."""
    ending = f"; {remedy}" if remedy else ""
    if isinstance(value, Integral) and value > MOST:
        raise ValueError(f"{name} must be at most {MOST}, which is more than any memory holds, got more{ending}")
    if not (isinstance(value, Integral) and value >= 1):
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}{ending}")


def require_choice(name: str, value: object, choices: Collection[str]) -> None:
    """Raise ValueError unless `value` is one of the choices."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")
