"""The common case at full speed: whole dense rows, a rule that only ever adds, and the game of the paper.

`learn_steady` does what `kernels.learn_batch` does, to the bit, for a Perceptron or HingeOGD that is neither averaged
nor projected, without slack, snapshots or fixed share. What the general kernel asks in each round is settled here
before the batch, and what it reads from arrays in each round stays in registers: a round takes half the time,
and the kernel a fraction of the time to compile.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.focus.arrays import LOSS, PROBABILITY, REPLAYS, ZERO_ONE, GameArrays
from stream_maxloss.focus.game import Game
from stream_maxloss.focus.native_window import WindowArrays
from stream_maxloss.focus.player import ETA, GAMMA, ROUNDS, SIZE, player_admit
from stream_maxloss.focus.rounds import widen_spread
from stream_maxloss.focus.snapshots import COUNT
from stream_maxloss.focus.sum_tree import (
    RESCALE_ABOVE,
    RESCALE_BELOW,
    SMALLEST_WEIGHT,
    tree_find,
    tree_rescale,
    tree_set,
)
from stream_maxloss.linear.compiled import compiled, inner
from stream_maxloss.linear.kernels import count
from stream_maxloss.linear.memory import (
    AVERAGED,
    FIRST,
    FOURTH,
    HINGE,
    INTERCEPT,
    MISTAKES,
    PERCEPTRON,
    RADIUS,
    RULE,
    SCALE,
    SEEN,
    STEPS,
    UPDATES,
    V_INTERCEPT,
    Floats,
)
from stream_maxloss.linear.passes import split
from stream_maxloss.linear.rules import logistic, margin_of, steady_coefficient, steady_step
from stream_maxloss.linear.scoring import OVERFLOW, clean, combine, dot_dense, dot_stored, fault
from stream_maxloss.random import next_below, next_uniform
from stream_maxloss.rows import Rows
from stream_maxloss.rows.vectors import prefetch

__all__ = ["is_steady_case", "learn_steady", "steady_arrays"]


def is_steady_case(memory: Floats, game: Game, window: WindowArrays, rows: Rows) -> bool:
    """Tell whether `learn_steady` may learn these rows: if nothing asks for more and none of their values is absent."""
    return bool(
        rows.indptr is None
        and rows.prefix
        and window.matrix.shape[1] > 0
        and memory[RULE] in (PERCEPTRON, HINGE)
        and memory[AVERAGED] == memory[RADIUS] == 0.0
        and not game.slack.active
        and game.schedule.plan[COUNT] == 0.0
        and game.player.is_plain
        and is_whole(rows.values)
    )


def is_whole(values: Floats) -> bool:
    """Tell whether no value is absent; a finite sum tells it in one pass."""
    with np.errstate(over="ignore", invalid="ignore"):
        return math.isfinite(values.sum()) or not bool(np.isnan(values).any())


def steady_arrays(game: GameArrays, window: WindowArrays) -> tuple[NDArray[Any], ...]:
    """Give the arrays of game and window as `learn_steady` takes them: out of bundles a round costs a fifth more."""
    return (
        game.nodes,
        game.starts,
        game.game,
        game.generator,
        game.arrived,
        game.replayed,
        game.setup,
        game.spread,
        window.matrix,
        window.lengths,
        window.targets,
        window.weights,
    )


@inner
def steady_loss(kind: float, rule: float, limit: float, score: float, target: float) -> float:
    """Give what `rounds.loss_seen` gives, from numbers alone."""
    if kind == PROBABILITY:
        return logistic(target * score)
    if kind == ZERO_ONE or rule == PERCEPTRON:
        return 1.0 if (score >= 0.0) != (target > 0.0) else 0.0
    return min(1.0, max(0.0, 1.0 - target * score / limit))


@inner
def replay_steady(
    h: Floats,
    v: Floats,
    rounds: int,
    nodes: Floats,
    starts: NDArray[np.int64],
    game: Floats,
    generator: NDArray[np.uint64],
    kind: float,
    replayed: NDArray[np.int32],
    matrix: Floats,
    lengths: NDArray[np.int32],
    targets: Floats,
    weights: Floats,
    drawn: NDArray[np.int64],
    points: Floats,
) -> bool:
    """Play the rounds that follow an arrival, as `rounds.replay_plain`; give False if the learner has diverged."""
    rule, scale, has_intercept, limit = h[RULE], h[SCALE], h[INTERCEPT], margin_of(h)
    rate, decays = h[FIRST], h[FOURTH]
    intercept, steps, mistakes, updates = h[V_INTERCEPT], h[STEPS], h[MISTAKES], h[UPDATES]
    gamma, size, root = game[GAMMA], game[SIZE], starts[-1] - 1
    even, rest, slots = gamma / size, 1.0 - gamma, np.int64(size)
    eta = game[ETA] if game[ETA] > 0.0 else 0.5 / size
    # First what does not depend on the weights: the slots of even draws, and for the others -1 and a point in [0, 1).
    # The rows known by that are asked for: they lie in the third-level cache, or beyond if others share it.
    stride = 8 * matrix.shape[1]
    for k in range(rounds):
        if next_uniform(generator) >= gamma:
            drawn[k], points[k] = -1, next_uniform(generator)
            continue
        drawn[k] = next_below(generator, slots)
        first = matrix.ctypes.data + drawn[k] * stride
        for line in range(first, first + stride, 64):
            prefetch(line)
        prefetch(targets.ctypes.data + 8 * drawn[k])
        prefetch(nodes.ctypes.data + 8 * drawn[k])
    finite = True
    for k in range(rounds):
        total, slot = nodes[root], drawn[k]
        if slot < 0:
            slot = tree_find(nodes, starts, points[k] * total)
        length = np.int64(lengths[slot])
        score = scale * (dot_stored(v, matrix, slot, length) + intercept)
        if not math.isfinite(score):
            finite = False
            break
        target = targets[slot]
        steps += 1.0
        if (score >= 0.0) != (target > 0.0):
            mistakes += 1.0
        loss = steady_loss(kind, rule, limit, score, target)
        delta = 0.0
        if target * score <= limit:
            delta = steady_coefficient(rule, rate, decays, limit, steps, target, weights[slot]) / scale
        if delta != 0.0:
            updates += 1.0
            intercept += has_intercept * delta
            for j in range(length):
                v[j] += delta * matrix[slot, j]
        replayed[slot] += 1
        if loss != 0.0:
            weight = nodes[slot]
            factor = np.exp(eta * loss / (even + rest * weight / total))
            tree_set(nodes, starts, slot, max(weight * factor, SMALLEST_WEIGHT))
            if nodes[root] > RESCALE_ABOVE or nodes[root] < RESCALE_BELOW:
                tree_rescale(nodes, starts)
        game[ROUNDS] += 1.0
    h[V_INTERCEPT], h[STEPS], h[MISTAKES], h[UPDATES] = intercept, steps, mistakes, updates
    return finite


@compiled
def learn_steady(
    memory: Floats,
    nodes: Floats,
    starts: NDArray[np.int64],
    game: Floats,
    generator: NDArray[np.uint64],
    arrived: NDArray[np.int64],
    replayed: NDArray[np.int32],
    setup: Floats,
    spread: Floats,
    kept: Floats,
    lengths: NDArray[np.int32],
    kept_targets: Floats,
    kept_weights: Floats,
    matrix: Floats,
    shown: Floats,
    slots: NDArray[np.int64],
    arrivals: int,
    targets: Floats,
    weights: Floats,
    scores: Floats,
) -> tuple[int, int]:
    """Score, learn, admit and replay, row after row; arguments and result are those of `kernels.learn_batch`.

    Game and window come as `steady_arrays`. No value of `matrix`, which is learned, or of `shown`, which is scored
    before, may be absent.
    """
    h, _, v, _ = split(memory)
    width, rounds, kind, limit = matrix.shape[1], int(setup[REPLAYS]), setup[LOSS], margin_of(h)
    drawn, points = np.empty(rounds, dtype=np.int64), np.empty(rounds)
    is_shown = matrix.ctypes.data == shown.ctypes.data
    for i in range(targets.shape[0]):
        target, weight, slot = targets[i], weights[i], slots[i]
        shown_score = combine(h, dot_dense(v, shown, i, width))
        if not math.isfinite(shown_score):
            status = clean(shown[i], width)
            return i, status if status != 0 else fault(OVERFLOW, 0)
        scores[i] = shown_score
        score = shown_score if is_shown else combine(h, dot_dense(v, matrix, i, width))
        if not math.isfinite(score):
            status = clean(matrix[i], width)
            return i, status if status != 0 else fault(OVERFLOW, 0)
        h[SEEN] = max(h[SEEN], float(width))
        count(h, score, target)
        delta = 0.0
        if target * score <= limit:
            delta = steady_step(h, h[STEPS], target, weight) / h[SCALE]
        if delta != 0.0:
            h[UPDATES] += 1.0
            h[V_INTERCEPT] += h[INTERCEPT] * delta
            for j in range(width):
                v[j] += delta * matrix[i, j]
        widen_spread(spread, target)
        if slot >= 0:
            for j in range(width):
                kept[slot, j] = matrix[i, j]
            for j in range(width, kept.shape[1]):
                kept[slot, j] = 0.0
            lengths[slot] = width
            player_admit(nodes, starts, game, slot)
            arrived[slot] = arrivals + i + 1
            replayed[slot] = 0
            kept_targets[slot] = target
            kept_weights[slot] = weight
        if rounds > 0 and game[SIZE] > 0.0:
            finite = replay_steady(
                h,
                v,
                rounds,
                nodes,
                starts,
                game,
                generator,
                kind,
                replayed,
                kept,
                lengths,
                kept_targets,
                kept_weights,
                drawn,
                points,
            )
            if not finite:
                return i, fault(OVERFLOW, 0)
    return -1, 0
