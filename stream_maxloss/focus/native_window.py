"""Rows as numbers, for our own learners: a matrix while rows are dense, packed entries once they are sparse."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.linear.compiled import compiled, inner
from stream_maxloss.linear.scoring import SUM_IN_LANES

__all__ = ["NativeWindow", "WindowArrays", "put_dense", "put_entries", "put_in_matrix"]

# Rows of up to this many columns stay in a matrix whatever they hold, and have the same sums there as packed.
ALWAYS_DENSE = SUM_IN_LANES
# Places in the array `ends`.
END, LIVE = range(2)


class WindowArrays(NamedTuple):
    """The arrays of a window, as kernels take them: `matrix` has no columns where rows are sparse."""

    matrix: NDArray[np.float64]
    columns: NDArray[np.int32]
    values: NDArray[np.float64]
    first: NDArray[np.int64]
    lengths: NDArray[np.int32]
    targets: NDArray[np.float64]
    weights: NDArray[np.float64]
    ends: NDArray[np.int64]


@inner
def put_in_matrix(matrix: Any, lengths: Any, slot: int, X: Any, i: int, length: int) -> None:
    """Store the first `length` values of row i of a matrix in a slot of another, with 0 for absent ones."""
    present = 0
    for j in range(length):
        if np.isnan(X[i, j]):
            matrix[slot, j] = 0.0
        else:
            matrix[slot, j] = X[i, j]
            present = j + 1
    for j in range(length, matrix.shape[1]):
        matrix[slot, j] = 0.0
    lengths[slot] = present


@compiled
def put_dense(window: WindowArrays, slot: int, X: Any, i: int, length: int) -> None:
    """Store the first `length` values of row i of a matrix, of which NaN are absent."""
    if window.matrix.shape[1] > 0:
        put_in_matrix(window.matrix, window.lengths, slot, X, i, length)
        return
    _open_slot(window, slot)
    for j in range(length):
        if X[i, j] != 0.0 and not np.isnan(X[i, j]):
            _append(window, slot, j, X[i, j])


@compiled
def put_entries(window: WindowArrays, slot: int, columns: Any, place: int, x: Any, first: int, length: int) -> None:
    """Store a sparse row: `length` columns from `place` on, which ascend, their values from `first` on."""
    if window.matrix.shape[1] > 0:
        matrix = window.matrix
        for j in range(matrix.shape[1]):
            matrix[slot, j] = 0.0
        present = 0
        for k in range(length):
            if not np.isnan(x[first + k]):
                matrix[slot, columns[place + k]] = x[first + k]
                present = columns[place + k] + 1
        window.lengths[slot] = present
        return
    _open_slot(window, slot)
    for k in range(length):
        if x[first + k] != 0.0 and not np.isnan(x[first + k]):
            _append(window, slot, columns[place + k], x[first + k])


@inner
def _open_slot(window: WindowArrays, slot: int) -> None:
    window.ends[LIVE] -= window.lengths[slot]
    window.first[slot] = window.ends[END]
    window.lengths[slot] = 0


@inner
def _append(window: WindowArrays, slot: int, column: int, value: float) -> None:
    end = window.ends[END]
    window.columns[end] = column
    window.values[end] = value
    window.lengths[slot] += 1
    window.ends[END] += 1
    window.ends[LIVE] += 1


@compiled
def _compact(window: WindowArrays, size: int) -> None:
    end = 0
    for slot in np.argsort(window.first[:size]):
        first = window.first[slot]
        window.first[slot] = end
        for k in range(first, first + window.lengths[slot]):
            window.columns[end] = window.columns[k]
            window.values[end] = window.values[k]
            end += 1
    window.ends[END] = end


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
    >>> from stream_maxloss.focus.native_window import NativeWindow, put_entries
    >>> window = NativeWindow(capacity=4)
    >>> window.reserve(width=3, rows=1, entries=2, size=0)
    >>> put_entries(window.arrays, 0, np.array([0, 2]), 0, np.array([1.5, 2.5]), 0, 2)
    >>> window.row(0)
    (array([0, 2]), array([1.5, 2.5]))

    """

    def __init__(self, capacity: int, sparse: bool = False) -> None:
        self.capacity = capacity
        self.sparse = sparse
        self._seen = np.zeros(2, dtype=np.int64)  # rows, entries
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
        if self.has_room(width):
            return
        # Columns 0 would look like packed entries.
        width = max(width, 1)
        self._seen += rows, entries
        if not self.sparse and width > ALWAYS_DENSE and 3 * self._seen[1] < width * self._seen[0]:
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
            put_dense(self.arrays, slot, dense, slot, dense.shape[1])

    def _make_room(self, entries: int, size: int) -> None:
        arrays = self.arrays
        end, live = int(arrays.ends[END]), int(arrays.ends[LIVE])
        if end + entries <= len(arrays.values):
            return
        _compact(arrays, size)
        if live + entries <= 0.75 * len(arrays.values):
            return
        room = max(1024, 3 * (live + entries) // 2)
        columns, values = np.zeros(room, dtype=np.int32), np.zeros(room)
        columns[:live], values[:live] = arrays.columns[:live], arrays.values[:live]
        self.arrays = arrays._replace(columns=columns, values=values)

    def row(self, slot: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Give the columns and values of a row that are not zero."""
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
            _compact(arrays, size)
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

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up the rows of a window of the same capacity."""
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
