"""One block of memory per learner: settings, counters, the row at hand and the weight vectors.

Everything that a linear learner is lies in one float64 array, so that a numba kernel takes one argument (every
further array costs about 80 ns a call, as much as the arithmetic of a short row), a copy of the array is a copy of
the learner, and a checkpoint is the array itself:

    memory = [ header | row: capacity | v: capacity | u: capacity | warm-up ]

The weights are w = SCALE * v (a lazy scale, so that shrinking w costs nothing). With averaging, the sum of the
iterates is SCALE_SUM * v - u (see `kernels.commit`). Balanced Winnow keeps its second weight vector in u.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["allocate", "grow", "header", "vector_u", "vector_v"]

Floats = NDArray[np.float64]

# What the learner is: set once.
CAPACITY = 0  # number of columns there is room for
RULE = 1  # which update, one of the codes below
INTERCEPT = 2  # 1 if a constant-1 feature is added
AVERAGED = 3  # 1 if predictions use the average of the iterates
RADIUS = 4  # radius of the ball that w is projected to; 0 for none
FIRST = 5  # the rule's own settings
SECOND = 6
THIRD = 7
FOURTH = 8
NEEDS_NORM = 9  # 1 if the rule uses |x|^2

# What it has learned besides v and u.
STEPS = 10  # t, rows learned
SCALE = 11
SCALE_SUM = 12  # sum of SCALE over the steps
NORM = 13  # |w|^2, kept only where there is a radius
MISTAKES = 14  # rows that were predicted wrongly when they came
SEEN = 15  # columns seen so far
ADAPTED = 16  # what a rule adapts: LLM's epsilon, MarginPursuit's scale
V_INTERCEPT = 17  # the constant feature's entries of v and u
U_INTERCEPT = 18
WARMUP = 19  # rows of warm-up that have a place at the end of the memory
UPDATES = 20  # steps that changed w

# The row at hand, for calls with one row.
ROW_LENGTH = 21
ROW_TARGET = 22
ROW_WEIGHT = 23

HEADER = 24

PERCEPTRON = 0
HINGE = 1
PEGASOS = 2
MARGIN_PURSUIT = 3
LLD = 4
LLM = 5
ABSOLUTE = 6
WINNOW = 7
BALANCED_WINNOW = 8


def allocate(capacity: int, warmup: int = 0) -> Floats:
    """Return zeroed memory with room for `capacity` columns and `warmup` values."""
    memory = np.zeros(HEADER + 3 * capacity + warmup)
    memory[CAPACITY] = capacity
    memory[WARMUP] = warmup
    memory[SCALE] = 1.0
    return memory


def header(memory: Floats) -> Floats:
    """Return the settings and counters."""
    return memory[:HEADER]


def vector_v(memory: Floats) -> Floats:
    """Return v: the weights are SCALE * v."""
    capacity = int(memory[CAPACITY])
    return memory[HEADER + capacity : HEADER + 2 * capacity]


def vector_u(memory: Floats) -> Floats:
    """Return u: the averaging correction, or balanced Winnow's second vector."""
    capacity = int(memory[CAPACITY])
    return memory[HEADER + 2 * capacity : HEADER + 3 * capacity]


def grow(memory: Floats, capacity: int, initial: float) -> Floats:
    """Return a copy with room for more columns, whose weights start at `initial`."""
    old = int(memory[CAPACITY])
    warmup = int(memory[WARMUP])
    grown = allocate(capacity, warmup)
    grown[:HEADER] = memory[:HEADER]
    grown[CAPACITY] = capacity
    vector_v(grown)[:] = initial
    vector_v(grown)[:old] = vector_v(memory)
    if memory[RULE] == BALANCED_WINNOW:
        vector_u(grown)[:] = initial
    vector_u(grown)[:old] = vector_u(memory)
    if warmup:
        grown[-warmup:] = memory[-warmup:]
    return grown
