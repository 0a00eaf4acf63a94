"""Arrivals of native learners, each with its replays, whole batches inside one kernel.

`learn_batch` is the entry for many rows, `replay_row` for one that was already learned, `replay_window` for none; all
end in the one loop of `rounds.make_replay`, so the two speeds play the same game with the same draws.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stream_maxloss.focus.arena import Arena, arena_at
from stream_maxloss.focus.arrays import ALONE, ARRIVED, AVERAGE, CODES, COPIES, COPY, HIGH, LOW, REPLAYED, SETUP, SPREAD
from stream_maxloss.focus.native_window import TARGETS, WEIGHTS, put_row, stored_row
from stream_maxloss.focus.player import SIZE, player_admit
from stream_maxloss.focus.rounds import Play, make_loss, make_replay, widen_spread
from stream_maxloss.focus.slack import slack_release
from stream_maxloss.focus.slices import slice_enter
from stream_maxloss.focus.snapshots import STORED
from stream_maxloss.linear.memory import HEADER
from stream_maxloss.linear.passes import inner_kernels, make_write, row_of
from stream_maxloss.linear.sums import ARRIVING, OVERFLOW, Row, clean, fault, present_columns
from stream_maxloss.machine.compiled import compiled, inner, made_once
from stream_maxloss.machine.pointers import load, load_integer, store, store_integer, store_short

__all__ = ["RowGame", "learn_batch", "loss_of_slot", "replay_row", "replay_window", "row_game", "score_snapshots"]


# The status of a row that was scored without its absent values.
CLEANED = -1


@made_once
def make_enter(play: Play) -> Any:
    """Return enter(t, slot, i, arrival, target, weight, arena): start a row, the i-th that comes, in its slot."""
    has_slack, has_slices = play.has_slack, play.has_slices

    def enter(t: int, slot: int, i: int, arrival: int, target: float, weight: float, arena: Arena) -> None:
        if has_slack:
            slack_release(arena.book, arena.slack, arena.heap, arena.where, slot)
        player_admit(arena.nodes, arena.starts, arena.game, slot)
        if has_slices:
            code = load_integer(load_integer(t, CODES), i)
            slice_enter(arena.firsts, arena.slice_of, arena.place, arena.order, arena.slice_weights, slot, code)
        store_integer(load_integer(t, ARRIVED), slot, arrival)
        store_short(load_integer(t, REPLAYED), slot, 0)
        store(load_integer(t, TARGETS), slot, target)
        store(load_integer(t, WEIGHTS), slot, weight)

    return inner(enter)


@made_once
def replay_window(play: Play) -> Callable[..., bool]:
    """Return play(m, t, rounds, handle): play rounds without an arrival; False if the learner has diverged."""
    replay = make_replay(play)

    def run(m: int, t: int, rounds: int, handle: int) -> bool:
        arena = arena_at(handle)
        return arena.game[SIZE] == 0.0 or replay(m, t, rounds, arena)

    return compiled(run)


@made_once
def replay_row(play: Play) -> Callable[..., bool]:
    """Return play(m, t, rounds, slot, arrival, columns, x, length, target, weight, handle).

    It lets one row that was just learned enter, then replays; False if the learner has diverged.
    """
    replay, enter = make_replay(play), make_enter(play)

    def run(
        m: int,
        t: int,
        rounds: int,
        slot: int,
        arrival: int,
        columns: int,
        x: int,
        length: int,
        target: float,
        weight: float,
        handle: int,
    ) -> bool:
        arena = arena_at(handle)
        widen_spread(load_integer(t, SPREAD), target)
        if slot >= 0:
            enter(t, slot, 0, arrival, target, weight, arena)
            put_row(t, slot, (columns, x, length, ARRIVING), length)
        return rounds == 0 or arena.game[SIZE] == 0.0 or replay(m, t, rounds, arena)

    return compiled(run)


class RowGame:
    """What a focused learner calls for each row: an attribute of a class, for the reason that `RowKernels` gives."""

    @staticmethod
    def play(*arguments: int | float) -> bool:
        """Let one row that was just learned enter, then replay; False if the learner has diverged."""
        raise TypeError("a game must be made by row_game, got the class that all are made from")


@made_once
def row_game(play: Play) -> type[RowGame]:
    """Return a class whose `play` is the kernel of `replay_row`."""
    return type("CompiledRowGame", (RowGame,), {"play": staticmethod(replay_row(play))})


@made_once
def make_output(play: Play) -> Any:
    """Return output(t, stored, row): the snapshots' mean, or the balance of their votes in [-1, 1].

    A regressor's range holds for each snapshot: the mean of clipped scores is what corollary 2 bounds the loss of.
    """
    score, averages = inner_kernels(play.program).score, play.output == AVERAGE

    def output(t: int, stored: int, row: Row) -> float:
        setup, copies, length = load_integer(t, SETUP), load_integer(t, COPIES), load_integer(t, COPY)
        low, high, total = load(setup, LOW), load(setup, HIGH), 0.0
        for k in range(stored):
            one = score(copies + 8 * length * k, row)
            total += min(max(one, low), high) if averages else (1.0 if one >= 0.0 else -1.0)
        return total / stored

    return inner(output)


@made_once
def make_show(play: Play) -> Any:
    """Return show(m, t, stored, row): the scores of a row before it is learned, and 0, CLEANED or a fault."""
    parts = inner_kernels(play.program)
    score, is_finite, score_cleaned = parts.score, parts.is_finite, parts.score_cleaned
    if not play.has_snapshots:

        def show(m: int, t: int, stored: int, row: Row) -> tuple[Any, int]:
            shown = score(m, row)
            if is_finite(shown):
                return shown, 0
            shown, status = score_cleaned(m, row)
            return shown, CLEANED if status == 0 else status

        return inner(show)
    output = make_output(play)

    def show_snapshots(m: int, t: int, stored: int, row: Row) -> tuple[Any, int]:
        if stored == 0:
            shown = score(m, row)
            if is_finite(shown):
                return shown, 0
            shown, status = score_cleaned(m, row)
            return shown, CLEANED if status == 0 else status
        columns, x, length, kind = row
        goal = m + 8 * HEADER
        for k in range(length):
            store(goal, k, load(x, k))
        status = clean(goal, length)
        return output(t, stored, (columns, goal, length, kind)), status

    return inner(show_snapshots)


@made_once
def learn_batch(play: Play) -> Callable[..., tuple[int, int]]:
    """Return the pass that scores, learns, admits and replays, row after row.

    run(m, t, rounds, arrivals, rows, indptr, columns, width, values, shown, slots, targets, weights, scores, handle):
    `m` and `t` are the learner's memory and the table, the rows as `passes.row_of` takes them, `shown` what is scored
    before a row is learned. `slots` are the slots that the rows take, or -1, as the gate settled them; `arrivals` is
    the number of rows that came before. It returns (-1, 0) if all went well, else the row that was refused and why; the
    rows before it have been learned.
    """
    parts, replay, enter, show = inner_kernels(play.program), make_replay(play), make_enter(play), make_show(play)
    current, arrive, write = parts.current, parts.arrive, make_write(play.program.scores)
    has_snapshots = play.has_snapshots
    is_same = parts.is_same and not has_snapshots

    def run(
        m: int,
        t: int,
        rounds: int,
        arrivals: int,
        rows: int,
        indptr: int,
        columns: int,
        width: int,
        values: int,
        shown: int,
        slots: int,
        targets: int,
        weights: int,
        scores: int,
        handle: int,
    ) -> tuple[int, int]:
        arena = arena_at(handle)
        spread, reuses = load_integer(t, SPREAD), is_same and shown == values
        for i in range(rows):
            target, weight, slot = load(targets, i), load(weights, i), load_integer(slots, i)
            row = row_of(indptr, columns, width, values, i)
            score, status = show(m, t, int(arena.plan[STORED]), (row[0], row[1] + (shown - values), row[2], row[3]))
            if status > 0:
                return i, status
            if has_snapshots and arena.plan[STORED] == 0.0:
                # Rows that the learner scored by itself, before there was a snapshot.
                alone = load_integer(t, ALONE)
                store_integer(alone, 0, load_integer(alone, 0) + 1)
            write(scores, i, score)
            # Learning may turn absent values of the row into zeros, so look before it where the last present one is.
            present = present_columns(row[1], row[2])
            known = score if reuses and status == 0 else current(m, row)
            status = arrive(m, row, known, target, weight)
            if status != 0:
                return i, status
            widen_spread(spread, target)
            if slot >= 0:
                put_row(t, slot, row, present)
                enter(t, slot, i, arrivals + i + 1, target, weight, arena)
            if rounds > 0 and arena.game[SIZE] > 0.0 and not replay(m, t, rounds, arena):
                return i, fault(OVERFLOW, 0)
        return -1, 0

    return compiled(run)


@made_once
def score_snapshots(play: Play) -> Callable[..., tuple[int, int]]:
    """Return run(m, t, stored, rows, indptr, columns, width, values, scores): score rows without learning."""
    show, write = make_show(play), make_write(play.program.scores)

    def run(
        m: int, t: int, stored: int, rows: int, indptr: int, columns: int, width: int, values: int, scores: int
    ) -> tuple[int, int]:
        for i in range(rows):
            score, status = show(m, t, stored, row_of(indptr, columns, width, values, i))
            if status > 0:
                return i, status
            write(scores, i, score)
        return -1, 0

    return compiled(run)


@made_once
def loss_of_slot(play: Play) -> Callable[..., float]:
    """Return loss(m, t, slot): the loss that the game would see on a row of the window now."""
    current, loss = inner_kernels(play.program).current, make_loss(play.program, play.loss)

    def run(m: int, t: int, slot: int) -> float:
        return loss(m, t, current(m, stored_row(t, slot)), load(load_integer(t, TARGETS), slot))

    return compiled(run)
