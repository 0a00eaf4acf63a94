"""The hardest rows of the window: those on which the game has put most weight, read back from what is kept of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from stream_maxloss.mixture.fields import WINDOW
from stream_maxloss.mixture.memory import Memory
from stream_maxloss.mixture.reading import ABSENT, CENTRE, FACTOR
from stream_maxloss.mixture.reasons import Reason

__all__ = ["HardRow", "HardSlot", "hardest_slots", "values_kept"]


@dataclass(frozen=True)
class HardRow:
    """A row of the window, with what the game makes of it.

    Parameters
    ----------
    x, y, w
        The row, its label and its sample weight. Columns without thresholds, of which only the scaled value is kept,
        are unscaled with the current mean and deviation.
    weight
        Its share of the game's weight, in [0, 1].
    probability
        The probability with which the next replay draws it.
    loss
        The loss that the mixture has on it now, in [0, 1].
    age
        Rows that have come since it came.
    reasons
        What the score of its label is made of, the largest part first.

    """

    x: dict[Any, float]
    y: Any
    w: float
    weight: float
    probability: float
    loss: float
    age: int
    reasons: list[Reason]


@dataclass(frozen=True)
class HardSlot:
    """A slot of the window with its weight in the game."""

    slot: int
    weight: float
    probability: float
    age: int


def hardest_slots(memory: Memory, count: int) -> Iterator[HardSlot]:
    """Yield the slots of most weight, the heaviest first."""
    kept, window = memory.kept, int(memory["header"][WINDOW])
    scale, even, gamma = memory["game"][:3]
    weights = scale * memory["nodes"][:kept] + even
    shares = weights / max(weights.sum(), 1e-300)
    for slot in np.argsort(-shares, kind="stable")[:count].tolist():
        share = float(shares[slot])
        chance = float(gamma / kept + (1.0 - gamma) * share)
        yield HardSlot(slot, share, chance, (memory.rows - 1 - slot) % window)


def values_kept(memory: Memory, slot: int, columns: int) -> dict[int, float]:
    """Return the value of each column of a kept row.

    Parameters
    ----------
    memory
        The mixture.
    slot
        Where the row is kept.
    columns
        How many columns are known; those that share a cell are taken for the first of them.

    """
    length = int(memory["kept_length"][slot])
    cells = memory["kept_index"][slot, :length].astype(np.int64) - 1
    statistics, scaled = memory["statistics"], memory["kept_value"][slot, :length].astype(np.float64)
    values = {}
    for column, z in zip(cells.tolist(), scaled.tolist(), strict=True):
        factor = statistics[column, FACTOR]
        values[column] = float(z / factor + statistics[column, CENTRE]) if factor > 0.0 else z
    for column in np.flatnonzero(memory["place"][:columns] >= 0).tolist():
        number = memory["kept_numbers"][slot, memory["place"][column]]
        if number != ABSENT:
            values[column] = float(number)
    return dict(sorted(values.items()))
