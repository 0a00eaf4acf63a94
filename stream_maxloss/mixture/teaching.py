"""Ferns that are taught: boosting with oblivious trees on the rows of the window.

A lesson fits one fern to what the mixture still gets wrong: its tests are those that part the residuals r_i = y_i - p_i
of S rows of the window best, among some numbers and all their edges (`expand.lesson`).

Each leaf then starts with a shrunken Newton step, nu sum r / (sum p (1 - p) + 5), and the log-odds that the window
keeps of each row move by as much: the next lesson fits what is left. The fern takes the place of the one whose leaves
weigh least on the last rows. This is S4's leveraging, one weak hypothesis at a time, on the window of S0; the trees
are those of CatBoost (Prokhorenkova et al., 2018).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.expand.lesson import choose_tests
from stream_maxloss.machine.compiled import compiled, inner, unfolded
from stream_maxloss.machine.lanes import LANES
from stream_maxloss.mixture import fields as f
from stream_maxloss.mixture.numbers import standardised
from stream_maxloss.mixture.reading import TAUGHT, find_code
from stream_maxloss.mixture.stepping import CLASSES, SQUARED, bend_of, number_slope
from stream_maxloss.random import next_below, next_uniform

__all__ = ["place_fern", "recode", "teach"]

SHRINKAGE = 0.2
RIDGE = 5.0
LARGEST_STEP = 3.0
# Rows that a fern is weighed on.
RECENT = 500

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@compiled
def recode(table: f.Table, rows: int) -> None:
    """Find the codes of all kept rows anew, after edges have moved."""
    numbers, codes = f.floats_2(table, f.KEPT_NUMBERS), f.bytes_2(table, f.KEPT_CODES)
    edges, num_edges = f.floats_2(table, f.EDGES), f.integers_1(table, f.NUM_EDGES)
    for slot in range(rows):
        for number in range(num_edges.shape[0]):
            codes[slot, number] = find_code(edges[number], num_edges[number], numbers[slot, number])


@compiled
def place_fern(table: f.Table, fern: int, rows: int) -> None:
    """Find the leaf of each kept row in one fern."""
    numbers, leaves = f.floats_2(table, f.KEPT_NUMBERS), f.shorts_2(table, f.KEPT_LEAVES)
    test_number, threshold = f.shorts_2(table, f.TEST_NUMBER)[fern], f.floats_2(table, f.TEST_THRESHOLD)[fern]
    for slot in range(rows):
        bits = 0
        for d in range(test_number.shape[0]):
            bits = 2 * bits + (numbers[slot, test_number[d]] > threshold[d])
        leaves[slot, fern] = bits


@compiled
def teach(table: f.Table, rows: int) -> int:
    """Give one lesson on the `rows` kept rows; return the fern that was taught, or -1 if nothing can be split."""
    header = f.integers_1(table, f.HEADER)
    generator = f.words_1(table, f.GENERATOR)
    candidates = draw_numbers(table, generator, header[f.CANDIDATES])
    if candidates.shape[0] == 0:
        return -1
    count = min(rows, header[f.SAMPLE])
    sample = np.empty(count, dtype=np.int64)
    for i in range(count):
        sample[i] = i if count == rows else next_below(generator, rows)
    residuals = np.empty(count)
    curvatures = np.empty(count)
    output = draw_output(table, sample, generator)
    find_residuals(table, sample, output, residuals, curvatures)
    depth = table[f.TEST_NUMBER, 2]
    tests = np.zeros((2, depth), dtype=np.int64)
    leaf = np.zeros(count, dtype=np.uint64)
    num_edges = f.integers_1(table, f.NUM_EDGES)
    counts = np.empty(candidates.shape[0], dtype=np.int64)
    for candidate in range(candidates.shape[0]):
        counts[candidate] = num_edges[candidates[candidate]]
    choose_tests(codes_of(table, sample, candidates), counts, residuals, tests, leaf)
    for d in range(depth):
        tests[0, d] = candidates[tests[0, d]]
    fern = least_fern(table, rows)
    set_fern(table, fern, tests)
    place_fern(table, fern, rows)
    start_leaves(table, fern, output, residuals, curvatures, leaf, rows)
    header[f.LESSONS] += 1
    return fern


@unfolded
def draw_numbers(table: f.Table, generator: Any, wanted: int) -> Integers:
    """Draw some of the numbers that have edges, without repetition."""
    num_edges = f.integers_1(table, f.NUM_EDGES)
    usable = np.empty(num_edges.shape[0], dtype=np.int64)
    known = 0
    for number in range(num_edges.shape[0]):
        if num_edges[number] > 0:
            usable[known] = number
            known += 1
    count = min(wanted, known)
    for i in range(count):
        j = i + next_below(generator, known - i)
        usable[i], usable[j] = usable[j], usable[i]
    return usable[:count]


@inner
def softmax_of(scores: Any, out: Floats) -> None:
    """Write the probabilities of kept log-odds."""
    if scores.shape[0] == 1:
        out[0] = 1.0 / (1.0 + math.exp(-np.float64(scores[0])))
        return
    top = scores[0]
    for c in range(1, scores.shape[0]):
        top = max(top, scores[c])
    total = 0.0
    for c in range(scores.shape[0]):
        out[c] = math.exp(np.float64(scores[c] - top))
        total += out[c]
    for c in range(scores.shape[0]):
        out[c] /= total


@unfolded
def draw_output(table: f.Table, sample: Integers, generator: Any) -> int:
    """Draw the output of a lesson, by the square of what each still gets wrong."""
    scores = f.floats_2(table, f.KEPT_SCORE)
    targets = f.reals_1(table, f.KEPT_TARGET)
    outputs = scores.shape[1]
    if outputs == 1:
        return 0
    wrong = np.zeros(outputs)
    p = np.empty(outputs)
    for i in range(sample.shape[0]):
        softmax_of(scores[sample[i]], p)
        for c in range(outputs):
            wrong[c] += abs((1.0 if targets[sample[i]] == c else 0.0) - p[c])
    mass = 0.0
    for c in range(outputs):
        mass += wrong[c] * wrong[c]
    mass *= next_uniform(generator)
    for c in range(outputs):
        mass -= wrong[c] * wrong[c]
        if mass < 0.0:
            return c
    return outputs - 1


@unfolded
def find_residuals(table: f.Table, sample: Integers, output: int, residuals: Floats, curvatures: Floats) -> None:
    """Write -dl/ds and d2l/ds2 of each sampled row."""
    scores = f.floats_2(table, f.KEPT_SCORE)
    targets = f.reals_1(table, f.KEPT_TARGET)
    weights = f.reals_1(table, f.KEPT_W)
    kind = f.integers_1(table, f.HEADER)[f.KIND]
    p = np.empty(scores.shape[1])
    for i in range(sample.shape[0]):
        slot = sample[i]
        if kind != CLASSES:
            error = standardised(table, targets[slot]) - scores[slot, 0]
            residuals[i] = number_slope(table, error)
            curvatures[i] = 1.0 if kind == SQUARED else 1.0 / bend_of(table)
        else:
            softmax_of(scores[slot], p)
            truth = 1.0 if targets[slot] == (1.0 if p.shape[0] == 1 else output) else 0.0
            residuals[i] = truth - p[output]
            curvatures[i] = p[output] * (1.0 - p[output])
        w = min(weights[slot], 1e6)
        residuals[i] *= w
        curvatures[i] *= w


@unfolded
def codes_of(table: f.Table, sample: Integers, candidates: Integers) -> NDArray[np.uint8]:
    """Return the codes of the sampled rows, number by number."""
    kept = f.bytes_2(table, f.KEPT_CODES)
    codes = np.empty((candidates.shape[0], sample.shape[0]), dtype=np.uint8)
    for i in range(sample.shape[0]):
        row = kept[sample[i]]
        for candidate in range(candidates.shape[0]):
            codes[candidate, i] = row[candidates[candidate]]
    return codes


@unfolded
def least_fern(table: f.Table, rows: int) -> int:
    """Return the first fern that was not taught yet, or the taught one that moves scores least on the last rows."""
    group = f.integers_1(table, f.GROUP)
    header = f.integers_1(table, f.HEADER)
    if table[f.MASKS, 2] + header[f.TAUGHT] < group.shape[0]:
        return table[f.MASKS, 2] + header[f.TAUGHT]
    cells = f.floats_4(table, f.LEAVES)
    kept = f.shorts_2(table, f.KEPT_LEAVES)
    size = np.int64(1) << (table[f.TEST_NUMBER, 2] - header[f.SHIFT])
    plane = cells.shape[0] - 1
    least = math.inf
    found = -1
    for fern in range(group.shape[0]):
        if group[fern] != TAUGHT:
            continue
        total = 0.0
        for i in range(min(rows, RECENT)):
            slot = (header[f.ROWS] - 1 - i) % header[f.WINDOW]
            cell = fern * size + (np.int64(kept[slot, fern]) >> header[f.SHIFT])
            for c in range(cells.shape[2]):
                for k in range(LANES):
                    total += abs(cells[plane, cell, c, k])
        if total < least:
            least = total
            found = fern
    return found


@unfolded
def set_fern(table: f.Table, fern: int, tests: Integers) -> None:
    """Put the tests of a lesson into a fern."""
    edges = f.floats_2(table, f.EDGES)
    for d in range(tests.shape[1]):
        f.shorts_2(table, f.TEST_NUMBER)[fern, d] = tests[0, d]
        f.floats_2(table, f.TEST_THRESHOLD)[fern, d] = edges[tests[0, d], tests[1, d]]
    group = f.integers_1(table, f.GROUP)
    if group[fern] < 0:
        group[fern] = TAUGHT
        f.integers_1(table, f.HEADER)[f.TAUGHT] += 1


@unfolded
def start_leaves(
    table: f.Table, fern: int, output: int, residuals: Floats, curvatures: Floats, leaf: Integers, rows: int
) -> None:
    """Set the weights of a new fern's leaves in all experts that use it, and move the kept scores by as much."""
    header = f.integers_1(table, f.HEADER)
    cells = f.floats_4(table, f.LEAVES)
    mask = f.floats_3(table, f.MASK)
    kept, scores = f.shorts_2(table, f.KEPT_LEAVES), f.floats_2(table, f.KEPT_SCORE)
    shift = header[f.SHIFT]
    size = np.int64(1) << (table[f.TEST_NUMBER, 2] - shift)
    steps = np.zeros(size)
    curvature = np.zeros(size)
    for i in range(residuals.shape[0]):
        steps[np.int64(leaf[i]) >> shift] += residuals[i]
        curvature[np.int64(leaf[i]) >> shift] += curvatures[i]
    for one in range(size):
        steps[one] = min(max(SHRINKAGE * steps[one] / (curvature[one] + RIDGE), -LARGEST_STEP), LARGEST_STEP)
    # A score divides the sum over the taught ferns by the root of their number.
    root = math.sqrt(np.float64(header[f.TAUGHT]))
    for plane in range(cells.shape[0]):
        for one in range(size):
            for c in range(cells.shape[2]):
                for k in range(LANES):
                    step = steps[one] * root * mask[plane, TAUGHT, k] if c == output else 0.0
                    cells[plane, fern * size + one, c, k] = step
                    cells[plane, fern * size + one, c, LANES + k] = 0.0
    for slot in range(rows):
        scores[slot, output] += steps[np.int64(kept[slot, fern]) >> shift]
