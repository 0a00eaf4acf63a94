"""What Python calls: one kernel that answers rows, learns them, or does so with kept ones.

One kernel and not three: each would be compiled with copies of everything below it.
"""

from __future__ import annotations

import numpy as np

from stream_maxloss.machine.compiled import compiled, unfolded
from stream_maxloss.mixture import fields as f
from stream_maxloss.mixture.keeping import keep, recall, replay
from stream_maxloss.mixture.mixing import learn_mixture, mix
from stream_maxloss.mixture.numbers import learn_numbers, mix_numbers, natural, observe_target, standardised
from stream_maxloss.mixture.reading import observe, read_entries
from stream_maxloss.mixture.stepping import CLASSES, known_slopes, score_plane, slopes, step_plane

__all__ = ["ANSWER", "LEARN", "RECALL", "RELEARN", "run_rows"]

ANSWER, LEARN, RELEARN, RECALL = range(4)


@compiled
def run_rows(table: f.Table, task: int, start: int, stop: int) -> None:
    """Do something with rows start..stop.

    Parameters
    ----------
    table
        Of all arrays. The rows lie in VALUES and COLUMNS, as INDPTR cuts them; a matrix has no INDPTR (address 0),
        and the same columns in each row.
    task
        ANSWER each row; LEARN each as well after it was answered; or, with the slots start..stop for rows, RELEARN
        kept rows with features that are new since, or RECALL them: answer them as they are answered now.
    start, stop
        Which rows.

    """
    width = table[f.COLUMNS, 1]
    first, first_column, length = 0, 0, width
    is_new = False
    for i in range(start, stop):
        if task >= RELEARN:
            recall(table, i)
        else:
            first = i * width
            if table[f.INDPTR, 0] != 0:
                indptr = f.integers_1(table, f.INDPTR)
                first, length = indptr[i], indptr[i + 1] - indptr[i]
                first_column = first
            is_new = read_entries(table, first, first_column, length, np.bool_(False))
        if task == RELEARN:
            target = f.reals_1(table, f.KEPT_TARGET)[i]
            if f.integers_1(table, f.HEADER)[f.KIND] != CLASSES:
                target = standardised(table, target)
            step_all(table, target, f.reals_1(table, f.KEPT_W)[i], True)
            continue
        answer_row(table, i if task < RELEARN else i - start)
        if task == LEARN:
            if is_new:
                read_entries(table, first, first_column, length, np.bool_(True))
            learn_row(table, i, is_new)
            observe(table, first, first_column, length)
            f.integers_1(table, f.HEADER)[f.ROWS] += 1
            for _ in range(f.integers_1(table, f.HEADER)[f.REPLAYS]):
                replay(table)


@unfolded
def answer_row(table: f.Table, i: int) -> None:
    """Answer the row at hand: write the probability of every class, or the number, to row i of the answers."""
    out = f.reals_2(table, f.ANSWERS)[i]
    for plane in range(table[f.SCORE, 1]):
        score_plane(table, plane)
    said = f.reals_1(table, f.OUT)
    outputs = table[f.SCORE, 2]
    if f.integers_1(table, f.HEADER)[f.KIND] != CLASSES:
        mix_numbers(table)
        out[0] = natural(table, said[0])
        return
    mix(table)
    if outputs == 1:
        out[0] = 1.0 - said[0]
        out[1] = said[0]
    else:
        for c in range(outputs):
            out[c] = said[c]


@unfolded
def learn_row(table: f.Table, i: int, is_new: bool) -> None:
    """Learn the row at hand, which was just answered; with columns that are new it was read once more since."""
    given, w = f.reals_1(table, f.TARGETS)[i], f.reals_1(table, f.WEIGHTS)[i]
    keep(table, given, w)
    target = given
    if f.integers_1(table, f.HEADER)[f.KIND] == CLASSES:
        learn_mixture(table, target)
        step_all(table, target, w, is_new)
    else:
        target = standardised(table, target)
        learn_numbers(table, target)
        step_all(table, target, w, is_new)
        observe_target(table, given)


@unfolded
def step_all(table: f.Table, target: float, w: float, is_new: bool) -> None:
    """Let all experts take their step; unless the row is new, what they said of it is known."""
    for plane in range(table[f.SCORE, 1]):
        if is_new:
            score_plane(table, plane)
            slopes(table, plane, target)
        else:
            known_slopes(table, plane, target)
        step_plane(table, plane, w)
