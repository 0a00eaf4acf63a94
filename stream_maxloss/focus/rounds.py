"""The rounds of the game around a native learner, written once and closed over what is played."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stream_maxloss.focus.arena import Arena
from stream_maxloss.focus.arrays import (
    ABSOLUTE_ERROR,
    CHUNK,
    COPIES,
    COPY,
    DRAWN,
    HIGH,
    LOW,
    MEAN,
    POINTS,
    PROBABILITY,
    REPLAYED,
    SCALE,
    SEEN,
    SETUP,
    SPREAD,
    SQUARES,
    ZERO_ONE,
)
from stream_maxloss.focus.native_window import TARGETS, WEIGHTS, stored_row
from stream_maxloss.focus.player import ETA, GAMMA, ROUNDS, SIZE, make_update, player_draw
from stream_maxloss.focus.policy import Policy
from stream_maxloss.focus.slack import loss_left, slack_of, slack_step
from stream_maxloss.focus.slices import make_slice_update, slice_find
from stream_maxloss.focus.snapshots import snapshot_place
from stream_maxloss.focus.sum_tree import (
    RESCALE_ABOVE,
    RESCALE_BELOW,
    SMALLEST_WEIGHT,
    tree_find,
    tree_rescale,
    tree_set,
)
from stream_maxloss.linear.logistic import logistic
from stream_maxloss.linear.memory import CAPACITY, HEADER, ROW_LENGTH
from stream_maxloss.linear.passes import RowKernels, inner_kernels
from stream_maxloss.linear.program import Program
from stream_maxloss.machine.compiled import inner, made_once
from stream_maxloss.machine.pointers import load, load_integer, load_short, store, store_integer, store_short
from stream_maxloss.machine.vectors import prefetch
from stream_maxloss.random import next_below, next_uniform

__all__ = ["Play", "make_loss", "make_replay", "widen_spread"]


@dataclass(frozen=True)
class Play:
    """What is settled before a kernel of the game is compiled: the learner's program, the loss, and what is at work.

    Parameters
    ----------
    kernels
        The learner's.
    loss, output
        Codes from `arrays`.
    seen, stride, raised
        The functions of the policy.
    has_slack, has_share, has_snapshots, has_slices, is_hard
        Whether slack, fixed share, snapshots and weights over slices are at work, and slack is hard; what is not costs
        nothing, not even to compile.

    """

    kernels: type[RowKernels]
    loss: int
    output: int
    seen: Callable[..., float]
    stride: Callable[..., float]
    raised: Callable[..., float]
    has_slack: bool
    has_share: bool
    has_snapshots: bool
    has_slices: bool = False
    is_hard: bool = False

    @property
    def program(self) -> Program:
        """The learner's program."""
        return self.kernels.program


@inner
def widen_spread(spread: int, target: float) -> None:
    """Count a target into the running mean and the sum of squared deviations."""
    seen = load(spread, SEEN) + 1.0
    store(spread, SEEN, seen)
    deviation = target - load(spread, MEAN)
    store(spread, MEAN, load(spread, MEAN) + deviation / seen)
    store(spread, SQUARES, load(spread, SQUARES) + deviation * (target - load(spread, MEAN)))


def wrong_sign(m: int, t: int, score: float, target: float) -> float:
    """Return 1 for a wrong label."""
    return 1.0 if (score >= 0.0) != (target > 0.0) else 0.0


def error_probability(m: int, t: int, score: float, target: float) -> float:
    """Return the logistic probability of the other label."""
    return logistic(target * score)


def share_of_scale(m: int, t: int, score: float, target: float) -> float:
    """Return the error of a regressor's clipped prediction as a share of the scale: as set, or the targets' own."""
    setup, spread = load_integer(t, SETUP), load_integer(t, SPREAD)
    error = abs(min(max(score, load(setup, LOW)), load(setup, HIGH)) - target)
    scale = load(setup, SCALE)
    if scale <= 0.0:
        scale = math.sqrt(load(spread, SQUARES) / load(spread, SEEN))
    if scale > 0.0:
        return min(1.0, error / scale)
    return 1.0 if error > 0.0 else 0.0


def wrong_class(m: int, t: int, shown: Any, target: float) -> float:
    """Return 1 if another class is likelier, of a program that has a probability for each."""
    _, said, room = shown
    likeliest = 0
    for c in range(1, room):
        if load(said, c) > load(said, likeliest):
            likeliest = c
    return 0.0 if likeliest == target else 1.0


@made_once
def make_loss(program: Program, kind: int) -> Any:
    """Return loss(m, t, score, target): the loss in [0, 1] that the game sees."""
    if program.scores == 0 and kind == ZERO_ONE:
        return inner(wrong_class)
    known = {ZERO_ONE: wrong_sign, PROBABILITY: error_probability, ABSOLUTE_ERROR: share_of_scale}
    # The own loss of a program with a probability for each class is 1 - p(y).
    if kind in known and program.scores > 0:
        plain = inner(known[kind])
        if program.scores == 1:
            return plain

        def loss_of_first(m: int, t: int, score: Any, target: float) -> float:
            return plain(m, t, score[0], target)

        return inner(loss_of_first)
    own = inner_kernels(program).loss

    def loss(m: int, t: int, score: Any, target: float) -> float:
        return own(m, score, target)

    return inner(loss)


