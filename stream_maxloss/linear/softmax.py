"""The log loss of a linear score for each class, as a program over a learner's memory.

Classes are numbered in the order in which they come, and a row's target is its number. Two classes share one score, of
the second against the first, and p is its logistic; from the third class on each has its own, and p is their softmax.
With one score w, the first two of three classes begin with -w/2 and w/2, which gives them the same odds.

Vectors: the weights of each class there is room for, each followed by its sums of squared gradients if steps adapt.
Own numbers, one for each class there is room for: the probabilities of the row at hand, the weights of the constant
feature, and its sums of squared gradients. `ADAPTED` is the number of classes that have come.
"""

from __future__ import annotations

import math

from stream_maxloss.linear.logistic import logistic
from stream_maxloss.linear.memory import (
    ADAPTED,
    CAPACITY,
    FIRST,
    HEADER,
    INTERCEPT,
    MISTAKES,
    OWN,
    SCALE,
    SECOND,
    STEPS,
    THIRD,
    UPDATES,
)
from stream_maxloss.linear.program import Program
from stream_maxloss.linear.sums import Row, add, column_of, dot, vector_at
from stream_maxloss.machine.compiled import inlined, inner, made_once
from stream_maxloss.machine.pointers import load, store

__all__ = ["OWN_PARTS", "Shown", "softmax_program"]

# What a row's score is here: for two classes the score itself, for more the likeliest class, or NaN if a score is not
# finite; then the address of the probabilities and how many classes there is room for.
Shown = tuple[float, int, int]

# Own numbers of a class: its probability, its constant weight, and the squared gradients of that.
OWN_PARTS = 3
# Below this the scale is folded into the weights.
SMALLEST_SCALE = 1e-5
# Larger gradients count as this large, so that their squares can be added up.
LARGEST_GRADIENT = 1e100


@inlined
def room_of(m: int) -> int:
    """Return how many classes there is room for."""
    return int(load(m, OWN)) // OWN_PARTS


@inner
def adapt(m: int, w: int, squares: int, gradient: float) -> None:
    """Move one weight: G <- G + g^2, w <- w + rate g / sqrt(G)."""
    gradient = min(max(gradient, -LARGEST_GRADIENT), LARGEST_GRADIENT)
    if gradient != 0.0:
        total = load(squares, 0) + gradient * gradient
        store(squares, 0, total)
        # The square of a tiny gradient may be nothing.
        if total > 0.0:
            store(w, 0, load(w, 0) + load(m, FIRST) * gradient / math.sqrt(total))


@inner
def fold_scale(m: int, shrink: float, constants: int, classes: int) -> None:
    """Shrink all weights by moving the scale into them."""
    factor = load(m, SCALE) * shrink
    for c in range(classes):
        w = vector_at(m, c)
        for j in range(int(load(m, CAPACITY))):
            store(w, j, load(w, j) * factor)
        store(constants, c, load(constants, c) * factor)
    store(m, SCALE, 1.0)


