"""Rows as numbers, for native learners: a matrix while rows are dense, packed entries once they are sparse."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.described import ArrayOf, Spans, check_state
from stream_maxloss.linear.sums import ARRIVING, SUM_IN_LANES, WINDOWED, Row, column_of
from stream_maxloss.machine.compiled import compiled, inlined, inner
from stream_maxloss.machine.pointers import (
    address_of,
    load,
    load_integer,
    load_short,
    store,
    store_integer,
    store_short,
)

__all__ = ["WINDOW_TABLE", "NativeWindow", "put_row", "stored_row"]

# Rows of up to this many columns stay in a matrix whatever they hold, and have the same sums there as packed.
ALWAYS_DENSE = SUM_IN_LANES
# Places in the array `ends`.
END, LIVE = range(2)
# Places in the table of a window: columns of the matrix (0 where rows are packed), and where its arrays begin.
WIDTH, MATRIX, COLUMNS, VALUES, STARTS, LENGTHS, TARGETS, WEIGHTS, ENDS = range(9)
WINDOW_TABLE = ENDS + 1


class WindowArrays(NamedTuple):
    """The arrays of a window: `matrix` has no columns where rows are packed."""

    matrix: NDArray[np.float64]
    columns: NDArray[np.int32]
    values: NDArray[np.float64]
    first: NDArray[np.int64]
    lengths: NDArray[np.int32]
    targets: NDArray[np.float64]
    weights: NDArray[np.float64]
    ends: NDArray[np.int64]


@inlined
def stored_row(t: int, slot: int) -> Row:
    """Return the row of a slot of the window with the table at t."""
    width, length = load_integer(t, WIDTH), load_short(load_integer(t, LENGTHS), slot)
    if width > 0:
        return 0, load_integer(t, MATRIX) + 8 * width * slot, length, WINDOWED
    first = load_integer(load_integer(t, STARTS), slot)
    return load_integer(t, COLUMNS) + 4 * first, load_integer(t, VALUES) + 8 * first, length, WINDOWED


@inner
def put_row(t: int, slot: int, row: Row, present: int) -> None:
    """Store the first `present` entries of a row, in any order of columns, without those that are absent."""
    x, width, lengths = row[1], load_integer(t, WIDTH), load_integer(t, LENGTHS)
    if width > 0:
        goal, end = load_integer(t, MATRIX) + 8 * width * slot, 0
        if row[0] != 0:
            for j in range(width):
                store(goal, j, 0.0)
        for k in range(present):
            value, column = load(x, k), column_of(row, k)
            if np.isnan(value):
                store(goal, column, 0.0)
            else:
                store(goal, column, value)
                end = max(end, column + 1)
        if row[0] == 0:
            for j in range(present, width):
                store(goal, j, 0.0)
        store_short(lengths, slot, end)
        return
    ends, columns, values = load_integer(t, ENDS), load_integer(t, COLUMNS), load_integer(t, VALUES)
    end = first = load_integer(ends, END)
    for k in range(present):
        if load(x, k) != 0.0 and not np.isnan(load(x, k)):
            store_short(columns, end, column_of(row, k))
            store(values, end, load(x, k))
            end += 1
    store_integer(load_integer(t, STARTS), slot, first)
    store_integer(ends, LIVE, load_integer(ends, LIVE) - load_short(lengths, slot) + end - first)
    store_integer(ends, END, end)
    store_short(lengths, slot, end - first)


@compiled
def put(t: int, slot: int, columns: int, x: int, length: int) -> None:
    """Store a row by hand: with the columns at an address, or the first ones if that is 0."""
    put_row(t, slot, (columns, x, length, ARRIVING), length)


class NativeWindow:
    """A ring of labelled rows as numbers, bounded in memory.

    Rows lie in a matrix as long as there are at most 64 columns or a third of the entries are used; then the
    window turns, for good, to packed (column, value) entries, which drop zeros. Packed entries are appended, and
    what rows left behind is swept up when the end is reached: O(1) an entry, amortised, and at most half is waste.

    Parameters
    ----------
    capacity
        Number of slots.
    sparse
        Whether to pack entries from the start, as for hashed features.

    Notes
    -----
    Besides its entries a row takes 20 bytes, for target, weight and length, and 8 more for its place once packed.

    Examples
    --------
    >>> import numpy as np
    >>> from stream_maxloss.focus.native_window import NativeWindow
    >>> window = NativeWindow(capacity=4)
    >>> window.reserve(width=3, rows=1, entries=2, size=0)
    >>> window.put(0, np.array([1.5, 2.5]), np.array([0, 2]))
    >>> window.row(0)
    (array([0, 2]), array([1.5, 2.5]))

    """

    def __init__(self, capacity: int, sparse: bool = False) -> None:
        self.capacity = capacity
        self.sparse = sparse
        self._seen = np.zeros(2, dtype=np.int64)  # rows, entries
        self._table: tuple[WindowArrays, NDArray[np.int64]] | None = None
        self.arrays = WindowArrays(
            matrix=np.zeros((0 if sparse else capacity, 0)),
            columns=np.zeros(0, dtype=np.int32),
            values=np.zeros(0),
            first=np.zeros(capacity if sparse else 0, dtype=np.int64),
            lengths=np.zeros(capacity, dtype=np.int32),
            targets=np.zeros(capacity),
            weights=np.zeros(capacity),
            ends=np.zeros(2, dtype=np.int64),
        )

    def __getstate__(self) -> dict[str, Any]:
        # Elsewhere the arrays have other addresses.
        return {key: value for key, value in self.__dict__.items() if key != "_table"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._table = None

    @property
    def table(self) -> NDArray[np.int64]:
        """The places of the arrays as kernels take them; another one whenever an array is another."""
        if self._table is None or self._table[0] is not self.arrays:
            width = self.arrays.matrix.shape[1]
            self._table = self.arrays, np.array([width, *(address_of(array) for array in self.arrays)], dtype=np.int64)
        return self._table[1]

    def put(self, slot: int, x: NDArray[np.float64], columns: NDArray[np.int64] | None = None) -> None:
        """Store a row in a slot, with its columns or in the first ones."""
        put(address_of(self.table), slot, 0 if columns is None else address_of(columns), address_of(x), len(x))

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(array.nbytes for array in self.arrays)

    def has_room(self, width: int) -> bool:
        """Whether any rows of so many columns fit in: short ones that the matrix has columns for."""
        return max(width, 1) <= min(ALWAYS_DENSE, self.arrays.matrix.shape[1])

    def reserve(self, width: int, rows: int, entries: int, size: int) -> None:
        """Make room for rows to come.

        Parameters
        ----------
        width
            Number of columns that a row may have.
        rows, entries
            How many rows come, and how many entries they have together that are neither absent nor zero.
        size
            Number of rows held now.

        """
        # Columns 0 would look like packed entries.
        width = max(width, 1)
        if width > ALWAYS_DENSE:
            # Of shorter rows some are let in without asking for room, by how they come: counts would tell nothing.
            self._seen += rows, entries
            if not self.sparse and 3 * self._seen[1] < width * self._seen[0]:
                self._pack(size)
        if self.sparse:
            self._make_room(entries, size)
        elif width > self.arrays.matrix.shape[1]:
            self._widen(width, size)

    def _widen(self, width: int, size: int) -> None:
        old = self.arrays.matrix
        # The first width is taken as it is; when names keep coming, some room saves copying the window each time.
        matrix = np.zeros((self.capacity, width if old.shape[1] == 0 else width + width // 8))
        matrix[:size, : old.shape[1]] = old[:size]
        self.arrays = self.arrays._replace(matrix=matrix)

    def _pack(self, size: int) -> None:
        dense = self.arrays.matrix
        self.sparse = True
        self.arrays = self.arrays._replace(matrix=np.zeros((0, 0)), first=np.zeros(self.capacity, dtype=np.int64))
        self.arrays.lengths[:] = 0
        self._make_room(int(np.count_nonzero(dense[:size])), 0)
        for slot in range(size if dense.shape[1] else 0):
            self.put(slot, dense[slot])

    def _make_room(self, entries: int, size: int) -> None:
        arrays = self.arrays
        end, live = int(arrays.ends[END]), int(arrays.ends[LIVE])
        if end + entries <= len(arrays.values):
            return
        self._compact(size)
        if live + entries <= 0.75 * len(arrays.values):
            return
        room = max(1024, 3 * (live + entries) // 2)
        columns, values = np.zeros(room, dtype=np.int32), np.zeros(room)
        columns[:live], values[:live] = arrays.columns[:live], arrays.values[:live]
        self.arrays = arrays._replace(columns=columns, values=values)

    def _compact(self, size: int) -> None:
        """Move the entries of the rows held together, in the order in which they lie."""
        arrays = self.arrays
        order = np.argsort(arrays.first[:size], kind="stable")
        lengths = arrays.lengths[order].astype(np.int64)
        ends = np.cumsum(lengths)
        live = int(ends[-1]) if size else 0
        # Entry k of a row lies k places behind its first one, before and after.
        places = np.repeat(arrays.first[order] - (ends - lengths), lengths) + np.arange(live)
        arrays.columns[:live], arrays.values[:live] = arrays.columns[places], arrays.values[places]
        arrays.first[order] = ends - lengths
        arrays.ends[END] = live

    def row(self, slot: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the columns and values of a row that are not zero."""
        arrays, length = self.arrays, int(self.arrays.lengths[slot])
        if self.sparse:
            place = slice(int(arrays.first[slot]), int(arrays.first[slot]) + length)
            return arrays.columns[place].astype(np.int64), arrays.values[place].copy()
        columns = np.flatnonzero(arrays.matrix[slot, :length])
        return columns, arrays.matrix[slot, columns]

    def state_dict(self, size: int) -> dict[str, Any]:
        """Return the rows held as a flat dictionary of arrays."""
        arrays = self.arrays
        if self.sparse:
            self._compact(size)
        live = int(arrays.ends[LIVE])
        return {
            "sparse": self.sparse,
            "seen": self._seen.copy(),
            "matrix": arrays.matrix[:size].copy(),
            "columns": arrays.columns[:live].copy(),
            "values": arrays.values[:live].copy(),
            "first": arrays.first[: size if self.sparse else 0].copy(),
            "lengths": arrays.lengths[:size].copy(),
            "targets": arrays.targets[:size].copy(),
            "weights": arrays.weights[:size].copy(),
        }

    def load_state_dict(self, state: dict[str, Any], size: int, width: int) -> None:
        """Take up the rows of a window of the same capacity, which holds `size` rows of up to `width` columns."""
        sparse = bool(state["sparse"])
        expected = {
            "seen": ArrayOf("int64", (2,), low=0),
            "matrix": ArrayOf("float64", (0 if sparse else "rows", "columns")),
            "columns": ArrayOf("int32", ("entries",), low=0, below=width),
            "values": ArrayOf("float64", ("entries",)),
            "first": ArrayOf("int64", ("rows" if sparse else 0,), low=0),
            "lengths": ArrayOf("int32", ("rows",), low=0, high=width),
            "targets": ArrayOf("float64", ("rows",)),
            "weights": ArrayOf("float64", ("rows",), low=0.0),
        }
        spans = [Spans("first", "lengths", within="values")] if sparse else []
        found = check_state(state, expected, *spans, rows=size)
        if not sparse and size and state["lengths"].max() > found["columns"]:
            raise ValueError(f"lengths must be at most {found['columns']}, the columns of matrix")
        self.__init__(self.capacity, bool(state["sparse"]))  # type: ignore[misc]
        self._seen[:] = state["seen"]
        size, live = len(state["targets"]), len(state["values"])
        if not self.sparse:
            matrix = np.zeros((self.capacity, np.shape(state["matrix"])[1]))
            self.arrays = self.arrays._replace(matrix=matrix)
            matrix[:size] = state["matrix"]
        self.arrays = self.arrays._replace(
            columns=np.array(state["columns"], dtype=np.int32), values=np.array(state["values"], dtype=np.float64)
        )
        for name in ("first", "lengths", "targets", "weights"):
            getattr(self.arrays, name)[: len(state[name])] = state[name]
        self.arrays.ends[:] = live, live
