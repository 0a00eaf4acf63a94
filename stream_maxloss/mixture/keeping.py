"""The window: the last rows, as the experts see them, and their replays.

A row is kept as what its features are made of: the scaled values, the numbers and their codes, and two bytes for each
leaf. The player of `stream_maxloss.focus` draws which rows the replaying experts see again.
"""

from __future__ import annotations

import math

import numpy as np

from stream_maxloss.focus.player import make_update, player_admit, player_draw
from stream_maxloss.focus.policy import Capped
from stream_maxloss.focus.sum_tree import tree_set
from stream_maxloss.machine.compiled import inner, unfolded
from stream_maxloss.machine.vectors import copy_bytes
from stream_maxloss.mixture import fields as f
from stream_maxloss.mixture.credence import credence, observe_label
from stream_maxloss.mixture.numbers import standardised
from stream_maxloss.mixture.reading import ABSENT, BINNED, COARSE, RAW, count_leaves
from stream_maxloss.mixture.stepping import CLASSES, score_plane, slopes, step_plane

__all__ = ["keep", "recall", "replay"]

# The plane that replays. Kernels take it as np.int64: a constant is a type of its own to numba, which would compile
# each of them twice; so with other constants here.
REPLAYED = 1
# No row has more than 1/(alpha n) of the weight: the game is about the worst fifth of the window. Of caps and other
# policies this one found most rare rows at uniform replay's own false alarms, on shuffles that are not reported.
POLICY = Capped(alpha=0.2)
SETTINGS = POLICY.settings
# What is left of a row's weight where its label is not believed: enough to come back if it is, later on.
LEAST_SHARE = 0.05
raise_weight = make_update(Capped.raised)


@inner
def keep(table: f.Table, target: float, w: float) -> None:
    """Keep the row at hand in the place of the oldest, with the log-odds that the mixture gave it."""
    header = f.integers_1(table, f.HEADER)
    slot = header[f.ROWS] % header[f.WINDOW]
    numbers, kept_numbers = f.floats_1(table, f.NUMBERS), f.floats_2(table, f.KEPT_NUMBERS)
    for number in range(numbers.shape[0]):
        kept_numbers[slot, number] = numbers[number]
    if header[f.REPLAYS] == 0 and header[f.READY] and header[f.NEXT_LESSON] == 0:
        # Nothing is replayed: thresholds are all that the window is for. Room that was made early may hold scores.
        kept_score = f.floats_2(table, f.KEPT_SCORE)
        for c in range(kept_score.shape[1]):
            kept_score[slot, c] = 0.0
        return
    index, value = f.integers_2(table, f.INDEX), f.floats_2(table, f.VALUE)
    kept_index, kept_value = f.words_2(table, f.KEPT_INDEX), f.floats_2(table, f.KEPT_VALUE)
    length = min(f.integers_1(table, f.ACTIVE)[RAW] - 1, kept_index.shape[1])
    f.integers_1(table, f.KEPT_LENGTH)[slot] = length
    for k in range(length):
        kept_index[slot, k] = index[RAW, k + 1]
        kept_value[slot, k] = value[RAW, k + 1]
    codes, kept_codes = f.bytes_1(table, f.CODES), f.bytes_2(table, f.KEPT_CODES)
    for number in range(numbers.shape[0]):
        kept_codes[slot, number] = codes[number]
    leaves = 2 * table[f.LEAF, 1]
    copy_bytes(table[f.KEPT_LEAVES, 0] + slot * leaves, table[f.LEAF, 0], leaves)
    f.reals_1(table, f.KEPT_TARGET)[slot] = target
    f.reals_1(table, f.KEPT_W)[slot] = w
    keep_score(table, slot)
    if header[f.REPLAYS]:
        if header[f.KIND] == CLASSES:
            observe_label(table, target)
        admit(table, slot)


@unfolded
def admit(table: f.Table, slot: int) -> None:
    """Let a row into the game with the mean weight of the others, as far as its label can be believed."""
    nodes, starts = f.reals_1(table, f.NODES), f.integers_1(table, f.STARTS)
    player_admit(nodes, starts, f.reals_1(table, f.GAME), slot)
    believed = credence(table, slot)
    if believed < 1.0:
        tree_set(nodes, starts, slot, nodes[slot] * max(believed, LEAST_SHARE))


@unfolded
def keep_score(table: f.Table, slot: int) -> None:
    """Keep what the mixture said of the row at hand."""
    out, kept_score = f.reals_1(table, f.OUT), f.floats_2(table, f.KEPT_SCORE)
    kind = f.integers_1(table, f.HEADER)[f.KIND]
    for c in range(kept_score.shape[1]):
        if kind != CLASSES:
            kept_score[slot, c] = out[c]
        elif kept_score.shape[1] == 1:
            p = min(max(out[0], 1e-6), 1.0 - 1e-6)
            kept_score[slot, 0] = math.log(p / (1.0 - p))
        else:
            kept_score[slot, c] = math.log(max(out[c], 1e-6))


@inner
def recall(table: f.Table, slot: int) -> None:
    """Make a kept row the row at hand."""
    index, value, active = f.integers_2(table, f.INDEX), f.floats_2(table, f.VALUE), f.integers_1(table, f.ACTIVE)
    kept_index, kept_value = f.words_2(table, f.KEPT_INDEX), f.floats_2(table, f.KEPT_VALUE)
    length = f.integers_1(table, f.KEPT_LENGTH)[slot]
    index[RAW, 0] = 0
    value[RAW, 0] = 1.0
    for k in range(length):
        index[RAW, k + 1] = kept_index[slot, k]
        value[RAW, k + 1] = kept_value[slot, k]
    active[RAW] = length + 1
    active[BINNED] = 0
    count_leaves(table)
    if f.integers_1(table, f.HEADER)[f.READY]:
        numbers, codes = f.floats_2(table, f.KEPT_NUMBERS)[slot], f.bytes_2(table, f.KEPT_CODES)[slot]
        coarse = f.bytes_2(table, f.COARSE)
        used = 0
        for number in range(coarse.shape[0]):
            one = coarse[number, codes[number]]
            if one < COARSE and numbers[number] != ABSENT:
                index[BINNED, used] = number * COARSE + one
                used += 1
        active[BINNED] = used
        leaves = 2 * table[f.LEAF, 1]
        copy_bytes(table[f.LEAF, 0], table[f.KEPT_LEAVES, 0] + slot * leaves, leaves)


@unfolded
def replay(table: f.Table) -> None:
    """Let the replaying experts learn one kept row that the player draws, and tell the player its loss."""
    nodes, starts, game = f.reals_1(table, f.NODES), f.integers_1(table, f.STARTS), f.reals_1(table, f.GAME)
    slot, probability = player_draw(nodes, starts, game, f.words_1(table, f.GENERATOR))
    believed = credence(table, slot)
    if believed == 0.0:
        return
    recall(table, slot)
    plane = np.int64(REPLAYED)
    score_plane(table, plane)
    target = f.reals_1(table, f.KEPT_TARGET)[slot]
    if f.integers_1(table, f.HEADER)[f.KIND] != CLASSES:
        target = standardised(table, target)
    loss = slopes(table, plane, target) * believed
    step_plane(table, plane, f.reals_1(table, f.KEPT_W)[slot] * believed)
    raise_weight(nodes, starts, game, SETTINGS, slot, probability, loss)
