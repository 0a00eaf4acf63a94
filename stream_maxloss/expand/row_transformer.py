"""What `Bins` and `Ferns` share: pipelines that learn batches row by row, and flags of rows as Arrow columns.

Flags are a map of few different names to numbers, which learners read without strings.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_maxloss.expand.entries import Frame
from stream_maxloss.linear.native import is_record_batch, native_frame
from stream_maxloss.linear.pipeline import RowPipeline
from stream_maxloss.rows.frame import is_arrow

__all__ = ["FlagMap", "RowTransformer", "as_record_batch", "flag_column"]

# Arrow counts the entries of maps with 32 bits.
MOST_ENTRIES = (1 << 31) - 1
Integers = NDArray[np.int64]


class RowTransformer(base.MiniBatchTransformer):
    """Base of `Bins` and `Ferns`: what they do to a row they do to each row of a frame, in order, with the same bits.

    A subclass has `_changes_at(frame)`, the first row that changes what rows are transformed to, or None;
    `_take(frame)`, which learns rows before that one, and `_learn_row(frame)` for it; and `_expand(frame)`, the
    features of each row as an Arrow record batch.
    """

    def __or__(self, other: Any) -> Any:
        return RowPipeline(self, other)

    def _changes_at(self, frame: Frame) -> int | None:
        raise NotImplementedError

    def _take(self, frame: Frame) -> None:
        raise NotImplementedError

    def _expand(self, frame: Frame) -> Any:
        raise NotImplementedError

    def undo(self) -> None:
        """Take back the row that was learned last."""
        raise NotImplementedError

    @staticmethod
    def open(X: Any) -> Frame:
        """Return a frame as the calls below read it, so that it is read once."""
        return Frame.of(X)

    def steady_rows(self, X: Any) -> int:
        """Return how many of the first rows of a frame change nothing about what rows are transformed to."""
        frame = Frame.of(X)
        change = self._changes_at(frame)
        return frame.num_rows if change is None else change

    def learn_many(self, X: Any) -> None:
        """Learn the rows of a frame, one after another."""
        frame, first = Frame.of(X), 0
        while first < frame.num_rows:
            rest = frame.part(first, frame.num_rows)
            change = self._changes_at(rest)
            if change is None:
                self._take(rest)
                return
            self._take(rest.part(0, change))
            self._learn_row(rest.part(change, change + 1))
            first += change + 1

    def _learn_row(self, frame: Frame) -> None:
        raise NotImplementedError

    def expand_many(self, X: Any) -> Any:
        """Return the features of each row as an Arrow record batch, categories and maps among its columns."""
        return self._expand(Frame.of(X))

    def transform_many(self, X: Any) -> Any:
        """Return the features of the rows of a frame: for Arrow with categories and maps, which our learners read fast.

        For other libraries it is a frame like `X` with a column for each feature that occurs, 0 where it does not.
        """
        batch = self.expand_many(X)
        if is_arrow(X):
            import pyarrow as pa

            return batch if is_record_batch(X) else pa.Table.from_batches([batch])
        return native_frame(spread(batch, batch.num_rows), X)


def spread(batch: Any, rows: int) -> dict[Hashable, NDArray[np.float64]]:
    """Return a column for each feature of a record batch, 0 where a row does not have it."""
    frame = Frame.of(batch)
    columns: dict[Hashable, NDArray[np.float64]] = {}
    for entries in (frame.numbers(), frame.texts()):
        for name, places, values in entries:
            column = columns.setdefault(name, np.zeros(rows))
            column[places] = values
    return columns


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