@inner
def draw_ahead(t: int, count: int, game: Any, generator: Any) -> None:
    """Draw what does not depend on weights: the slots of even draws, and for the others -1 and a point in [0, 1).

    The rows known by that are asked for: they lie in the third-level cache, or beyond if others share it.
    """
    drawn, points, targets = load_integer(t, DRAWN), load_integer(t, POINTS), load_integer(t, TARGETS)
    for k in range(count):
        if next_uniform(generator) >= game[GAMMA]:
            store_integer(drawn, k, -1)
            store(points, k, next_uniform(generator))
            continue
        slot = next_below(generator, np.int64(game[SIZE]))
        store_integer(drawn, k, slot)
        _, x, length, _ = stored_row(t, slot)
        for line in range(x, x + 8 * length, 64):
            prefetch(line)
        prefetch(targets + 8 * slot)


@inner
def keep_copy(t: int, place: int, m: int) -> None:
    """Keep the learner as it is, without the row at hand."""
    length, row = load_integer(t, COPY), int(load(m, CAPACITY))
    goal = load_integer(t, COPIES) + 8 * length * place
    for k in range(ROW_LENGTH):
        store(goal, k, load(m, k))
    for k in range(ROW_LENGTH, HEADER + row):
        store(goal, k, 0.0)
    for k in range(HEADER + row, length):
        store(goal, k, load(m, k))


@made_once
def make_raise(raised: Callable[..., float]) -> Any:
    """Return raise_weight(arena, slot, total, exponent): a round of a game without fixed share."""
    raise_one = inner(raised)

    def raise_weight(arena: Arena, slot: int, total: float, exponent: float) -> None:
        nodes, starts = arena.nodes, arena.starts
        weight = nodes[slot]
        weight = raise_one(weight, total - weight, arena.game[SIZE], exponent, arena.settings)
        tree_set(nodes, starts, slot, max(weight, SMALLEST_WEIGHT))
        root = nodes[starts[-1] - 1]
        if root > RESCALE_ABOVE or root < RESCALE_BELOW:
            tree_rescale(nodes, starts)

    return inner(raise_weight)


@made_once
def make_replay(play: Play) -> Callable[..., bool]:
    """Return replay(m, t, rounds, arena): play some rounds; False if the learner has diverged."""
    parts = inner_kernels(play.program)
    current, step, is_finite = parts.current, parts.replay, parts.is_finite
    loss_seen = make_loss(play.program, play.loss)
    seen, stride, raise_weight = inner(play.seen), inner(play.stride), make_raise(play.raised)
    update, corrects = make_update(play.raised), play.stride is not Policy.stride
    has_slack, has_share, has_snapshots = play.has_slack, play.has_share, play.has_snapshots
    has_slices, is_hard, update_slice = play.has_slices, play.is_hard, make_slice_update(play.raised)

    def replay(m: int, t: int, rounds: int, arena: Arena) -> bool:
        nodes, starts, game, settings = arena.nodes, arena.starts, arena.game, arena.settings
        targets, weights, replayed = load_integer(t, TARGETS), load_integer(t, WEIGHTS), load_integer(t, REPLAYED)
        drawn, points, root = load_integer(t, DRAWN), load_integer(t, POINTS), starts[-1] - 1
        gamma, size = game[GAMMA], game[SIZE]
        eta, even = game[ETA] if game[ETA] > 0.0 else 0.5 / size, gamma / size
        for k in range(rounds):
            total, probability = nodes[root], 0.0
            if has_share:
                slot, probability = player_draw(nodes, starts, game, arena.generator)
            else:
                if k % CHUNK == 0:
                    draw_ahead(t, min(CHUNK, rounds - k), game, arena.generator)
                slot = load_integer(drawn, k % CHUNK)
                if slot < 0 and has_slices:
                    slot = slice_find(arena.firsts, arena.order, arena.slice_weights, load(points, k % CHUNK))
                elif slot < 0:
                    slot = tree_find(nodes, starts, load(points, k % CHUNK) * total)
                if corrects:
                    probability = even + (1.0 - gamma) * nodes[slot] / total
            if has_snapshots:
                place = snapshot_place(arena.plan, arena.plan_generator)
                if place >= 0:
                    keep_copy(t, place, m)
            row, target, weight = stored_row(t, slot), load(targets, slot), load(weights, slot)
            score = current(m, row)
            if not is_finite(score):
                return False
            loss = seen(loss_seen(m, t, score, target), settings)
            if not is_hard or slack_of(arena.book, arena.slack, arena.where, slot) == 0.0:
                step(m, row, score, target, weight * stride(size, probability, settings) if corrects else weight)
            if has_slack:
                whole, loss = loss, loss_left(arena.book, arena.slack, arena.where, slot, loss)
                slack_step(arena.book, arena.slack, arena.heap, arena.where, slot, whole)
            if has_share:
                update(nodes, starts, game, settings, slot, probability, loss)
            elif has_slices:
                game[ROUNDS] += 1.0
                update_slice(arena.firsts, arena.slice_of, arena.slice_weights, settings, slot, gamma, eta * loss)
            else:
                game[ROUNDS] += 1.0
                if loss != 0.0:
                    probability = even + (1.0 - gamma) * nodes[slot] / total
                    raise_weight(arena, slot, total, eta * loss / probability)
            store_short(replayed, slot, load_short(replayed, slot) + 1)
        return True

    return inner(replay)
