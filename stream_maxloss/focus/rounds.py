"""The rounds of the game around one of our own learners, inside a kernel."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.focus.arrays import (
    ABSOLUTE_ERROR,
    HIGH,
    LOSS,
    LOW,
    MEAN,
    PROBABILITY,
    REPLAYS,
    SCALE,
    SEEN,
    SQUARES,
    ZERO_ONE,
    GameArrays,
)
from stream_maxloss.focus.native_window import WindowArrays
from stream_maxloss.focus.player import SIZE, player_draw, player_update
from stream_maxloss.focus.slack import KIND, slack_of, slack_step
from stream_maxloss.focus.snapshots import COUNT, snapshot_place
from stream_maxloss.linear.compiled import compiled, inner
from stream_maxloss.linear.kernels import (
    adapt,
    commit,
    count,
    finish,
    learn_dense,
    learn_sparse,
    plan,
)
from stream_maxloss.linear.memory import (
    AVERAGED,
    INTERCEPT,
    LLM,
    NEEDS_NORM,
    RULE,
    SCALE_SUM,
    STEPS,
    UPDATES,
    V_INTERCEPT,
    WARMUP,
    WINNOW,
    Floats,
)
from stream_maxloss.linear.memory import SCALE as WEIGHT_SCALE
from stream_maxloss.linear.passes import split
from stream_maxloss.linear.rules import game_loss, is_steady, logistic, margin_of, steady_step
from stream_maxloss.linear.scoring import (
    OVERFLOW,
    combine,
    dot_packed,
    dot_stored,
    fault,
    score_dense,
    score_sparse,
    square_dense,
    square_sparse,
)

__all__ = ["current_score", "loss_seen", "play_round", "replay", "replay_plain", "widen_spread"]


@inner
def widen_spread(spread: Floats, target: float) -> None:
    """Count a target into the running mean and the sum of squared deviations."""
    spread[SEEN] += 1.0
    deviation = target - spread[MEAN]
    spread[MEAN] += deviation / spread[SEEN]
    spread[SQUARES] += deviation * (target - spread[MEAN])


@inner
def keep_copy(copies: Floats, place: int, memory: Floats) -> None:
    """Keep the learner as it is; number by number, since to assign a row would compile an error's text for 3 s."""
    for k in range(memory.shape[0]):
        copies[place, k] = memory[k]


@compiled
def loss_seen(setup: Floats, spread: Floats, h: Floats, score: float, target: float) -> float:
    """Give the loss in [0, 1] that the game sees on a row with this score."""
    kind = setup[LOSS]
    if kind == ZERO_ONE:
        return 1.0 if (score >= 0.0) != (target > 0.0) else 0.0
    if kind == PROBABILITY:
        return logistic(target * score)
    if kind == ABSOLUTE_ERROR:
        error = abs(min(max(score, setup[LOW]), setup[HIGH]) - target)
        scale = setup[SCALE] if setup[SCALE] > 0.0 else math.sqrt(spread[SQUARES] / spread[SEEN])
        if scale > 0.0:
            return min(1.0, error / scale)
        return 1.0 if error > 0.0 else 0.0
    return game_loss(h, score, target)


@compiled
def current_score(h: Floats, v: Floats, u: Floats, window: WindowArrays, slot: int) -> float:
    """Score a row of the window with the current iterate w_t, which is what the game is played against."""
    # Not as the 32 bits that it is stored in: every kernel would be compiled twice.
    length = np.int64(window.lengths[slot])
    if window.matrix.shape[1] > 0:
        if h[RULE] < WINNOW:
            return combine(h, dot_stored(v, window.matrix, slot, length))
        return score_dense(h, v, u, window.matrix, slot, length)
    first = window.first[slot]
    if h[RULE] < WINNOW:
        return combine(h, dot_packed(v, window.columns, first, window.values, first, length))
    return score_sparse(h, v, u, window.columns, first, window.values, first, length)


@inner
def learn_again(memory: Floats, h: Floats, v: Floats, u: Floats, window: WindowArrays, slot: int) -> None:
    """Let the learner learn a row of the window."""
    length, target, weight = np.int64(window.lengths[slot]), window.targets[slot], window.weights[slot]
    if window.matrix.shape[1] > 0:
        learn_dense(memory, h, v, u, window.matrix, slot, length, target, weight)
    else:
        first = window.first[slot]
        learn_sparse(memory, h, v, u, window.columns, first, window.values, first, length, target, weight)


