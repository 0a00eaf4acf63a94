"""What `Bins` and `Ferns` share: rows and frames, and pipelines that learn batches row by row."""

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

__all__ = ["RowTransformer"]


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
