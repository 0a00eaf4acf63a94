"""The multiplicative step of the Winnow family: promote or demote every weight of a mistaken row."""

from __future__ import annotations

import math

from stream_maxloss.linear.memory import FIRST
from stream_maxloss.machine.compiled import inner
from stream_maxloss.machine.pointers import load, store

__all__ = ["divide", "factor_of", "multiply", "zero_one_loss"]

# Weights stay finite whatever comes.
LARGEST_WEIGHT = 1e100


@inner
def factor_of(m: int, exponent: float) -> float:
    """Return beta^exponent."""
    return math.exp(min(max(exponent * math.log(load(m, FIRST)), -200.0), 200.0))


@inner
def multiply(v: int, place: int, factor: float) -> None:
    """Multiply a weight, and keep it inside what a float can come back from."""
    store(v, place, min(max(load(v, place) * factor, 1.0 / LARGEST_WEIGHT), LARGEST_WEIGHT))


@inner
def divide(v: int, place: int, factor: float) -> None:
    """Divide a weight, within the same bounds."""
    store(v, place, min(max(load(v, place) / factor, 1.0 / LARGEST_WEIGHT), LARGEST_WEIGHT))


@inner
def zero_one_loss(m: int, score: float, target: float) -> float:
    """Return the loss that the game sees: 1 for a mistake."""
    return 1.0 if (score >= 0.0) != (target > 0.0) else 0.0
