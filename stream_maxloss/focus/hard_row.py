"""A row that the game has put weight on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["HardRow"]


@dataclass(frozen=True)
class HardRow:
    """A row of the window, with what the game makes of it.

    Parameters
    ----------
    x, y, w
        The row, its label and its sample weight.
    weight
        Its share q of the weight, in [0, 1].
    probability
        The probability p with which the next replay draws it.
    loss
        The loss that the learner has on it now.
    age
        Rows that have come since it came.
    replays
        How often it was replayed.

    """

    x: Any
    y: Any
    w: float
    weight: float
    probability: float
    loss: float
    age: int
    replays: int
