"""The additive step w <- shrink w + coefficient x, written once and closed over a rule.

With score s = <w, x> + b, label y in {-1, +1} and margin z = y s, a `Rule` computes (shrink, coefficient). The weights
are w = SCALE v. The sum of iterates is sum_t SCALE_t v_t = SCALE_SUM v - u when u grows by SCALE_SUM delta x at every
move of v by delta x, so averaging costs nothing on rows that change nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stream_maxloss.linear.memory import (
    ADAPTED,
    AVERAGED,
    CAPACITY,
    FIRST,
    FOURTH,
    HEADER,
    INTERCEPT,
    MISTAKES,
    NORM,
    OWN,
    RADIUS,
    REPLAYED,
    SCALE,
    SCALE_SUM,
    SECOND,
    STEPS,
    THIRD,
    U_INTERCEPT,
    UPDATES,
    V_INTERCEPT,
)
from stream_maxloss.linear.program import Program
from stream_maxloss.linear.sums import Row, add, dot, square, square_of, vector_at
from stream_maxloss.machine.compiled import inlined, inner, made_once
from stream_maxloss.machine.pointers import load, store

__all__ = ["Rule", "additive", "count", "settings_of"]

# w = SCALE * v: fold the scale into v before v grows so large that the average, a difference, loses its digits.
SMALLEST_SCALE = 1e-5
# |w|^2 is kept by increments; recompute it now and then so that rounding cannot pile up.
NORM_REFRESH = 65536

Settings = tuple[float, float, float, float, float]


@dataclass(frozen=True)
class Rule:
    """An additive update rule: its equation as plain functions of numbers.

    `settings` are the four numbers that the learner was made with, and last the one that the rule adapts.

    Parameters
    ----------
    name
        What tells the rule apart in a checkpoint.
    plan
        plan(settings, t, score, target, weight, norm): (shrink, coefficient) of the step on row t; norm is |x|^2 with
        the constant feature, or 0 where nothing needs it.
    loss
        loss(settings, score, target): the loss in [0, 1] that the game sees.
    limit
        limit(settings): the margin beyond which the plan is (1, 0), if there is one.
    adapt
        adapt(settings, arrivals, score, target, own, rows): what the rule adapts, after so many rows that were new,
        this one among them; `own` is the address of the `rows` numbers that the learner reserved. Replays adapt
        nothing.
    needs_norm
        Whether the plan uses |x|^2.
    code
        See `Program`.

    """

    name: str
    plan: Callable[..., tuple[float, float]]
    loss: Callable[..., float]
    limit: Callable[..., float] | None = None
    adapt: Callable[..., float] | None = None
    needs_norm: bool = False
    code: int | None = None


@inlined
def settings_of(m: int) -> Settings:
    """Return the settings of a rule, and what it adapts."""
    return load(m, FIRST), load(m, SECOND), load(m, THIRD), load(m, FOURTH), load(m, ADAPTED)


@inlined
def count(m: int, score: float, target: float) -> float:
    """Count the row, and the mistake if its score has the wrong sign; return t."""
    steps = load(m, STEPS) + 1.0
    store(m, STEPS, steps)
    # A number and not a branch: which rows near the margin are wrong no processor foresees.
    store(m, MISTAKES, load(m, MISTAKES) + (1.0 if (score >= 0.0) != (target > 0.0) else 0.0))
    return steps


@inner
def fold_scale(m: int, shrink: float) -> None:
    """Shrink w, to nothing if need be, by moving the scale into v: v <- SCALE shrink v, SCALE <- 1.

    The sum of iterates SCALE_SUM v - u moves into u at the same time. Were SCALE_SUM divided by the scale instead, both
    terms would grow with every fold until their difference held no true digit.
    """
    v, capacity, factor = vector_at(m, 0), int(load(m, CAPACITY)), load(m, SCALE) * shrink
    if load(m, AVERAGED) != 0.0:
        u, total = vector_at(m, 1), load(m, SCALE_SUM)
        for j in range(capacity):
            store(u, j, load(u, j) - total * load(v, j))
        store(m, U_INTERCEPT, load(m, U_INTERCEPT) - total * load(m, V_INTERCEPT))
        store(m, SCALE_SUM, 0.0)
    for j in range(capacity):
        store(v, j, load(v, j) * factor)
    store(m, V_INTERCEPT, load(m, V_INTERCEPT) * factor)
    store(m, SCALE, 1.0)


@inner
def length_of(v: int, capacity: int, intercept: float) -> float:
    """Return the length of v and the intercept together, without overflow."""
    largest = abs(intercept)
    for j in range(capacity):
        largest = max(largest, abs(load(v, j)))
    total = (intercept / largest) ** 2
    for j in range(capacity):
        total += (load(v, j) / largest) ** 2
    return largest * math.sqrt(total)


@inner
def project(m: int) -> None:
    """Project w to the ball, and keep the scale in range."""
    radius, v, capacity = load(m, RADIUS), vector_at(m, 0), int(load(m, CAPACITY))
    if not math.isfinite(load(m, NORM)):
        # The squares overflow although the weights do not.
        norm = load(m, SCALE) * length_of(v, capacity, load(m, V_INTERCEPT))
        store(m, SCALE, load(m, SCALE) * min(1.0, radius / norm))
        store(m, NORM, min(norm, radius) ** 2)
    if load(m, UPDATES) % NORM_REFRESH == NORM_REFRESH - 1.0:
        whole = square(v, capacity) + load(m, V_INTERCEPT) * load(m, V_INTERCEPT)
        store(m, NORM, load(m, SCALE) * load(m, SCALE) * whole)
    if load(m, NORM) > radius * radius:
        store(m, SCALE, load(m, SCALE) * (radius / math.sqrt(load(m, NORM))))
        store(m, NORM, radius * radius)
    if load(m, SCALE) < SMALLEST_SCALE:
        fold_scale(m, 1.0)


@inlined
def current(m: int, row: Row) -> float:
    """Return the current iterate's score."""
    return load(m, SCALE) * (dot(vector_at(m, 0), row) + load(m, V_INTERCEPT))


