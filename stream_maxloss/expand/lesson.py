"""One lesson of boosting: the tests of a fern, fitted to what is still wrong on some rows.

A fern is an oblivious tree, the kind of CatBoost (Prokhorenkova et al., 2018): the same test in all leaves of a level.
With r_i the residuals of the rows, the tests are chosen one after the other, each time the number and the edge with the
largest

    sum over the leaves of (sum of r_i in it)^2 / (rows in it + 1).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.machine.compiled import compiled, unfolded

__all__ = ["choose_tests", "fit_fern"]

# From this test on, leaves have few rows: every fourth edge is fine enough where there are many, and costs a quarter.
DEEP = 6
COARSER = 2
MANY_EDGES = 16

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@compiled
def fit_fern(codes: NDArray[np.uint8], counts: Integers, residuals: Floats, tests: Integers, leaf: Integers) -> None:
    """Choose the tests of a fern, for callers in Python; see `choose_tests`."""
    choose_tests(codes, counts, residuals, tests, leaf)


@unfolded
def choose_tests(
    codes: NDArray[np.uint8], counts: Integers, residuals: Floats, tests: Integers, leaf: Integers
) -> None:
    """Choose tests one after the other, and find the leaf of each row.

    Parameters
    ----------
    codes
        For each candidate number and row, how many of the number's edges lie below its value.
    counts
        How many edges each candidate has.
    residuals
        What is still wrong, of each row.
    tests
        The candidate (first row) and the edge (second) of each test are written here.
    leaf
        The leaf of each row, zeros to begin with.

    """
    depth, rows = tests.shape[1], residuals.shape[0]
    # By hand: numba takes half a second to compile `counts.max()`.
    most = 0
    for candidate in range(counts.shape[0]):
        most = max(most, counts[candidate])
    # Sums of residuals and rows, by leaf and code.
    sums = np.empty((1 << (depth - 1), most + 1, 2))
    gains = np.empty(most)
    for d in range(depth):
        best = -1.0
        for candidate in range(counts.shape[0]):
            shift = COARSER if d >= DEEP and counts[candidate] >= MANY_EDGES else 0
            count = counts[candidate] >> shift
            for one in range(1 << d):
                for b in range(count + 1):
                    sums[one, b, 0] = 0.0
                    sums[one, b, 1] = 0.0
            for i in range(rows):
                cell = sums[leaf[i], codes[candidate, i] >> shift]
                cell[0] += residuals[i]
                cell[1] += 1.0
            find_gains(sums, 1 << d, count, gains)
            for b in range(count):
                if gains[b] > best:
                    best = gains[b]
                    tests[0, d] = candidate
                    tests[1, d] = ((b + 1) << shift) - 1
        for i in range(rows):
            leaf[i] = leaf[i] * np.uint64(2) + np.uint64(codes[tests[0, d], i] > tests[1, d])


@unfolded
def find_gains(sums: Floats, leaves: int, edges: int, gains: Floats) -> None:
    """Write what splitting all leaves at each edge of one number gains."""
    for b in range(edges):
        gains[b] = 0.0
    for one in range(leaves):
        total = 0.0
        rows = 0.0
        for b in range(edges + 1):
            total += sums[one, b, 0]
            rows += sums[one, b, 1]
        if rows == 0.0:
            continue
        left = 0.0
        left_rows = 0.0
        for b in range(edges):
            left += sums[one, b, 0]
            left_rows += sums[one, b, 1]
            right = total - left
            gains[b] += left * left / (left_rows + 1.0) + right * right / (rows - left_rows + 1.0)