@inner
def play_round(memory: Floats, h: Floats, v: Floats, u: Floats, game: GameArrays, window: WindowArrays) -> bool:
    """Replay one row with a multiplicative rule; give False if the learner has diverged on it."""
    slot, probability = player_draw(game.nodes, game.starts, game.game, game.generator)
    if game.plan[COUNT] > 0.0:
        place = snapshot_place(game.plan, game.plan_generator)
        if place >= 0:
            keep_copy(game.copies, place, memory)
    score = current_score(h, v, u, window, slot)
    if not math.isfinite(score):
        return False
    loss = loss_seen(game.setup, game.spread, h, score, window.targets[slot])
    learn_again(memory, h, v, u, window, slot)
    if game.book[KIND] != 0.0:
        loss -= slack_of(game.book, game.slack, slot)
        slack_step(game.book, game.slack, game.heap, game.where, slot)
    player_update(game.nodes, game.starts, game.game, slot, probability, loss)
    game.replayed[slot] += 1
    return True


@inner
def replay(memory: Floats, game: GameArrays, window: WindowArrays) -> int:
    """Play the rounds that follow an arrival; give 0 or a fault."""
    rounds = int(game.setup[REPLAYS])
    if game.game[SIZE] == 0.0 or rounds == 0:
        return 0
    h, _, v, u = split(memory)
    if h[RULE] >= WINNOW:
        for _ in range(rounds):
            if not play_round(memory, h, v, u, game, window):
                return fault(OVERFLOW, 0)
        return 0
    finite = replay_plain(
        memory,
        rounds,
        game.nodes,
        game.starts,
        game.game,
        game.generator,
        game.book,
        game.slack,
        game.heap,
        game.where,
        game.plan,
        game.plan_generator,
        game.copies,
        game.replayed,
        game.setup,
        game.spread,
        window.matrix,
        window.columns,
        window.values,
        window.first,
        window.lengths,
        window.targets,
        window.weights,
    )
    return 0 if finite else fault(OVERFLOW, 0)


@inner
def replay_plain(
    memory: Floats,
    rounds: int,
    nodes: Floats,
    starts: NDArray[np.int64],
    game: Floats,
    generator: NDArray[np.uint64],
    book: Floats,
    slack: Floats,
    heap: NDArray[np.int32],
    where: NDArray[np.int32],
    schedule: Floats,
    schedule_generator: NDArray[np.uint64],
    copies: Floats,
    replayed: NDArray[np.int32],
    setup: Floats,
    spread: Floats,
    matrix: Floats,
    columns: NDArray[np.int32],
    values: Floats,
    firsts: NDArray[np.int64],
    lengths: NDArray[np.int32],
    targets: Floats,
    weights: Floats,
) -> bool:
    """Play rounds with an additive rule; give False if the learner has diverged.

    It is `play_round` and the learner's step written out, as in `linear.passes.run_plain`: handing arrays to functions
    that are not merged into one costs three times as much as the round itself.
    """
    h, _, v, u = split(memory)
    dense = matrix.shape[1] > 0
    steady, limit = is_steady(h), margin_of(h)
    for _ in range(rounds):
        slot, probability = player_draw(nodes, starts, game, generator)
        length = np.int64(lengths[slot])
        first = 0 if dense else firsts[slot]
        if schedule[COUNT] > 0.0:
            place = snapshot_place(schedule, schedule_generator)
            if place >= 0:
                keep_copy(copies, place, memory)
        norm = 0.0
        if dense:
            total = dot_stored(v, matrix, slot, length)
            if h[NEEDS_NORM] != 0.0:
                norm = square_dense(matrix, slot, length) + h[INTERCEPT]
        else:
            total = dot_packed(v, columns, first, values, first, length)
            if h[NEEDS_NORM] != 0.0:
                norm = square_sparse(values, first, length) + h[INTERCEPT]
        score = combine(h, total)
        if not math.isfinite(score):
            return False
        target = targets[slot]
        loss = loss_seen(setup, spread, h, score, target)
        count(h, score, target)
        if steady:
            # `plan`, `commit` and `finish` for the rules that only ever add.
            coefficient = steady_step(h, h[STEPS], target, weights[slot]) if target * score <= limit else 0.0
            delta = coefficient / h[WEIGHT_SCALE]
            if coefficient != 0.0:
                h[UPDATES] += 1.0
                h[V_INTERCEPT] += h[INTERCEPT] * delta
        else:
            shrink, coefficient = plan(h, score, target, weights[slot], norm)
            delta = commit(h, shrink, coefficient, score, norm)
        if coefficient != 0.0:
            correction = h[SCALE_SUM] * delta if h[AVERAGED] != 0.0 else 0.0
            if dense:
                for j in range(length):
                    v[j] += delta * matrix[slot, j]
                if correction != 0.0:
                    for j in range(length):
                        u[j] += correction * matrix[slot, j]
            else:
                for k in range(first, first + length):
                    v[columns[k]] += delta * values[k]
                    if correction != 0.0:
                        u[columns[k]] += correction * values[k]
        if not steady:
            finish(h, v)
            if h[RULE] == LLM or h[WARMUP] > 0.0:
                adapt(memory, h, score, target)
        if book[KIND] != 0.0:
            loss -= slack_of(book, slack, slot)
            slack_step(book, slack, heap, where, slot)
        player_update(nodes, starts, game, slot, probability, loss)
        replayed[slot] += 1
    return True
