"""Arrival and replays of our own learners, whole batches inside one kernel.

`learn_batch` is the entry for many rows, `replay_row` for one that was already learned; both end in `play_round`, so
the two speeds play the same game with the same draws.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from stream_maxloss.focus.native_window import WindowArrays, put_dense, put_entries
from stream_maxloss.focus.player import SIZE, player_admit, player_draw, player_update
from stream_maxloss.focus.slack import KIND, slack_of, slack_release, slack_step
from stream_maxloss.focus.snapshots import COUNT, STORED, snapshot_place
from stream_maxloss.linear.kernels import learn_dense, learn_sparse, present_columns, step_dense, step_sparse
from stream_maxloss.linear.memory import RULE, WINNOW, Floats
from stream_maxloss.linear.passes import run_csr, run_dense, run_matrix, split
from stream_maxloss.linear.rules import game_loss, logistic
from stream_maxloss.linear.scoring import (
    OVERFLOW,
    combine,
    dot_dense,
    dot_sparse,
    fault,
    score_dense,
    score_sparse,
)

__all__ = ["GameArrays", "RowArrays", "learn_batch", "output_score", "replay_row"]

# Which loss the game sees.
SURROGATE, ZERO_ONE, PROBABILITY, ABSOLUTE_ERROR = range(4)
# How snapshots are put together.
LAST, AVERAGE, MAJORITY = range(3)
# The form of a batch: a matrix of the first columns, a matrix of other columns, or sparse rows.
PREFIX, MATRIX, SPARSE = range(3)
# What `setup` holds.
REPLAYS, LOSS, OUTPUT, SCALE, LOW, HIGH = range(6)
# What is known of the targets of a regressor.
SEEN, MEAN, SQUARES = range(3)


class GameArrays(NamedTuple):
    """The arrays of a `Game`, as kernels take them, with the snapshots (one learner's memory a row)."""

    nodes: NDArray[np.float64]
    starts: NDArray[np.int64]
    game: NDArray[np.float64]
    generator: NDArray[np.uint64]
    book: NDArray[np.float64]
    slack: NDArray[np.float64]
    heap: NDArray[np.int32]
    where: NDArray[np.int32]
    plan: NDArray[np.float64]
    plan_generator: NDArray[np.uint64]
    copies: NDArray[np.float64]
    arrived: NDArray[np.int64]
    replayed: NDArray[np.int32]
    setup: NDArray[np.float64]
    spread: NDArray[np.float64]


class RowArrays(NamedTuple):
    """A batch as kernels take it: `matrix` with its `columns`, or `values` with `columns` and `indptr`."""

    form: int
    matrix: NDArray[np.float64]
    columns: NDArray[np.int64]
    values: NDArray[np.float64]
    indptr: NDArray[np.int64]


@njit(cache=True)
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


@njit(cache=True)
def current_score(h: Floats, v: Floats, u: Floats, window: WindowArrays, slot: int) -> float:
    """Score a row of the window with the current iterate w_t, which is what the game is played against."""
    length = window.lengths[slot]
    if window.matrix.shape[1] > 0:
        x = window.matrix[slot]
        return combine(h, dot_dense(v, x, length)) if h[RULE] < WINNOW else score_dense(h, v, u, x, length)
    first = window.first[slot]
    columns, x = window.columns[first : first + length], window.values[first : first + length]
    return (
        combine(h, dot_sparse(v, columns, x, length)) if h[RULE] < WINNOW else score_sparse(h, v, u, columns, x, length)
    )


@njit(cache=True)
def step_on(memory: Floats, h: Floats, v: Floats, u: Floats, window: WindowArrays, slot: int, score: float) -> None:
    """Let the learner take its step on a row of the window."""
    length, target, weight = window.lengths[slot], window.targets[slot], window.weights[slot]
    if window.matrix.shape[1] > 0:
        x = window.matrix[slot]
        if h[RULE] < WINNOW:
            step_dense(memory, h, v, u, x, length, target, weight, score)
        else:
            learn_dense(memory, h, v, u, x, length, target, weight)
        return
    first = window.first[slot]
    columns, x = window.columns[first : first + length], window.values[first : first + length]
    if h[RULE] < WINNOW:
        step_sparse(memory, h, v, u, columns, x, length, target, weight, score)
    else:
        learn_sparse(memory, h, v, u, columns, x, length, target, weight)


@njit(cache=True)
def play_round(memory: Floats, h: Floats, v: Floats, u: Floats, game: GameArrays, window: WindowArrays) -> bool:
    """Replay one row; give False if the learner has diverged on it."""
    slot, probability = player_draw(game.nodes, game.starts, game.game, game.generator)
    if game.plan[COUNT] > 0.0:
        place = snapshot_place(game.plan, game.plan_generator)
        if place >= 0:
            game.copies[place, :] = memory
    score = current_score(h, v, u, window, slot)
    if not math.isfinite(score):
        return False
    loss = loss_seen(game.setup, game.spread, h, score, window.targets[slot])
    step_on(memory, h, v, u, window, slot, score)
    if game.book[KIND] != 0.0:
        loss -= slack_of(game.book, game.slack, slot)
        slack_step(game.book, game.slack, game.heap, game.where, slot)
    player_update(game.nodes, game.starts, game.game, slot, probability, loss)
    game.replayed[slot] += 1
    return True


@njit(cache=True)
def enter(game: GameArrays, window: WindowArrays, slot: int, arrival: int, target: float, weight: float) -> None:
    """Start a row in its slot."""
    slack_release(game.book, game.slack, game.heap, game.where, slot)
    player_admit(game.nodes, game.starts, game.game, slot)
    game.arrived[slot] = arrival
    game.replayed[slot] = 0
    window.targets[slot] = target
    window.weights[slot] = weight


@njit(cache=True)
def widen_spread(spread: Floats, target: float) -> None:
    """Count a target into the running mean and the sum of squared deviations."""
    spread[SEEN] += 1.0
    deviation = target - spread[MEAN]
    spread[MEAN] += deviation / spread[SEEN]
    spread[SQUARES] += deviation * (target - spread[MEAN])


@njit(cache=True)
def replay(memory: Floats, game: GameArrays, window: WindowArrays) -> int:
    """Play the rounds that follow an arrival; give 0 or a fault."""
    h, _, v, u = split(memory)
    if game.game[SIZE] == 0.0:
        return 0
    for _ in range(int(game.setup[REPLAYS])):
        if not play_round(memory, h, v, u, game, window):
            return fault(OVERFLOW, 0)
    return 0


@njit(cache=True)
def replay_row(
    memory: Floats,
    game: GameArrays,
    window: WindowArrays,
    slot: int,
    arrival: int,
    columns: NDArray[np.int64],
    x: Floats,
    prefix: bool,
    target: float,
    weight: float,
) -> int:
    """Let one row that was just learned enter, then replay; give 0 or a fault."""
    widen_spread(game.spread, target)
    if slot >= 0:
        enter(game, window, slot, arrival, target, weight)
        if prefix:
            put_dense(window, slot, x, x.shape[0])
        else:
            put_entries(window, slot, columns, x)
    return replay(memory, game, window)


@njit(cache=True)
def output_score(game: GameArrays, columns: NDArray[np.int64], x: Floats, prefix: bool) -> float:
    """Give the score that the snapshots make together: their mean, or the balance of their votes in [-1, 1]."""
    stored = int(game.plan[STORED])
    total = 0.0
    for place in range(stored):
        h, _, v, u = split(game.copies[place])
        one = score_dense(h, v, u, x, x.shape[0]) if prefix else score_sparse(h, v, u, columns, x, x.shape[0])
        total += one if game.setup[OUTPUT] == AVERAGE else (1.0 if one >= 0.0 else -1.0)
    return total / stored


@njit(cache=True)
def learn_arrival(memory: Floats, rows: RowArrays, i: int, targets: Floats, weights: Floats, scores: Floats) -> int:
    """Score, then learn, one row of a batch; give 0 or a fault."""
    here = slice(i, i + 1)
    if rows.form == PREFIX:
        return run_dense(memory, rows.matrix[here], targets[here], weights[here], scores[here], True)[1]
    if rows.form == MATRIX:
        return run_matrix(memory, rows.columns, rows.matrix[here], targets[here], weights[here], scores[here], True)[1]
    bounds = rows.indptr[i : i + 2]
    return run_csr(memory, bounds, rows.columns, rows.values, targets[here], weights[here], scores[here], True)[1]


@njit(cache=True)
def learn_batch(
    memory: Floats,
    game: GameArrays,
    window: WindowArrays,
    rows: RowArrays,
    slots: NDArray[np.int64],
    arrivals: int,
    targets: Floats,
    weights: Floats,
    scores: Floats,
) -> tuple[int, int]:
    """Score, learn, admit and replay, row after row.

    Parameters
    ----------
    memory
        The learner's memory.
    game, window, rows
        See `GameArrays`, `WindowArrays`, `RowArrays`. The window must have room for all the rows.
    slots
        The slot that each row takes, or -1, as the gate settled them.
    arrivals
        Number of rows that came before this batch.
    targets, weights
        Signs (or targets) and sample weights of the rows.
    scores
        Filled with the score that each row had before it was learned: the learner's, or the snapshots'.

    Returns
    -------
    tuple
        (-1, 0) if all went well, else the row that was refused and why; the rows before it have been learned.

    """
    for i in range(len(targets)):
        if rows.form == SPARSE:
            part = slice(rows.indptr[i], rows.indptr[i + 1])
            columns, x = rows.columns[part], rows.values[part]
        else:
            columns, x = rows.columns, rows.matrix[i]
        # Learning may turn absent values of the row into zeros, so look before it where the last present one is.
        present = present_columns(x, x.shape[0])
        output = math.nan
        if game.plan[STORED] > 0.0:
            output = output_score(game, columns, np.where(np.isnan(x), 0.0, x), rows.form == PREFIX)
        status = learn_arrival(memory, rows, i, targets, weights, scores)
        if status != 0:
            return i, status
        if not math.isnan(output):
            scores[i] = output
        if slots[i] >= 0:
            if rows.form == PREFIX:
                put_dense(window, slots[i], x, present)
            else:
                put_entries(window, slots[i], columns[:present], x[:present])
        widen_spread(game.spread, targets[i])
        if slots[i] >= 0:
            enter(game, window, slots[i], arrivals + i + 1, targets[i], weights[i])
        status = replay(memory, game, window)
        if status != 0:
            return i, status
    return -1, 0


@njit(cache=True)
def score_snapshots(game: GameArrays, rows: RowArrays, nothing: Floats, scores: Floats) -> tuple[int, int]:
    """Score rows with the snapshots without learning; give (-1, 0) or the row that was refused and why."""
    stored = int(game.plan[STORED])
    one = np.empty_like(scores)
    scores[:] = 0.0
    for place in range(stored):
        snapshot = game.copies[place]
        if rows.form == PREFIX:
            row, status = run_dense(snapshot, rows.matrix, nothing, nothing, one, False)
        elif rows.form == MATRIX:
            row, status = run_matrix(snapshot, rows.columns, rows.matrix, nothing, nothing, one, False)
        else:
            row, status = run_csr(snapshot, rows.indptr, rows.columns, rows.values, nothing, nothing, one, False)
        if status != 0:
            return row, status
        for i in range(len(scores)):
            scores[i] += one[i] if game.setup[OUTPUT] == AVERAGE else (1.0 if one[i] >= 0.0 else -1.0)
    scores /= stored
    return -1, 0
