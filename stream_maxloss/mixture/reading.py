"""From a row to the features that are active in it, in four groups.

- RAW: a constant, and each present value, scaled. A column that is zero or absent in three rows of four keeps its zeros
  (x / rms of the values that are not zero, so a flag is 1); any other is (x - mean) / standard deviation. Both within
  [-3, 3], with the statistics before the row. Statistics take a value in within ten deviations, so that one wild value
  does not flatten all others.
- BINNED: for each *number* (a column with thresholds), the quantile bin that its value lies in.
- UNTAUGHT, TAUGHT: of each fern the one leaf that the row falls into: D tests `x > threshold` are the bits of its
  index. An absent value fails every test. Ferns of fewer tests than there is room for have no last ones.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.machine.compiled import inner, unfolded
from stream_maxloss.machine.lanes import LANES, count_below, merge_bits
from stream_maxloss.mixture import fields as f

__all__ = [
    "ABSENT",
    "BINNED",
    "COARSE",
    "FERNS_AT_ONCE",
    "GROUPS",
    "RAW",
    "TAUGHT",
    "UNTAUGHT",
    "UNTESTED",
    "count_leaves",
    "find_code",
    "observe",
    "read_entries",
]

GROUPS = RAW, BINNED, UNTAUGHT, TAUGHT = range(4)
# Per column: what was seen, and the centre and factor by which the next value is scaled.
COUNT, MEAN, DEVIATION, NONZERO, CENTRE, FACTOR = range(6)
# An absent value is below every threshold.
ABSENT = np.float32(-np.inf)
# The threshold of a test that a fern does not have: no value lies above it.
UNTESTED = np.finfo(np.float32).max
# Bins a number has in the group BINNED; thresholds are finer.
COARSE = 16
LARGEST = 1e30
LIMIT = 3.0
WILD = 10.0
SETTLED = 30.0
# The scale of a column is found anew after each of its first values, and then after every eighth.
OFTEN, SELDOM = 64.0, 8
# Leaves of untaught ferns, two bytes each, that `merge_bits` takes at once.
FERNS_AT_ONCE = 16


@inner
def observe(table: f.Table, first: int, first_column: int, length: int) -> None:
    """Take the values of one row into the statistics of their columns."""
    columns, values = f.integers_1(table, f.COLUMNS), f.reals_1(table, f.VALUES)
    statistics = f.reals_2(table, f.STATISTICS)
    rows = f.integers_1(table, f.HEADER)[f.ROWS] + 1
    for k in range(length):
        value = min(max(values[first + k], -LARGEST), LARGEST)
        if value != value:
            continue
        one = statistics[columns[first_column + k]]
        count = one[COUNT]
        deviation = value - one[MEAN]
        if count > SETTLED and deviation * deviation * count > WILD * WILD * one[DEVIATION] > 0.0:
            deviation = math.copysign(WILD * math.sqrt(one[DEVIATION] / count), deviation)
        part = deviation / (count + 1.0)
        one[COUNT] = count + 1.0
        one[MEAN] += part
        one[DEVIATION] += deviation * part * count
        if value != 0.0:
            one[NONZERO] += 1.0
        # Later on it moves little from one row to the next, and its roots take longer than all else here.
        if count < OFTEN or np.int64(count) % SELDOM == 0:
            set_scale(one, rows)


@unfolded
def set_scale(one: NDArray[np.float64], rows: int) -> None:
    """Find the centre and the factor of a column from what was seen of it."""
    count, mean = one[COUNT], one[MEAN]
    squares = one[DEVIATION] + count * mean * mean
    if 4.0 * one[NONZERO] < rows or one[DEVIATION] <= 1e-12 * squares:
        one[CENTRE] = 0.0
        one[FACTOR] = math.sqrt(one[NONZERO] / squares) if squares > 0.0 else 0.0
    else:
        one[CENTRE] = mean
        one[FACTOR] = math.sqrt(count / one[DEVIATION])


@inner
def find_code(edges: NDArray[np.float32], count: int, value: float) -> int:
    """Return how many of the first `count` edges lie below a value."""
    # Halves without a branch: a processor would guess every second one wrong.
    below = 0
    left = count
    while left > 0:
        half = (left + 1) >> 1
        below += half if value > edges[below + half - 1] else 0
        left -= half
    return below


@inner
def read_entries(table: f.Table, first: int, first_column: int, length: int, learn: bool) -> bool:
    """Find the active features of one row: `length` columns and values from there on, NaN for absent.

    A column that was never seen counts only with `learn`, since an answer must not depend on whether the row is going
    to be learned. Return whether there was one.
    """
    columns, values = f.integers_1(table, f.COLUMNS), f.reals_1(table, f.VALUES)
    statistics = f.reals_2(table, f.STATISTICS)
    place = f.integers_1(table, f.PLACE)
    numbers = f.floats_1(table, f.NUMBERS)
    index = f.integers_2(table, f.INDEX)
    out = f.floats_2(table, f.VALUE)
    active = f.integers_1(table, f.ACTIVE)
    # The cell after the constant's; columns beyond the room share cells.
    room = table[f.RAW, 2] - 2
    for number in range(numbers.shape[0]):
        numbers[number] = ABSENT
    index[RAW, 0] = 0
    out[RAW, 0] = 1.0
    used = 1
    is_new = False
    for k in range(length):
        value = min(max(values[first + k], -LARGEST), LARGEST)
        if value != value:
            continue
        column = columns[first_column + k]
        number = place[column]
        if number >= 0:
            numbers[number] = value
        one = statistics[column]
        if one[COUNT] == 0.0:
            is_new = True
            z = 1.0 if learn and value == 1.0 else 0.0
        else:
            z = min(max((value - one[CENTRE]) * one[FACTOR], -LIMIT), LIMIT)
        if z != 0.0:
            index[RAW, used] = 1 + (column & room)
            out[RAW, used] = z
            used += 1
    active[RAW] = used
    active[BINNED] = 0
    count_leaves(table)
    if f.integers_1(table, f.HEADER)[f.READY]:
        read_bins(table)
        read_leaves(table)
    return is_new


@inner
def count_leaves(table: f.Table) -> None:
    """Set how many leaves are active: one of each fern in use."""
    active, header = f.integers_1(table, f.ACTIVE), f.integers_1(table, f.HEADER)
    active[UNTAUGHT] = table[f.MASKS, 2] if header[f.READY] and f.integers_1(table, f.GROUP)[0] >= 0 else 0
    active[TAUGHT] = header[f.TAUGHT]


@unfolded
def read_bins(table: f.Table) -> None:
    """Find the code of each number, its bin, and with them the leaves of the untaught ferns (see `lookup`)."""
    numbers, codes, coarse = f.floats_1(table, f.NUMBERS), f.bytes_1(table, f.CODES), f.bytes_2(table, f.COARSE)
    cut_first = f.integers_1(table, f.CUT_FIRST)
    cut_code, cut_mask = f.bytes_1(table, f.CUT_CODE), f.places_1(table, f.CUT_MASK)
    index = f.integers_2(table, f.INDEX)
    leaf = f.shorts_1(table, f.LEAF)
    untaught = table[f.MASKS, 2]
    for fern in range(untaught):
        leaf[fern] = 0
    length = 0
    for number in range(numbers.shape[0]):
        start = cut_first[number]
        registers = (cut_first[number + 1] - start) // LANES
        cut = start + count_below(table[f.CUTS, 0] + start * 4, registers, numbers[number])
        code = cut_code[cut]
        codes[number] = code
        if cut_mask[cut] > 0:
            mask = table[f.MASKS, 0] + cut_mask[cut] * untaught * 2
            merge_bits(table[f.LEAF, 0], mask, untaught // FERNS_AT_ONCE)
        # A single edge is a flag, which the group RAW has already.
        if coarse[number, code] < COARSE and numbers[number] != ABSENT:
            index[BINNED, length] = number * COARSE + coarse[number, code]
            length += 1
    f.integers_1(table, f.ACTIVE)[BINNED] = length


@unfolded
def read_leaves(table: f.Table) -> None:
    """Find the leaf of each taught fern."""
    numbers = f.floats_1(table, f.NUMBERS)
    leaf = f.shorts_1(table, f.LEAF)
    test_number = f.shorts_2(table, f.TEST_NUMBER)
    test_threshold = f.floats_2(table, f.TEST_THRESHOLD)
    depth = test_number.shape[1]
    first = table[f.MASKS, 2]
    for fern in range(first, first + f.integers_1(table, f.HEADER)[f.TAUGHT]):
        bits = 0
        for d in range(depth):
            bits = 2 * bits + (numbers[test_number[fern, d]] > test_threshold[fern, d])
        leaf[fern] = bits
