"""The arrays of the mixture, by number: a kernel takes one table of addresses instead of forty arrays.

Row f of the table is (address, length of each axis) of field f. An array that is handed to a compiled function costs
80 ns, and the code that takes it apart longer to compile than most kernels here; a row of the table costs a load.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.machine.kinds import float32, float64, int32, int64, uint8, uint16, uint64
from stream_maxloss.machine.views import view

__all__ = [
    "FIELDS",
    "aim",
    "bytes_1",
    "bytes_2",
    "floats_1",
    "floats_2",
    "floats_3",
    "floats_4",
    "integers_1",
    "integers_2",
    "places_1",
    "reals_1",
    "reals_2",
    "reals_3",
    "shorts_1",
    "shorts_2",
    "table_of",
    "words_1",
    "words_2",
]

Table = NDArray[np.int64]

# What was learned, in the order of the numbers below.
LEARNED = [
    *("header", "statistics", "place", "edges", "num_edges", "test_number", "test_threshold", "group"),
    *("raw", "bins", "leaves"),
    *("kept_numbers", "kept_codes", "kept_leaves", "kept_length", "kept_index", "kept_value"),
    *("kept_target", "kept_score", "kept_w"),
    *("nodes", "starts", "game", "generator"),
    *("prior", "stack", "spread", "table", "trust", "scale", "seen"),
]
# Settings that follow from the parameters, room for the row at hand, and what follows from thresholds and tests.
OTHERS = [
    *("adaptive", "constant", "mask", "numbers", "codes", "leaf", "index", "value", "active", "score"),
    *("gradient", "chance", "answer", "given", "out", "parts", "rates"),
    *("cuts", "cut_first", "cut_code", "cut_mask", "masks", "coarse"),
]
# The rows that a call is about. A matrix has no boundaries of rows: its address is 0.
GIVEN_ROWS = ["indptr", "columns", "values", "targets", "weights", "answers"]
FIELDS = {name: number for number, name in enumerate([*LEARNED, *OTHERS, *GIVEN_ROWS])}

HEADER, STATISTICS, PLACE, EDGES, NUM_EDGES, TEST_NUMBER, TEST_THRESHOLD, GROUP, RAW, BINS, LEAVES = range(11)
KEPT_NUMBERS, KEPT_CODES, KEPT_LEAVES, KEPT_LENGTH, KEPT_INDEX, KEPT_VALUE, KEPT_TARGET, KEPT_SCORE, KEPT_W = range(
    11, 20
)
NODES, STARTS, GAME, GENERATOR, PRIOR, STACK, SPREAD, TABLE, TRUST, SCALE, SEEN = range(20, 31)
ADAPTIVE, CONSTANT, MASK, NUMBERS, CODES, LEAF, INDEX, VALUE, ACTIVE, SCORE, GRADIENT, CHANCE = range(31, 43)
ANSWER, GIVEN, OUT, PARTS, RATES, CUTS, CUT_FIRST, CUT_CODE, CUT_MASK, MASKS, COARSE = range(43, 54)
INDPTR, COLUMNS, VALUES, TARGETS, WEIGHTS, ANSWERS = range(54, 60)

# Places in the header.
ROWS, READY, TAUGHT, KIND, REPLAYS, WINDOW, NEXT_LESSON, SHIFT, LESSONS, CANDIDATES, SAMPLE, WIDE = range(12)
HEADER_LENGTH = 16


def table_of(arrays: dict[str, NDArray[Any]]) -> Table:
    """Return the table of these arrays; they must stay where they are while it is used."""
    table = np.zeros((len(FIELDS), 5), dtype=np.int64)
    for name in [*LEARNED, *OTHERS]:
        aim(table, name, arrays[name])
    return table


def aim(table: Table, name: str, array: NDArray[Any]) -> None:
    """Let a field of a table be this array, which must stay where it is while it is used."""
    number = FIELDS[name]
    table[number, 0] = array.ctypes.data
    table[number, 1 : 1 + array.ndim] = array.shape


# How kernels see a field, by the kind of its entries and its axes. Written for LLVM, since numba takes a fifth of a
# second to compile even the smallest function.
integers_1, integers_2 = view(int64, 1), view(int64, 2)
words_1, words_2 = view(uint64, 1), view(int32, 2)
places_1 = view(int32, 1)
shorts_1, shorts_2 = view(uint16, 1), view(uint16, 2)
bytes_1, bytes_2 = view(uint8, 1), view(uint8, 2)
floats_1, floats_2, floats_3, floats_4 = (view(float32, axes) for axes in range(1, 5))
reals_1, reals_2, reals_3 = (view(float64, axes) for axes in range(1, 4))
