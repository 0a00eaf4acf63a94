"""What the kernels of the focused learners are handed: codes, and the arrays of a game and of a batch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["GAME_ARRAYS", "GameArrays", "RowArrays"]

# Which loss the game sees.
SURROGATE, ZERO_ONE, PROBABILITY, ABSOLUTE_ERROR = range(4)
# How snapshots are put together.
LAST, AVERAGE, MAJORITY = range(3)
# The form of a batch: a matrix of the first columns, a matrix of other columns, or sparse rows.
PREFIX, MATRIX, SPARSE = range(3)
# What `setup` holds.
REPLAYS, LOSS, OUTPUT, SCALE, LOW, HIGH = range(6)
# What is known of the targets of a regressor.
SEEN, MEAN, SQUARES = range(3)


class GameArrays(NamedTuple):
    """The arrays of a `Game`, as kernels take them, with the snapshots (one learner's memory a row)."""

    nodes: NDArray[np.float64]
    starts: NDArray[np.int64]
    game: NDArray[np.float64]
    generator: NDArray[np.uint64]
    book: NDArray[np.float64]
    slack: NDArray[np.float64]
    heap: NDArray[np.int32]
    where: NDArray[np.int32]
    plan: NDArray[np.float64]
    plan_generator: NDArray[np.uint64]
    copies: NDArray[np.float64]
    arrived: NDArray[np.int64]
    replayed: NDArray[np.int32]
    setup: NDArray[np.float64]
    spread: NDArray[np.float64]


GAME_ARRAYS = len(GameArrays._fields)


class RowArrays(NamedTuple):
    """A batch as kernels take it: `matrix` with its `columns`, or `values` with `columns` and `indptr`.

    `shown` is what a row is scored on before it is learned: `matrix` or `values` themselves, or another array of
    that shape, as for a scaler that sees a row between its prediction and its lesson.
    """

    form: int
    matrix: NDArray[np.float64]
    columns: NDArray[np.int64]
    values: NDArray[np.float64]
    indptr: NDArray[np.int64]
    shown_matrix: NDArray[np.float64]
    shown_values: NDArray[np.float64]
