"""The kernels of a program: one row, or one pass over many rows, of the learner in a block of memory.

Each is made once for a program, when it is first used. A pass returns (row, status): row -1 if all went well, else the
row that was refused and why (`sums.fault_kind`); the rows before it have then been learned, and the caller puts the
memory back.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from stream_maxloss.linear.memory import BUSY, HEADER, ROW_LENGTH, TICKET
from stream_maxloss.linear.program import Program
from stream_maxloss.linear.sums import ARRIVING, OVERFLOW, Row, clean, fault
from stream_maxloss.machine.compiled import compiled, inner, made_once
from stream_maxloss.machine.dict_values import integer_of, python_object, read_values
from stream_maxloss.machine.kinds import float64
from stream_maxloss.machine.pointers import load, load_integer, store

__all__ = [
    "Inner",
    "RowKernels",
    "as_inner",
    "entry_point",
    "inner_kernels",
    "learn_dict",
    "learn_sparse_row",
    "make_write",
    "read_shortcut",
    "row_kernels",
    "row_of",
    "run_rows",
    "score_dict",
    "score_sparse_row",
]

# What a kernel for a dict returns if it has another name or a value that is no plain number, or the memory is in use.
UNREADABLE = -1
# Where the names begin in a short cut, behind address, columns and the set of plain kinds of numbers.
NAMES = 3


class Inner(NamedTuple):
    """A program's functions, compiled for the kernels that are made of them."""

    score: Callable[..., Any]
    current: Callable[..., Any]
    step: Callable[..., None]
    # The step on a row that was learned before.
    replay: Callable[..., None]
    loss: Callable[..., float]
    is_finite: Callable[..., bool]
    # Learn a row that arrives; absent values in it become zero. Return 0 or a fault.
    arrive: Callable[..., int]
    # Score a copy of a row with absent values made zero; the row itself still shows what was absent.
    score_cleaned: Callable[..., tuple[Any, int]]
    # Whether a row is predicted with the score that it is learned with.
    is_same: bool


def as_inner(function: Any) -> Any:
    """Return a plain function as one that kernels can call, and what is one already as it is."""
    return function if hasattr(function, "py_func") else inner(function)


def nothing_to_prepare(m: int, row: Row) -> int:
    """Stand in for a program that takes any finite value."""
    return 0


def is_finite_number(score: float) -> bool:
    """Return whether the one score of a row is finite."""
    return math.isfinite(score)


def is_finite_check(score: Any) -> bool:
    """Tell whether all scores of a row are finite, of a program that keeps them elsewhere."""
    return math.isfinite(score[0])


def make_is_finite(scores: int) -> Any:
    """Return what tells whether all scores of a row are finite."""
    if scores == 1:
        return inner(is_finite_number)
    if scores == 0:
        return inner(is_finite_check)

    def is_finite(score: Any) -> bool:
        total = 0.0
        for k in range(scores):
            total += 0.0 * score[k]
        return math.isfinite(total)

    return inner(is_finite)


@made_once
def inner_kernels(program: Program) -> Inner:
    """Return the functions of a program and those that follow from them."""
    score, step, loss = as_inner(program.score), as_inner(program.step), as_inner(program.loss)
    current, replay = as_inner(program.current or program.score), as_inner(program.replay or program.step)
    is_finite = make_is_finite(program.scores)
    prepares, prepare = program.prepare is not None, as_inner(program.prepare or nothing_to_prepare)

    def arrive(m: int, row: Row, known: Any, target: float, weight: float) -> int:
        if prepares:
            status = prepare(m, row)
            if status != 0:
                return status
            known = current(m, row)
        if not is_finite(known):
            status = clean(row[1], row[2])
            if status != 0:
                return status
            known = current(m, row)
            if not is_finite(known):
                return fault(OVERFLOW, 0)
        step(m, row, known, target, weight)
        return 0

    def score_cleaned(m: int, row: Row) -> tuple[Any, int]:
        columns, x, length, stored = row
        # The place for the row at hand: as long as any row, and free while a kernel runs.
        goal = m + 8 * HEADER
        for k in range(length):
            store(goal, k, load(x, k))
        status = clean(goal, length)
        known = score(m, (columns, goal, length, stored))
        if status == 0 and not is_finite(known):
            status = fault(OVERFLOW, 0)
        return known, status

    is_same = program.current is None
    return Inner(score, current, step, replay, loss, is_finite, inner(arrive), inner(score_cleaned), is_same)


@inner
def read_shortcut(shortcut: Any, x: Any) -> tuple[int, Row]:
    """Read a dict into the place for the row at hand; return the memory, or 0 if it does not fit, and the row.

    A short cut is a tuple: the addresses of the memory and of the row's columns (0 for the first ones), the set of
    plain kinds of numbers, the names of the row in the order of its columns, and the arrays at the addresses, which so
    live as long as the call.
    """
    m, columns = integer_of(shortcut, 0), integer_of(shortcut, 1)
    length, goal = int(load(m, ROW_LENGTH)), m + 8 * HEADER
    ticket = load(m, TICKET) + 1.0
    store(m, TICKET, ticket)
    fits = length >= 0 and load(m, BUSY) == 0.0 and read_values(shortcut, NAMES, x, length, goal)
    # A look-up may run Python's code: a name's __eq__ that calls the model again, perhaps with new names.
    fits = fits and load(m, TICKET) == ticket and load(m, ROW_LENGTH) == length
    return m if fits else 0, (columns, goal, length, ARRIVING)


