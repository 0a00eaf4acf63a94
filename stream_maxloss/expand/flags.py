"""Flags of rows as Arrow columns: a map of few different names to numbers, which learners read without strings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["FlagMap", "as_record_batch", "flag_column"]

# Arrow counts the entries of maps with 32 bits.
MOST_ENTRIES = (1 << 31) - 1

Integers = NDArray[np.int64]


def flag_column(offsets: Integers, codes: NDArray[Any], names: list[str], value: float) -> Any:
    """Return a column of maps from names, given as places in a list of them, to one value."""
    import pyarrow as pa

    if len(codes) > MOST_ENTRIES:
        raise ValueError(f"a frame must have at most {MOST_ENTRIES} features in all rows, got {len(codes)}; cut it")
    keys = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(names, type=pa.string()))
    return pa.MapArray.from_arrays(pa.array(offsets.astype(np.int32)), keys, pa.array(np.full(len(codes), value)))


def as_record_batch(columns: dict[str, Any], rows: int) -> Any:
    """Return columns as a record batch, which keeps its rows also without any column."""
    import pyarrow as pa

    if not columns:
        return pa.record_batch({"nothing": pa.nulls(rows)})
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


class FlagMap:
    """Collects flags feature by feature, and returns them row by row.

    Parameters
    ----------
    rows
        Number of rows.

    """

    def __init__(self, rows: int) -> None:
        self.num_rows = rows
        self.names: list[str] = []
        self.rows: list[Integers] = []
        self.codes: list[Integers] = []

    def add(self, names: list[str], rows: Integers, codes: Integers) -> None:
        """Give some rows a flag each: the place of its name among `names`."""
        self.rows.append(rows)
        self.codes.append(codes + len(self.names))
        self.names += names

    def column(self) -> Any:
        """Return the flags as a column of maps."""
        rows = np.concatenate([np.empty(0, dtype=np.int64), *self.rows])
        codes = np.concatenate([np.empty(0, dtype=np.int64), *self.codes])
        order = np.argsort(rows, kind="stable")
        offsets = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=self.num_rows))])
        return flag_column(offsets, codes[order].astype(np.int32), self.names, 1.0)
