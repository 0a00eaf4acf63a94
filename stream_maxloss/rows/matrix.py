"""Columns of numbers as rows of a matrix, a cache-sized stretch at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, njit
from numpy.typing import NDArray

from stream_maxloss.rows.columns import to_floats
from stream_maxloss.rows.pointer import pointer_to_floats

__all__ = ["NumberTable"]

# Rows that are turned at once: their piece of the matrix stays in the cache while it fills.
TILE = 256


@njit(cache=True)
def gather(addresses: NDArray[np.int64], first: int, last: int, matrix: NDArray[np.float64]) -> None:
    """Write rows first..last of the columns at these addresses into a matrix, four columns at a time."""
    width = addresses.shape[0]
    out = matrix.reshape(matrix.size)
    for low in range(first, last, TILE):
        high = min(low + TILE, last)
        for j in range(0, width - 3, 4):
            a = carray(pointer_to_floats(addresses[j]), (last,))
            b = carray(pointer_to_floats(addresses[j + 1]), (last,))
            c = carray(pointer_to_floats(addresses[j + 2]), (last,))
            d = carray(pointer_to_floats(addresses[j + 3]), (last,))
            place = (low - first) * width + j
            for i in range(low, high):
                out[place] = a[i]
                out[place + 1] = b[i]
                out[place + 2] = c[i]
                out[place + 3] = d[i]
                place += width
        for j in range(width - width % 4, width):
            column = carray(pointer_to_floats(addresses[j]), (last,))
            for i in range(low, high):
                out[(i - first) * width + j] = column[i]


class NumberTable:
    """Some numeric columns of a record batch, to be read as rows.

    Columns of float64 without nulls are read where they lie; others are converted once, with NaN for null.

    Parameters
    ----------
    columns
        Arrow arrays of one length.

    """

    def __init__(self, columns: list[Any]) -> None:
        import pyarrow as pa

        wide = pa.float64()
        # What the addresses point into has to live as long as they do.
        self._kept: list[Any] = []
        addresses = []
        for column in columns:
            if column.type == wide and column.null_count == 0 and len(column):
                self._kept.append(column)
                addresses.append(column.buffers()[1].address + 8 * column.offset)
            else:
                values = to_floats(column)
                self._kept.append(values)
                addresses.append(values.ctypes.data)
        self.addresses = np.array(addresses, dtype=np.int64)

    def rows(self, first: int, last: int) -> NDArray[np.float64]:
        """Return a new matrix of some rows."""
        matrix = np.empty((last - first, len(self.addresses)))
        if matrix.size:
            gather(self.addresses, first, last, matrix)
        return matrix