@inner
def average(m: int, row: Row) -> float:
    """Return the averaged iterate's score: (SCALE_SUM <v, x> - <u, x>) / t."""
    if load(m, STEPS) == 0.0:
        return current(m, row)
    summed = load(m, SCALE_SUM) * (dot(vector_at(m, 0), row) + load(m, V_INTERCEPT))
    return (summed - (dot(vector_at(m, 1), row) + load(m, U_INTERCEPT))) / load(m, STEPS)


def unchanged(settings: Settings, arrivals: float, score: float, target: float, own: int, rows: int) -> float:
    """Adapt nothing."""
    return settings[4]


@made_once
def additive(rule: Rule, averaged: bool, projected: bool) -> Program:
    """Return the program of a rule, with or without averaging, with or without a ball to project to."""
    plan, rule_loss = inlined(rule.plan), inner(rule.loss)
    adapts, adapt = rule.adapt is not None, inner(rule.adapt or unchanged)
    needs_norm = rule.needs_norm or projected

    def advance(m: int, score: float, target: float, weight: float, norm: float) -> float:
        shrink, coefficient = plan(settings_of(m), count(m, score, target), score, target, weight, norm)
        if shrink != 1.0:
            if load(m, SCALE) * shrink < SMALLEST_SCALE:
                fold_scale(m, shrink)
            else:
                store(m, SCALE, load(m, SCALE) * shrink)
        if projected:
            along = shrink * shrink * load(m, NORM) + 2.0 * shrink * coefficient * score
            store(m, NORM, along + coefficient * coefficient * norm)
        if coefficient == 0.0:
            return 0.0
        # Most scales stay 1, and the next row waits for the division.
        delta = coefficient if load(m, SCALE) == 1.0 else coefficient / load(m, SCALE)
        store(m, UPDATES, load(m, UPDATES) + 1.0)
        store(m, V_INTERCEPT, load(m, V_INTERCEPT) + load(m, INTERCEPT) * delta)
        return delta

    advance = inlined(advance)

    def replay(m: int, row: Row, score: float, target: float, weight: float) -> None:
        norm = square_of(row) + load(m, INTERCEPT) if needs_norm else 0.0
        delta = advance(m, score, target, weight, norm)
        if delta != 0.0:
            add(vector_at(m, 0), row, delta)
            if averaged:
                correction = load(m, SCALE_SUM) * delta
                store(m, U_INTERCEPT, load(m, U_INTERCEPT) + load(m, INTERCEPT) * correction)
                add(vector_at(m, 1), row, correction)
        if projected:
            project(m)
        if averaged:
            store(m, SCALE_SUM, load(m, SCALE_SUM) + load(m, SCALE))
        if adapts:
            store(m, REPLAYED, load(m, REPLAYED) + 1.0)

    replay = inlined(replay)

    def step(m: int, row: Row, score: float, target: float, weight: float) -> None:
        replay(m, row, score, target, weight)
        if adapts:
            replayed = load(m, REPLAYED) - 1.0
            store(m, REPLAYED, replayed)
            # Of hashed features older memories have the columns where replays are counted.
            arrivals = max(1.0, load(m, STEPS) - replayed)
            own = m + 8 * (HEADER + 3 * int(load(m, CAPACITY)))
            store(m, ADAPTED, adapt(settings_of(m), arrivals, score, target, own, int(load(m, OWN))))

    def loss(m: int, score: float, target: float) -> float:
        return rule_loss(settings_of(m), score, target)

    steady = rule.limit is not None and not (averaged or projected or adapts or needs_norm)
    return Program(
        rule.name,
        average if averaged else current,
        inlined(step) if adapts else replay,
        inner(loss),
        current if averaged else None,
        limit=limit_of(rule) if steady else None,
        advance=advance if steady else None,
        replay=replay if adapts else None,
        code=rule.code,
        origin=(additive, (rule, averaged, projected)),
    )


def no_limit(settings: Settings) -> float:
    """Stand in for a rule that changes something on every row."""
    return math.inf


def limit_of(rule: Rule) -> Any:
    """Return the limit of a rule as a function of the memory."""
    rule_limit = inner(rule.limit or no_limit)

    def limit(m: int) -> float:
        return rule_limit(settings_of(m))

    return inner(limit)
