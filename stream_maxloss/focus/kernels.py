"""Arrivals of our own learners, each with its replays, whole batches inside one kernel.

`learn_batch` is the entry for many rows, `replay_row` for one that was already learned, `replay_window` for none; all
end in `rounds.replay`, so the two speeds play the same game with the same draws.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.focus.arrays import (
    AVERAGE,
    GAME_ARRAYS,
    HIGH,
    LOW,
    MATRIX,
    OUTPUT,
    PREFIX,
    REPLAYS,
    SPARSE,
    GameArrays,
    RowArrays,
)
from stream_maxloss.focus.native_window import WindowArrays, put_dense, put_entries, put_in_matrix
from stream_maxloss.focus.player import SIZE, player_admit
from stream_maxloss.focus.rounds import replay, replay_plain, widen_spread
from stream_maxloss.focus.slack import KIND, slack_release
from stream_maxloss.focus.snapshots import STORED
from stream_maxloss.linear.compiled import compiled, inner
from stream_maxloss.linear.kernels import learn_dense, learn_sparse, present_columns, present_in_row
from stream_maxloss.linear.memory import RULE, WINNOW, Floats
from stream_maxloss.linear.passes import score_cleaned, score_sparse_cleaned, split
from stream_maxloss.linear.scoring import OVERFLOW, clean, fault, score_dense, score_sparse

__all__ = ["learn_batch", "output_score", "replay_row", "replay_window", "score_snapshots"]


@inner
def enter(game: GameArrays, window: WindowArrays, slot: int, arrival: int, target: float, weight: float) -> None:
    """Start a row in its slot."""
    slack_release(game.book, game.slack, game.heap, game.where, slot)
    player_admit(game.nodes, game.starts, game.game, slot)
    game.arrived[slot] = arrival
    game.replayed[slot] = 0
    window.targets[slot] = target
    window.weights[slot] = weight


@compiled
def replay_window(memory: Floats, game: GameArrays, window: WindowArrays) -> int:
    """Play rounds without an arrival; give 0 or a fault."""
    return replay(memory, game, window)


@compiled
def replay_row(
    memory: Floats,
    slot: int,
    arrival: int,
    columns: NDArray[np.int64],
    row: Floats,
    length: int,
    target: float,
    weight: float,
    *arrays: Any,
) -> int:
    """Let one row that was just learned enter, then replay; give 0 or a fault.

    The row is the first `length` values of `row`, in the first columns if `columns` is empty. `arrays` are those of a
    `GameArrays`, then those of a `WindowArrays`: one by one they cross from Python twice as fast.
    """
    game, window = GameArrays(*arrays[:GAME_ARRAYS]), WindowArrays(*arrays[GAME_ARRAYS:])
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
    """Give the score that the snapshots make together: their mean, or the balance of their votes in [-1, 1].

    A regressor's range holds for each snapshot: the mean of clipped scores is what corollary 2 bounds the loss of.
    """
    low, high = game.setup[LOW], game.setup[HIGH]
    stored = int(game.plan[STORED])
    total = 0.0
    for k in range(stored):
        h, _, v, u = split(game.copies[k])
        one = score_sparse(h, v, u, columns, place, x, first, length)
        total += min(max(one, low), high) if game.setup[OUTPUT] == AVERAGE else (1.0 if one >= 0.0 else -1.0)
    return total / stored


@inner
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
        place, first = 0, i * length
        values = rows.shown_matrix.reshape(rows.shown_matrix.size)
    else:
        place = first = rows.indptr[i]
        length = rows.indptr[i + 1] - first
        values = rows.shown_values
    score = score_sparse(h, v, u, rows.columns, place, values, first, length)
    if math.isfinite(score):
        return score, 0
    return score_sparse_cleaned(h, v, u, rows.columns, place, values, first, length)


@inner
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
    h, _, v, u = split(memory)
    # Taken out of their bundles once: each look into one counts references, which costs as much as a short row.
    matrix, shown, width = rows.matrix, rows.shown_matrix, rows.matrix.shape[1]
    kept, lengths, kept_targets, kept_weights = window.matrix, window.lengths, window.targets, window.weights
    firsts, columns, values = window.first, window.columns, window.values
    nodes, starts, state, generator = game.nodes, game.starts, game.game, game.generator
    book, slack, heap, where = game.book, game.slack, game.heap, game.where
    plan, plan_generator, copies = game.plan, game.plan_generator, game.copies
    arrived, replayed, setup, spread = game.arrived, game.replayed, game.setup, game.spread
    is_plain = rows.form == PREFIX and kept.shape[1] > 0
    is_additive, rounds = h[RULE] < WINNOW, int(setup[REPLAYS])
    for i in range(targets.shape[0]):
        target, weight, slot = targets[i], weights[i], slots[i]
        if is_plain and plan[STORED] == 0.0:
            score, status = score_dense(h, v, u, shown, i, width), 0
            if not math.isfinite(score):
                score, status = score_cleaned(h, v, u, shown, i, width)
        else:
            score, status = show(memory, game, rows, i)
        if status != 0:
            return i, status
        scores[i] = score
        if is_plain:
            # Learning may turn absent values of the row into zeros, so look before it where the last present one is.
            present = present_in_row(matrix, i, width)
            status = learn_dense(memory, h, v, u, matrix, i, width, target, weight)
            if slot >= 0 and status == 0:
                put_in_matrix(kept, lengths, slot, matrix, i, present)
        else:
            status = learn_arrival(memory, window, rows, i, slot, target, weight)
        if status != 0:
            return i, status
        widen_spread(spread, target)
        if slot >= 0:
            if book[KIND] != 0.0:
                slack_release(book, slack, heap, where, slot)
            player_admit(nodes, starts, state, slot)
            arrived[slot] = arrivals + i + 1
            replayed[slot] = 0
            kept_targets[slot] = target
            kept_weights[slot] = weight
        if rounds == 0 or state[SIZE] == 0.0:
            continue
        if is_additive:
            finite = replay_plain(
                memory,
                rounds,
                nodes,
                starts,
                state,
                generator,
                book,
                slack,
                heap,
                where,
                plan,
                plan_generator,
                copies,
                replayed,
                setup,
                spread,
                kept,
                columns,
                values,
                firsts,
                lengths,
                kept_targets,
                kept_weights,
            )
            if not finite:
                return i, fault(OVERFLOW, 0)
        else:
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
