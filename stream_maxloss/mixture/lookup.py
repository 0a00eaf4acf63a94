"""Where a number lies among all its thresholds: one search gives its code and the tests of untaught ferns it passes.

The *cuts* of a number are its edges and the thresholds at which untaught ferns test it, ascending. With u cuts below a
value, `cut_code` has its code (how many of them are edges) and `cut_mask` a row of `masks`: for each untaught fern the
bits of the tests `x > threshold` that the value passes. The leaf of every untaught fern is the sum of the masks of all
numbers, sixteen ferns to a vector register, instead of one load and one comparison for each test.

All of this follows from edges and tests, which change at a few rows of a stream; it is no part of what is saved.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.machine.lanes import LANES
from stream_maxloss.mixture.reading import COARSE, UNTESTED

__all__ = ["LOOKUP", "lookup_of"]

LOOKUP = ("cuts", "cut_first", "cut_code", "cut_mask", "masks", "coarse")

Arrays = dict[str, NDArray[Any]]


def lookup_of(arrays: Arrays, untaught: int) -> Arrays:
    """Return the arrays of this module for the edges and tests of a mixture.

    Parameters
    ----------
    arrays
        Of the mixture.
    untaught
        How many ferns, the first ones, are not taught.

    """
    edges, num_edges = arrays["edges"], arrays["num_edges"]
    numbers, depth = len(num_edges), arrays["test_number"].shape[1]
    is_drawn = untaught > 0 and arrays["group"][0] >= 0
    used = untaught if is_drawn else 0
    tested = arrays["test_number"][:used].ravel().astype(np.int64)
    thresholds = arrays["test_threshold"][:used].ravel()
    cuts, codes, places, starts = [], [], [], [0]
    rows = [np.zeros((1, untaught), dtype=np.uint16)]
    next_row = 1
    for number in range(numbers):
        own = edges[number, : num_edges[number]]
        mine = np.flatnonzero((tested == number) & (thresholds < UNTESTED))
        levels = np.unique(thresholds[mine])
        cut = np.union1d(own, levels).astype(np.float32)
        # How many edges, and how many thresholds, lie below a value that has so many cuts below it.
        below = np.concatenate([[-np.inf], cut])
        passed = np.searchsorted(levels, below, side="right")
        # Whole registers, filled up with what no value lies above.
        room = -(-len(below) // LANES) * LANES
        cuts.append(np.concatenate([cut, np.full(room - len(cut), np.inf, dtype=np.float32)]))
        codes.append(np.resize(np.searchsorted(own, below, side="right").astype(np.uint8), room))
        places.append(np.resize(np.where(passed > 0, next_row - 1 + passed, 0).astype(np.int32), room))
        starts.append(starts[-1] + room)
        bits = np.zeros((len(levels), untaught), dtype=np.uint16)
        level, fern = np.searchsorted(levels, thresholds[mine]), mine // depth
        np.add.at(bits, (level, fern), (1 << (depth - 1 - mine % depth)).astype(np.uint16))
        rows.append(np.cumsum(bits, axis=0, dtype=np.uint16))
        next_row += len(levels)
    return {
        "cuts": np.concatenate([np.empty(0, dtype=np.float32), *cuts]),
        "cut_first": np.array(starts, dtype=np.int64),
        "cut_code": np.concatenate([np.empty(0, dtype=np.uint8), *codes]),
        "cut_mask": np.concatenate([np.empty(0, dtype=np.int32), *places]),
        "masks": np.concatenate(rows),
        "coarse": coarse_bins(num_edges, edges.shape[1]),
    }


def coarse_bins(num_edges: NDArray[np.int64], most: int) -> NDArray[np.uint8]:
    """Return for each number and code the bin in the group BINNED, and COARSE for a number that has none."""
    code = np.arange(most + 1)
    count = num_edges[:, np.newaxis]
    coarse = np.where(count < COARSE, code, code * COARSE // (count + 1))
    # A single edge is a flag, which the group RAW has already; codes beyond the edges do not occur.
    return np.where((count > 1) & (code <= count), np.minimum(coarse, COARSE), COARSE).astype(np.uint8)
