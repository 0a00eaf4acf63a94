"""Putting columns together into rows in CSR form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.machine.compiled import kept

__all__ = ["Fixed", "Ragged", "assemble"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass
class Fixed:
    """One entry per row; column -1 means none."""

    columns: Integers
    values: Floats


@dataclass
class Ragged:
    """Any number of entries per row; column -1 means none. `sorts` asks for ascending columns also of a lone part."""

    indptr: Integers
    columns: Integers
    values: Floats
    sorts: bool = False


@kept()
def insert(indices: Integers, values: Floats, first: int, last: int, column: int, value: float) -> int:
    """Insert an entry into the row `first..last` in ascending order, adding to an equal column; return the new end."""
    place = last
    while place > first and indices[place - 1] > column:
        place -= 1
    if place > first and indices[place - 1] == column:
        values[place - 1] += value
        return last
    for k in range(last, place, -1):
        indices[k] = indices[k - 1]
        values[k] = values[k - 1]
    indices[place] = column
    values[place] = value
    return last + 1


@kept()
def merge_rows(
    fixed_columns: Integers, fixed_values: Floats, indptr: Integers, columns: Integers, values: Floats
) -> tuple[Integers, Integers, Floats]:
    """Return CSR rows, each in ascending order of columns, from the fixed and the ragged entries."""
    rows = indptr.shape[0] - 1
    width = fixed_columns.shape[0]
    room = rows * width + columns.shape[0]
    out_indptr = np.zeros(rows + 1, dtype=np.int64)
    out_columns = np.empty(room, dtype=np.int64)
    out_values = np.empty(room)
    last = 0
    for i in range(rows):
        first = last
        for k in range(width):
            if fixed_columns[k, i] >= 0:
                last = insert(out_columns, out_values, first, last, fixed_columns[k, i], fixed_values[k, i])
        for k in range(indptr[i], indptr[i + 1]):
            if columns[k] >= 0:
                last = insert(out_columns, out_values, first, last, columns[k], values[k])
        out_indptr[i + 1] = last
    return out_indptr, out_columns[:last], out_values[:last]


def assemble(parts: list[Fixed | Ragged], rows: int, distinct: bool) -> tuple[Integers, Integers, Floats]:
    """Return (indptr, columns, values) of all parts side by side.

    `distinct` tells that two entries of a row never share a column, so a lone complete ragged part is taken as it is.
    """
    fixed = [part for part in parts if isinstance(part, Fixed)]
    ragged = [part for part in parts if isinstance(part, Ragged)]
    if distinct and len(ragged) == 1 and not fixed and not ragged[0].sorts and ragged[0].columns.min(initial=0) >= 0:
        return ragged[0].indptr, ragged[0].columns, ragged[0].values
    fixed_columns = np.array([part.columns for part in fixed], dtype=np.int64).reshape(len(fixed), rows)
    fixed_values = np.array([part.values for part in fixed]).reshape(len(fixed), rows)
    indptr, columns, values = np.zeros(rows + 1, dtype=np.int64), np.empty(0, dtype=np.int64), np.empty(0)
    for part in ragged:
        indptr, columns, values = merge_rows(
            np.empty((0, rows), dtype=np.int64),
            np.empty((0, rows)),
            *(join(indptr, columns, values, part) if len(columns) else (part.indptr, part.columns, part.values)),
        )
    return merge_rows(fixed_columns, fixed_values, indptr, columns, values)


def join(indptr: Integers, columns: Integers, values: Floats, part: Ragged) -> tuple[Integers, Integers, Floats]:
    """Put two ragged parts side by side, row by row."""
    counts = np.diff(indptr), np.diff(part.indptr)
    owner = np.concatenate([np.repeat(np.arange(len(count)), count) for count in counts])
    order = np.argsort(owner, kind="stable")
    return (
        indptr + part.indptr,
        np.concatenate([columns, part.columns])[order],
        np.concatenate([values, part.values])[order],
    )
