"""Whole frames through a model: learned, or only scored, from columns as they lie or a stretch of rows at a time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from stream_maxloss.linear import memory as layout
from stream_maxloss.linear.batch_checks import Labelled, check_length, is_tame
from stream_maxloss.linear.columnar import LINE, is_columnar, run_columns, score_columns, tile_numbers, turned_numbers
from stream_maxloss.linear.faults import check_rows, refuse_row
from stream_maxloss.linear.memory import Floats
from stream_maxloss.linear.passes import run_rows
from stream_maxloss.linear.sums import ORDERED_SUM
from stream_maxloss.machine.pointers import address_of
from stream_maxloss.rows import Rows, read_frame
from stream_maxloss.rows.frame import Numbers, open_numbers

if TYPE_CHECKING:
    from stream_maxloss.linear.model import LinearModel

__all__ = ["changed_meanwhile", "check_columns", "learn_frame", "learn_rows", "score_frame", "score_rows"]

# Floats of a model from which on a batch is looked through before it is learned, instead of copying the model.
LARGE_MODEL = 1 << 16


def learn_frame(model: LinearModel, frame: Any, targets: Floats, weights: Floats) -> Floats:
    """Score, then learn, each row of a frame; if a row is refused, the model is as before."""
    with model:
        known, before = len(model.features), model.memory
        labelled = Labelled(targets, weights, model.room_for_scores(len(targets)))
        try:
            numbers = open_numbers(frame, model.features, learn=True)
            stretches: Iterable[Rows]
            stretches = read_frame(frame, model.features, learn=True) if numbers is None else numbers.stretches()
            done, is_safe = 0, False
            if model.memory.size > LARGE_MODEL:
                # Looking at every value first is cheaper than a copy of the model to go back to.
                stretches = list(stretches)
                check_length(sum(map(len, stretches)), targets)
                check_rows(stretches, model.features, model.program.prepare is not None)
                is_safe = cannot_overflow(model.memory, stretches, weights)
            if not is_safe:
                before = model.memory.copy()
                is_whole = numbers is not None and len(targets) == numbers.num_rows
                if numbers is not None and is_whole and is_columnar(model.program, model.memory):
                    done = learn_columns(model, numbers, labelled)
                    stretches = numbers.stretches(done) if done < len(targets) else []
            for first, rows, part in labelled.split(stretches, done):
                learn_rows(model, rows, part, first)
        except Exception:
            if before is not model.memory:
                model._replace(before)
            model.features.truncate(known)
            model._forget_row()
            raise
        return labelled.scores


def learn_columns(model: LinearModel, numbers: Numbers, labelled: Labelled) -> int:
    """Score and learn rows straight from their columns; return how many, up to the first with a value absent."""
    model._make_room()
    width = len(numbers.columns)
    # A memory of the batch's columns alone, and behind it a tile.
    length = layout.HEADER + 2 * width
    room = np.empty(length + tile_numbers(width))
    own = address_of(room)
    return run_columns(model.program, width > ORDERED_SUM)(
        address_of(model.memory),
        own,
        address_of(numbers.columns),
        width,
        address_of(numbers.table.addresses),
        len(labelled.targets),
        *labelled.addresses(),
        next_line(own + 8 * length),
    )


def learn_rows(model: LinearModel, rows: Rows, labelled: Labelled, first: int) -> None:
    """Score, then learn, one stretch of rows, the first of which has this number."""
    model._make_room()
    run = run_rows(model.program, True)
    row, status = run(address_of(model.memory), *rows.addresses(), *labelled.addresses())
    if row >= 0:
        raise refuse_row(rows, model.features, row, status, first)


def cannot_overflow(memory: Floats, stretches: list[Rows], weights: Floats) -> bool:
    """Return whether no row can make a score overflow: the one fault that shows only on the way."""
    header = memory[: layout.HEADER]
    numbers = np.abs(header[np.isfinite(header) & (header != 0.0)])
    parts = [numbers, 1.0 / numbers, memory[layout.HEADER + int(memory[layout.CAPACITY]) :], weights]
    return all(is_tame(part) for part in (*parts, *(rows.values for rows in stretches)))


def score_frame(model: LinearModel, frame: Any) -> Floats:
    """Return the score of each row of a frame."""
    numbers = open_numbers(frame, model.features, learn=False)
    if numbers is not None:
        scores, row = score_numbers(model, numbers)
        if row < 0:
            return scores
    parts: list[Floats] = []
    first = 0
    for rows in read_frame(frame, model.features, learn=False):
        parts.append(score_rows(model, rows, first))
        first += len(rows)
    return np.concatenate(parts)


def score_numbers(model: LinearModel, numbers: Numbers) -> tuple[Floats, int]:
    """Score rows straight from their columns; return the scores, and a row that was refused or -1."""
    memory, scores, width = model.memory, model.room_for_scores(numbers.num_rows), len(numbers.columns)
    check_columns(memory, int(numbers.columns[-1]) if width else -1)
    tile = np.empty(turned_numbers(width))
    row, _ = score_columns(model.program)(
        address_of(memory),
        0 if numbers.prefix else address_of(numbers.columns),
        width,
        address_of(numbers.table.addresses),
        numbers.num_rows,
        address_of(scores),
        next_line(address_of(tile)),
    )
    return scores, row


def score_rows(model: LinearModel, rows: Rows, first: int = 0) -> Floats:
    """Return the score of each row of a stretch, the first of which has this number."""
    memory, scores = model.memory, model.room_for_scores(len(rows))
    check_columns(memory, rows.last_column)
    at = address_of(scores)
    row, status = run_rows(model.program, False)(address_of(memory), *rows.addresses(), at, at, at)
    if row >= 0:
        raise refuse_row(rows, model.features, row, status, first)
    return scores


def check_columns(memory: Floats, last: int) -> None:
    """Raise RuntimeError unless there is room for a row's columns in the memory that it is scored with.

    Names that another thread adds to the model show in its feature map before they do in its memory.
    """
    if last >= memory[layout.CAPACITY]:
        raise changed_meanwhile()


def changed_meanwhile() -> RuntimeError:
    """Return the error for a call that met another thread's."""
    return RuntimeError(
        "a model must not be used while another thread changes it; give each thread its own, try again or use a lock"
    )


def next_line(address: int) -> int:
    """Return where the first cache line from an address on begins: vectors stored there do not lie across two."""
    return address + -address % LINE