@made_once
def score_dict(program: Program) -> Callable[..., float]:
    """Return score(shortcut, x) for dicts: NaN if the short cut does not fit."""
    parts = inner_kernels(program)
    score = parts.score if program.scores == 1 else make_first(parts.score)

    def score_row(shortcut: Any, x: Any) -> float:
        m, row = read_shortcut(shortcut, x)
        return score(m, row) if m != 0 else math.nan

    return entry_point(compiled(score_row), python_object, python_object)


@made_once
def learn_dict(program: Program) -> Callable[..., int]:
    """Return learn(shortcut, x, target, weight) for dicts: UNREADABLE if the short cut does not fit."""
    parts = inner_kernels(program)
    current, arrive = parts.current, parts.arrive

    def learn_row(shortcut: Any, x: Any, target: float, weight: float) -> int:
        m, row = read_shortcut(shortcut, x)
        return arrive(m, row, current(m, row), target, weight) if m != 0 else UNREADABLE

    return entry_point(compiled(learn_row), python_object, python_object, float64, float64)


def make_first(score: Callable[..., Any]) -> Any:
    """Return a function for the first score of a row."""

    def first(m: int, row: Row) -> float:
        return score(m, row)[0]

    return inner(first)


def entry_point(kernel: Any, *kinds: Any) -> Any:
    """Return the compiled code of a kernel for arguments of these types: numba's choice among them costs 100 ns."""
    if not hasattr(kernel, "compile"):  # with NUMBA_DISABLE_JIT
        return kernel
    kernel.compile(kinds)
    return kernel.overloads[kinds].entry_point


@made_once
def score_sparse_row(program: Program) -> Callable[..., Any]:
    """Return score(m, columns, x, length) for one row without absent values."""
    score = inner_kernels(program).score

    def score_row(m: int, columns: int, x: int, length: int) -> Any:
        return score(m, (columns, x, length, ARRIVING))

    return compiled(score_row)


@made_once
def learn_sparse_row(program: Program) -> Callable[..., int]:
    """Return learn(m, columns, x, length, target, weight) for one row without absent values."""
    parts = inner_kernels(program)
    current, arrive = parts.current, parts.arrive

    def learn_row(m: int, columns: int, x: int, length: int, target: float, weight: float) -> int:
        row = (columns, x, length, ARRIVING)
        return arrive(m, row, current(m, row), target, weight)

    return compiled(learn_row)


@inner
def row_of(indptr: int, columns: int, width: int, values: int, i: int) -> Row:
    """Return row i of a matrix of the columns at `columns`, or with `indptr` of a sparse matrix in CSR form."""
    if indptr == 0:
        return columns, values + 8 * width * i, width, ARRIVING
    first = load_integer(indptr, i)
    return columns + 8 * first, values + 8 * first, load_integer(indptr, i + 1) - first, ARRIVING


@made_once
def run_rows(program: Program, learns: bool) -> Callable[..., tuple[int, int]]:
    """Return run(m, rows, indptr, columns, width, values, targets, weights, scores): score, then learn, each row.

    The rows are as `row_of` takes them; the scores before learning are written one after the other.
    """
    parts, several = inner_kernels(program), program.scores
    score, current, is_finite = parts.score, parts.current, parts.is_finite
    arrive, score_cleaned, is_same, write = parts.arrive, parts.score_cleaned, parts.is_same, make_write(several)

    def run(
        m: int, rows: int, indptr: int, columns: int, width: int, values: int, targets: int, weights: int, scores: int
    ) -> tuple[int, int]:
        for i in range(rows):
            row = row_of(indptr, columns, width, values, i)
            shown = score(m, row)
            known = shown
            if not is_finite(shown):
                shown, status = score_cleaned(m, row)
                if status != 0:
                    return i, status
            write(scores, i, shown)
            if learns:
                status = arrive(m, row, known if is_same else current(m, row), load(targets, i), load(weights, i))
                if status != 0:
                    return i, status
        return -1, 0

    return compiled(run)


def make_write(several: int) -> Any:
    """Return what writes the scores of row i."""
    if several == 1:

        def write_one(scores: int, i: int, score: float) -> None:
            store(scores, i, score)

        return inner(write_one)
    if several == 0:

        def write_kept(scores: int, i: int, score: Any) -> None:
            for k in range(score[2]):
                store(scores, score[2] * i + k, load(score[1], k))

        return inner(write_kept)

    def write(scores: int, i: int, score: Any) -> None:
        for k in range(several):
            store(scores, several * i + k, score[k])

    return inner(write)


class RowKernels:
    """What a model calls for each row; the kernels that were not needed yet do nothing.

    They are attributes of a class rather than of an object, and a model refers to that class. River counts the memory
    of a model by following its references: it leaves out classes, and must not follow kernels into numba's compiler,
    whose megabytes are no part of the model and whose weak references may be dead.
    """

    program: Program
    learns = False
    scores = False

    @staticmethod
    def score_row(shortcut: tuple[Any, ...], x: Any) -> float:
        """Return the score of a row, NaN if this way cannot read it."""
        return math.nan

    @staticmethod
    def learn_row(shortcut: tuple[Any, ...], x: Any, target: float, w: float) -> int:
        """Learn a row and return 0, or why this way cannot."""
        return UNREADABLE


@made_once
def row_kernels(program: Program, learns: bool = False, scores: bool = False) -> type[RowKernels]:
    """Return the kernels of a program, compiled as far as they are asked for.

    Parameters
    ----------
    program
        What the learner does to its memory.
    learns, scores
        Whether rows are learned, and scored, straight from their dicts.

    """
    kernels: dict[str, Callable[..., Any]] = {}
    if learns:
        kernels["learn_row"] = learn_dict(program)
    if scores:
        kernels["score_row"] = score_dict(program)
    return type("RowKernels", (RowKernels,), {"program": program, "learns": learns, "scores": scores, **kernels})