@made_once
def softmax_program(adaptive: bool) -> Program:
    """Return the program, with a step size for each weight or one for all."""
    stride = 2 if adaptive else 1

    def own_of(m: int) -> int:
        return m + 8 * (HEADER + (1 + stride * room_of(m)) * int(load(m, CAPACITY)))

    own_of = inlined(own_of)

    def score(m: int, row: Row) -> Shown:
        room, own, classes, scale = room_of(m), own_of(m), int(load(m, ADAPTED)), load(m, SCALE)
        constants = own + 8 * room
        for c in range(classes, room):
            store(own, c, 0.0)
        if classes <= 2:
            odds = scale * (dot(vector_at(m, 0), row) + load(constants, 0))
            # The smaller one as a difference, which is exact, so that either is 1 minus the other to the bit.
            larger = logistic(-abs(odds))
            store(own, 0, larger if odds <= 0.0 else 1.0 - larger)
            store(own, 1, larger if odds > 0.0 else 1.0 - larger)
            # So that the sign tells the same as the two probabilities, which may be equal after rounding.
            return 0.0 if larger == 0.5 else odds, own, room
        likeliest, top, check = 0, -math.inf, 0.0
        for c in range(classes):
            one = scale * (dot(vector_at(m, stride * c), row) + load(constants, c))
            store(own, c, one)
            check += 0.0 * one
            if one > top:
                likeliest, top = c, one
        total = 0.0
        for c in range(classes):
            part = math.exp(load(own, c) - top)
            store(own, c, part)
            total += part
        for c in range(classes):
            store(own, c, load(own, c) / total)
        return likeliest + check, own, room

    score = inner(score)

    def begin_class(m: int, classes: int) -> None:
        if load(m, ADAPTED) <= 2.0 and classes > 2:
            constants = own_of(m) + 8 * room_of(m)
            for vector in range(stride):
                source, goal = vector_at(m, vector), vector_at(m, stride + vector)
                for j in range(int(load(m, CAPACITY))):
                    value = load(source, j)
                    store(source, j, -0.5 * value if vector == 0 else value)
                    store(goal, j, 0.5 * value if vector == 0 else value)
            constant, squares = load(constants, 0), constants + 8 * room_of(m)
            store(constants, 0, -0.5 * constant)
            store(constants, 1, 0.5 * constant)
            store(squares, 1, load(squares, 0))
        store(m, ADAPTED, float(classes))

    begin_class = inner(begin_class)

    def move(m: int, row: Row, c: int, constants: int, slope: float, rate: float) -> None:
        if slope == 0.0:
            return
        w = vector_at(m, stride * c)
        if not adaptive:
            delta = rate * slope / load(m, SCALE)
            add(w, row, delta)
            store(constants, c, load(constants, c) + load(m, INTERCEPT) * delta)
            return
        squares = vector_at(m, stride * c + 1)
        for k in range(row[2]):
            column = column_of(row, k)
            adapt(m, w + 8 * column, squares + 8 * column, slope * load(row[1], k))
        adapt(m, constants + 8 * c, constants + 8 * (room_of(m) + c), slope * load(m, INTERCEPT))

    move = inner(move)

    def step(m: int, row: Row, shown: Shown, target: float, weight: float) -> None:
        if target >= load(m, ADAPTED):
            begin_class(m, int(target) + 1)
            shown = score(m, row)
        own, constants, classes = shown[1], shown[1] + 8 * shown[2], int(load(m, ADAPTED))
        t = load(m, STEPS) + 1.0
        store(m, STEPS, t)
        store(m, UPDATES, load(m, UPDATES) + 1.0)
        said = (1.0 if shown[0] > 0.0 else 0.0) if classes <= 2 else shown[0]
        if said != target:
            store(m, MISTAKES, load(m, MISTAKES) + 1.0)
        rate = load(m, FIRST) / math.sqrt(t) if load(m, THIRD) != 0.0 else load(m, FIRST)
        if load(m, SECOND) > 0.0:
            shrink = max(0.0, 1.0 - rate * load(m, SECOND))
            if load(m, SCALE) * shrink < SMALLEST_SCALE:
                fold_scale(m, shrink, constants, shown[2])
            else:
                store(m, SCALE, load(m, SCALE) * shrink)
        if classes <= 2:
            move(m, row, 0, constants, weight * (load(own, 0) if target > 0.0 else -load(own, 1)), rate)
            return
        for c in range(classes):
            move(m, row, c, constants, weight * ((1.0 if c == target else 0.0) - load(own, c)), rate)

    def loss(m: int, shown: Shown, target: float) -> float:
        return max(0.0, 1.0 - load(shown[1], int(target)))

    return Program(
        "softmax, adaptive" if adaptive else "softmax",
        score,
        inner(step),
        inner(loss),
        scores=0,
        vectors=2 * stride,
        origin=(softmax_program, (adaptive,)),
    )
