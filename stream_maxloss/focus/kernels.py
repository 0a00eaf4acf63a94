"""Arrival and replays of our own learners, whole batches inside one kernel.

`learn_batch` is the entry for many rows, `replay_row` for one that was already learned; both end in `play_round`, so
the two speeds play the same game with the same draws.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.focus.native_window import WindowArrays, put_dense, put_entries
from stream_maxloss.focus.player import SIZE, player_admit, player_draw, player_update
from stream_maxloss.focus.slack import KIND, slack_of, slack_release, slack_step
from stream_maxloss.focus.snapshots import COUNT, STORED, snapshot_place
from stream_maxloss.linear.compiled import compiled
from stream_maxloss.linear.kernels import learn_dense, learn_sparse, present_columns, step_dense, step_sparse
from stream_maxloss.linear.memory import RULE, WINNOW, Floats
from stream_maxloss.linear.passes import run_sparse_row, score_cleaned, split
from stream_maxloss.linear.rules import game_loss, logistic
from stream_maxloss.linear.scoring import (
    OVERFLOW,
    clean,
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
    """A batch as kernels take it: `matrix` with its `columns`, or `values` with `columns` and `indptr`.

    `shown` is what a row is scored on before it is learned: `matrix` or `values` themselves, or another array of
    that shape, as for a scaler that sees a row between its prediction and its lesson.
    """

    form: int
    matrix: NDArray[np.float64]
    columns: NDArray[np.int64]
    values: NDArray[np.float64]
    indptr: NDArray[np.int64]
    shown_matrix: NDArray[np.float64]
    shown_values: NDArray[np.float64]


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
    length = window.lengths[slot]
    if window.matrix.shape[1] > 0:
        if h[RULE] < WINNOW:
            return combine(h, dot_dense(v, window.matrix, slot, length))
        return score_dense(h, v, u, window.matrix, slot, length)
    first = window.first[slot]
    if h[RULE] < WINNOW:
        return combine(h, dot_sparse(v, window.columns, first, window.values, first, length))
    return score_sparse(h, v, u, window.columns, first, window.values, first, length)


@compiled
def step_on(memory: Floats, h: Floats, v: Floats, u: Floats, window: WindowArrays, slot: int, score: float) -> None:
    """Let the learner take its step on a row of the window."""
    length, target, weight = window.lengths[slot], window.targets[slot], window.weights[slot]
    if window.matrix.shape[1] > 0:
        if h[RULE] < WINNOW:
            step_dense(memory, h, v, u, window.matrix, slot, length, target, weight, score)
        else:
            learn_dense(memory, h, v, u, window.matrix, slot, length, target, weight)
        return
    first = window.first[slot]
    if h[RULE] < WINNOW:
        step_sparse(memory, h, v, u, window.columns, first, window.values, first, length, target, weight, score)
    else:
        learn_sparse(memory, h, v, u, window.columns, first, window.values, first, length, target, weight)


@compiled
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


@compiled
def enter(game: GameArrays, window: WindowArrays, slot: int, arrival: int, target: float, weight: float) -> None:
    """Start a row in its slot."""
    slack_release(game.book, game.slack, game.heap, game.where, slot)
    player_admit(game.nodes, game.starts, game.game, slot)
    game.arrived[slot] = arrival
    game.replayed[slot] = 0
    window.targets[slot] = target
    window.weights[slot] = weight


@compiled
def widen_spread(spread: Floats, target: float) -> None:
    """Count a target into the running mean and the sum of squared deviations."""
    spread[SEEN] += 1.0
    deviation = target - spread[MEAN]
    spread[MEAN] += deviation / spread[SEEN]
    spread[SQUARES] += deviation * (target - spread[MEAN])


@compiled
def replay(memory: Floats, game: GameArrays, window: WindowArrays) -> int:
    """Play the rounds that follow an arrival; give 0 or a fault."""
    h, _, v, u = split(memory)
    if game.game[SIZE] == 0.0:
        return 0
    for _ in range(int(game.setup[REPLAYS])):
        if not play_round(memory, h, v, u, game, window):
            return fault(OVERFLOW, 0)
    return 0


@compiled
def replay_row(
    memory: Floats,
    game: GameArrays,
    window: WindowArrays,
    slot: int,
    arrival: int,
    columns: NDArray[np.int64],
    row: Floats,
    length: int,
    target: float,
    weight: float,
) -> int:
    """Let one row that was just learned enter, then replay; give 0 or a fault.

    The row is the first `length` values of `row`, in the first columns if `columns` is empty.
    """
    widen_spread(game.spread, target)
    if slot >= 0:
        enter(game, window, slot, arrival, target, weight)
        if columns.shape[0] == 0:
            put_dense(window, slot, row.reshape(1, row.shape[0]), 0, length)
        else:
            put_entries(window, slot, columns, 0, row, 0, length)
    return replay(memory, game, window)


@compiled
def output_score(game: GameArrays, columns: NDArray[np.int64], place: int, x: Floats, first: int, length: int) -> float:
    """Give the score that the snapshots make together: their mean, or the balance of their votes in [-1, 1]."""
    stored = int(game.plan[STORED])
    total = 0.0
    for k in range(stored):
        h, _, v, u = split(game.copies[k])
        one = score_sparse(h, v, u, columns, place, x, first, length)
        total += one if game.setup[OUTPUT] == AVERAGE else (1.0 if one >= 0.0 else -1.0)
    return total / stored


@compiled
def show(memory: Floats, game: GameArrays, rows: RowArrays, i: int) -> tuple[float, int]:
    """Score row i before it is learned, with the learner or its snapshots; give the score and 0 or a fault."""
    h, _, v, u = split(memory)
    if game.plan[STORED] > 0.0:
        if rows.form == SPARSE:
            place = first = rows.indptr[i]
            length = rows.indptr[i + 1] - first
            values = rows.shown_values
        else:
            length = rows.shown_matrix.shape[1]
            place, first = 0, i * length
            values = rows.shown_matrix.reshape(rows.shown_matrix.size)
        present = values[first : first + length].copy()
        status = clean(present, length)
        return output_score(game, rows.columns, place, present, 0, length), status
    if rows.form == PREFIX:
        length = rows.shown_matrix.shape[1]
        score = score_dense(h, v, u, rows.shown_matrix, i, length)
        if math.isfinite(score):
            return score, 0
        return score_cleaned(h, v, u, rows.shown_matrix, i, length)
    if rows.form == MATRIX:
        length = rows.shown_matrix.shape[1]
        flat = rows.shown_matrix.reshape(rows.shown_matrix.size)
        return run_sparse_row(memory, h, v, u, rows.columns, 0, flat, i * length, length, 0.0, 0.0, False)
    first = rows.indptr[i]
    length = rows.indptr[i + 1] - first
    return run_sparse_row(memory, h, v, u, rows.columns, first, rows.shown_values, first, length, 0.0, 0.0, False)


@compiled
def learn_arrival(
    memory: Floats, window: WindowArrays, rows: RowArrays, i: int, slot: int, target: float, weight: float
) -> int:
    """Learn row i and store it; give 0 or a fault."""
    h, _, v, u = split(memory)
    # Learning may turn absent values of the row into zeros, so look before it where the last present one is.
    if rows.form == PREFIX:
        present = present_columns(rows.matrix[i], rows.matrix.shape[1])
        status = learn_dense(memory, h, v, u, rows.matrix, i, rows.matrix.shape[1], target, weight)
        if slot >= 0 and status == 0:
            put_dense(window, slot, rows.matrix, i, present)
        return status
    if rows.form == MATRIX:
        place, length = 0, rows.matrix.shape[1]
        first = i * length
        values = rows.matrix.reshape(rows.matrix.size)
    else:
        first = place = rows.indptr[i]
        length = rows.indptr[i + 1] - first
        values = rows.values
    present = present_columns(values[first : first + length], length)
    status = learn_sparse(memory, h, v, u, rows.columns, place, values, first, length, target, weight)
    if slot >= 0 and status == 0:
        put_entries(window, slot, rows.columns, place, values, first, present)
    return status


@compiled
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
    for i in range(targets.shape[0]):
        score, status = show(memory, game, rows, i)
        if status == 0:
            scores[i] = score
            status = learn_arrival(memory, window, rows, i, slots[i], targets[i], weights[i])
        if status != 0:
            return i, status
        widen_spread(game.spread, targets[i])
        if slots[i] >= 0:
            enter(game, window, slots[i], arrivals + i + 1, targets[i], weights[i])
        status = replay(memory, game, window)
        if status != 0:
            return i, status
    return -1, 0


@compiled
def score_snapshots(game: GameArrays, rows: RowArrays, count: int, scores: Floats) -> tuple[int, int]:
    """Score rows with the snapshots without learning; give (-1, 0) or the row that was refused and why."""
    for i in range(count):
        scores[i], status = show(game.copies[0], game, rows, i)
        if status != 0:
            return i, status
    return -1, 0
