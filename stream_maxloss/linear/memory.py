"""One block of memory per learner: settings, counters, the row at hand, the weight vectors and what else it keeps.

Everything that a learner is lies in one float64 array, so that a numba kernel takes one address, a copy of the array is
a copy of the learner, and a checkpoint is the array itself:

    memory = [ header | row: capacity | vectors: capacity each | own numbers ]

Linear learners have two vectors, v and u. The weights are w = SCALE * v (a lazy scale, so that shrinking w costs
nothing). With averaging, the sum of the iterates is SCALE_SUM * v - u (see `additive`). Balanced Winnow keeps its
second weight vector in u. The own numbers are MarginPursuit's warm-up, or whatever else a learner reserves.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["allocate", "fits", "grow", "vector_u", "vector_v"]

Floats = NDArray[np.float64]

# What the learner is: set once.
CAPACITY = 0  # number of columns there is room for
RULE = 1  # a number that tells programs apart in a checkpoint; kernels never look at it
INTERCEPT = 2  # 1 if a constant-1 feature is added
AVERAGED = 3  # 1 if predictions use the average of the iterates
RADIUS = 4  # radius of the ball that w is projected to; 0 for none
FIRST = 5  # the rule's own settings
SECOND = 6
THIRD = 7
FOURTH = 8
NEEDS_NORM = 9  # 1 if the rule uses |x|^2

# What it has learned besides its vectors.
STEPS = 10  # t, rows learned
SCALE = 11
SCALE_SUM = 12  # sum of SCALE over the steps
NORM = 13  # |w|^2, kept only where there is a radius
MISTAKES = 14  # rows that were predicted wrongly when they came
SEEN = 15  # columns seen so far, where a program counts them
REPLAYED = 15  # steps on rows that were learned before, where a rule adapts by arrivals
ADAPTED = 16  # what a rule adapts: LLM's epsilon, MarginPursuit's scale
V_INTERCEPT = 17  # the constant feature's entries of v and u
U_INTERCEPT = 18
OWN = 19  # own numbers at the end of the memory
UPDATES = 20  # steps that changed w

# Of calls with one row; no part of what was learned.
ROW_LENGTH = 21  # values of the row at hand; -1 in memory that the model has left behind
TICKET = 22  # counts the calls, so that a call within a call is noticed
BUSY = 23  # 1 while a call is under way that other calls must not meet

HEADER = 24


def allocate(capacity: int, vectors: int = 2, own: int = 0) -> Floats:
    """Return zeroed memory with room for `capacity` columns in each vector and for `own` more numbers."""
    memory = np.zeros(HEADER + (1 + vectors) * capacity + own)
    memory[CAPACITY] = capacity
    memory[OWN] = own
    memory[SCALE] = 1.0
    return memory


def vector(memory: Floats, number: int) -> Floats:
    """Return one of the vectors, counted from 0."""
    capacity = int(memory[CAPACITY])
    return memory[HEADER + (1 + number) * capacity : HEADER + (2 + number) * capacity]


def vector_v(memory: Floats) -> Floats:
    """Return v: the weights are SCALE * v."""
    return vector(memory, 0)


def vector_u(memory: Floats) -> Floats:
    """Return u: the averaging correction, or balanced Winnow's second vector."""
    return vector(memory, 1)


def vectors_in(memory: Floats) -> int:
    """Return the number of vectors, from the length of the memory; 2 where there is no room for a column."""
    capacity = int(memory[CAPACITY])
    return (len(memory) - HEADER - int(memory[OWN])) // capacity - 1 if capacity else 2


def grow(memory: Floats, capacity: int, initial: tuple[float, ...]) -> Floats:
    """Return a copy with room for more columns; a new entry of vector k starts at initial[k]."""
    old, own = int(memory[CAPACITY]), int(memory[OWN])
    grown = allocate(capacity, len(initial), own)
    grown[:HEADER] = memory[:HEADER]
    grown[CAPACITY] = capacity
    for number, value in enumerate(initial):
        vector(grown, number)[old:] = value
        if old:
            vector(grown, number)[:old] = vector(memory, number)
    if own:
        grown[-own:] = memory[-own:]
    return grown


def fits(memory: Floats, own: Floats) -> bool:
    """Return whether memory is of the same program as the learner's own, and as long as its header says."""
    if memory.ndim != 1 or memory.size < HEADER or not 0 <= memory[CAPACITY] <= memory.size:
        return False
    if memory[CAPACITY] != int(memory[CAPACITY]):
        return False
    vectors = vectors_in(own)
    length = HEADER + (1 + vectors) * memory[CAPACITY] + memory[OWN]
    same = memory[RULE] == own[RULE] and memory[OWN] == own[OWN]
    return bool(same and memory.size == length)
