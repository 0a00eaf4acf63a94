"""What happens between rows: thresholds, random ferns and lessons, each at a row that depends on nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.described import ArrayOf, check_state
from stream_maxloss.expand.edges import edges_of
from stream_maxloss.mixture import fields as f
from stream_maxloss.mixture.experts import LEVELS
from stream_maxloss.mixture.history import next_entry
from stream_maxloss.mixture.memory import MANY_NUMBERS, MOST_EDGES, MOST_NUMBERS, Memory
from stream_maxloss.mixture.passes import RELEARN, run_rows
from stream_maxloss.mixture.reading import COUNT, DEVIATION, NONZERO, UNTAUGHT, UNTESTED
from stream_maxloss.mixture.stepping import CLASSES
from stream_maxloss.mixture.teaching import place_fern, recode, teach
from stream_maxloss.mixture.usual import find_quantile
from stream_maxloss.random import next_below, next_uniform

__all__ = ["FIRST_ROWS", "FirstRows", "check_first_rows", "compile_lessons", "grow", "next_event"]

# The first thresholds come from so many rows, later ones from the window, each time the rows are four times as many.
FIRST_ROWS = 100
# Lessons come more often at first: the next after a sixteenth of the rows so far, but at least 40.
FIRST_LESSON = 40
PART = 16
# A column is a number once so many rows have it with a value that is not zero.
LEAST_ROWS = 2
# Rows that thresholds are found on.
EDGE_SAMPLE = 4000
# Wide rows have their untaught ferns drawn once more when thresholds are better known; the window is learned with them.
LAST_DRAW = 16 * FIRST_ROWS
NEVER = np.iinfo(np.int64).max

FirstRows = list[tuple[NDArray[np.int64], NDArray[np.float64]]]


def next_edges(rows: int) -> int:
    """Return the next number of rows at which thresholds are found."""
    event = FIRST_ROWS
    while event <= rows:
        event *= 4
    return event


def next_event(memory: Memory) -> int:
    """Return the number of rows after which something is due."""
    due = min(next_edges(memory.rows), next_entry(memory.rows))
    lesson = int(memory["header"][f.NEXT_LESSON])
    return min(due, lesson) if lesson > memory.rows else due


def grow(memory: Memory, first_rows: FirstRows) -> None:
    """Do what is due after the row that was just learned; most often it is nothing."""
    header, rows = memory["header"], memory.rows
    find_quantile(memory.arrays, memory.kept)
    if rows == FIRST_ROWS:
        begin(memory, first_rows)
    elif next_edges(rows - 1) == rows:
        add_numbers(memory)
        find_edges(memory)
        # Where nothing is replayed, the window has no rows to learn the new ferns with.
        is_redrawn = rows == LAST_DRAW and memory.is_wide and memory.level.replays > 0
        if is_redrawn:
            clear_ferns(memory)
        draw_ferns(memory)
        memory.look_up_anew()
        if is_redrawn:
            run_rows(memory.table, RELEARN, 0, memory.kept)
    if memory.level.lesson and (rows == FIRST_ROWS or rows == header[f.NEXT_LESSON]):
        teach(memory.table, memory.kept)
        header[f.NEXT_LESSON] = rows + min(memory.level.lesson, max(FIRST_LESSON, rows // PART))


def begin(memory: Memory, first_rows: FirstRows) -> None:
    """Find thresholds, draw the untaught ferns and let all experts learn the first rows with them."""
    add_numbers(memory)
    is_number = memory["place"] >= 0
    if np.count_nonzero(4.0 * memory["statistics"][is_number, NONZERO] > memory.rows) > MANY_NUMBERS:
        memory.add_ferns()
    place, kept = memory["place"], memory["kept_numbers"]
    for slot, (columns, values) in enumerate(first_rows[: len(kept)]):
        numbers = place[columns]
        is_number = (numbers >= 0) & ~np.isnan(values)
        kept[slot, numbers[is_number]] = np.clip(values[is_number], -1e30, 1e30)
    find_edges(memory)
    memory["header"][f.READY] = 1
    draw_ferns(memory)
    memory.look_up_anew()
    run_rows(memory.table, RELEARN, 0, memory.kept)


def add_numbers(memory: Memory) -> None:
    """Take in the columns that vary, the most frequent first, while there is room."""
    statistics, place = memory["statistics"], memory["place"]
    room = MOST_NUMBERS - len(memory["num_edges"])
    count, nonzero = statistics[:, COUNT], statistics[:, NONZERO]
    varies = (statistics[:, DEVIATION] > 1e-12 * count) | (count < memory.rows)
    found = np.flatnonzero((place < 0) & varies & (nonzero >= LEAST_ROWS))
    found = np.sort(found[np.argsort(-nonzero[found], kind="stable")][:room])
    if len(found):
        place[found] = len(memory["num_edges"]) + np.arange(len(found))
        memory.add_numbers(len(found))


def find_edges(memory: Memory) -> None:
    """Find the thresholds of all numbers on the window."""
    kept = memory["kept_numbers"][: memory.kept]
    if len(kept) > EDGE_SAMPLE:
        kept = kept[np.linspace(0, len(kept) - 1, EDGE_SAMPLE).astype(np.int64)]
    for number in range(kept.shape[1]):
        edges = edges_of(kept[:, number], MOST_EDGES)
        # A number that is absent now keeps the thresholds that it had.
        if len(edges):
            memory["num_edges"][number] = len(edges)
            memory["edges"][number, : len(edges)] = edges
    recode(memory.table, memory.kept)


def clear_ferns(memory: Memory) -> None:
    """Let all untaught ferns be drawn anew, and forget what was learned of their leaves."""
    memory["group"][: memory.untaught] = -1
    leaves = memory["leaves"]
    leaves[:, : leaves.shape[1] // len(memory["group"]) * memory.untaught] = 0.0


def draw_ferns(memory: Memory) -> None:
    """Draw the tests of untaught ferns that have none: numbers by how evenly their codes spread, edges at random.

    Those of wide rows have as many tests as taught ones.
    """
    codes = memory["kept_codes"][: memory.kept]
    num_edges = memory["num_edges"]
    chances = np.array(
        [1.0 - np.bincount(codes[:, j]).max() / len(codes) if num_edges[j] else 0.0 for j in range(codes.shape[1])]
    )
    heap = np.cumsum(np.sqrt(chances))
    if len(heap) == 0 or heap[-1] == 0.0:
        return
    generator = memory["generator"]
    depth = memory.level.depth if memory.is_wide else memory.level.untaught_depth
    # Last tests make leaves that lie side by side, in fewer pages of memory; but many classes cost every fern its last.
    first = memory.level.depth - depth if memory.outputs == 1 else 0
    for fern in np.flatnonzero(memory["group"][: memory.untaught] < 0).tolist():
        memory["test_threshold"][fern] = UNTESTED
        for d in range(first, first + depth):
            number = int(np.searchsorted(heap, next_uniform(generator) * heap[-1], side="right"))
            edge = next_below(generator, int(num_edges[number]))
            memory["test_number"][fern, d] = number
            memory["test_threshold"][fern, d] = memory["edges"][number, edge]
        memory["group"][fern] = UNTAUGHT
        place_fern(memory.table, fern, memory.kept)


def compile_lessons() -> None:
    """Compile what is called between rows, which the first rows of a stream do not need, and keep it on disk."""
    memory = Memory(LEVELS["least"], window=1, kind=CLASSES, seed=0)
    recode(memory.table, 0)
    place_fern(memory.table, 0, 0)
    teach(memory.table, 0)


def check_first_rows(state: Mapping[str, Any], rows: int, columns: int) -> FirstRows:
    """Return the first rows of a state.

    Raises
    ------
    ValueError
        If they are not as many as there should be, or name columns that are none.

    """
    expected = {
        "lengths": ArrayOf("int64", (rows if rows < FIRST_ROWS else 0,), low=0, high="entries"),
        "columns": ArrayOf("int64", ("entries",), low=0, below="known"),
        "values": ArrayOf("float64", ("entries",)),
    }
    sizes = check_state(state, expected, known=columns)
    cuts = np.cumsum(state["lengths"])
    if (cuts[-1] if len(cuts) else 0) != sizes["entries"]:
        raise ValueError(f"first.lengths must add up to {sizes['entries']}, got {state['lengths'].sum()}")
    pairs = zip(np.split(state["columns"], cuts[:-1]), np.split(state["values"], cuts[:-1]), strict=True)
    return [(columns.copy(), values.copy()) for columns, values in pairs] if len(cuts) else []
