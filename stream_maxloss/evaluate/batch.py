"""Some consecutive rows, split into what a model and its scores take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["RowBatch"]


@dataclass(frozen=True)
class RowBatch:
    """Some consecutive rows.

    Parameters
    ----------
    X
        The features: a frame, or a list of dicts.
    y
        The labels as the model takes them; None where rows have none.
    w
        The sample weights, or None.
    slices
        The values of the slice column as text or None each, or None.
    address
        Return where a user finds a row of this batch.
    unlabelled
        Which rows have no label: these are predicted and not learned. None where all have one.
    records
        The same rows as they were read, with all columns, as an Arrow batch; None where nobody read them.
    said
        What was said of each row when it was asked for, before its label came: see `said_at_first`; or None.
    places
        What the source knows of them, such as a topic's partition, offset and key, as an Arrow batch, or None.

    """

    X: Any
    y: Any = None
    w: Any = None
    slices: NDArray[np.object_] | None = None
    address: Callable[[int], str] = "row {}".format
    unlabelled: NDArray[np.bool_] | None = None
    records: Any = None
    places: Any = None
    said: NDArray[np.object_] | None = None

    def __len__(self) -> int:
        return len(self.X) if isinstance(self.X, list) or not hasattr(self.X, "num_rows") else int(self.X.num_rows)

    def part(self, first: int, last: int) -> RowBatch:
        """Return the rows `first..last`."""
        if (first, last) == (0, len(self)):
            return self
        chosen, address = slice(first, last), self.address
        is_arrow = not isinstance(self.X, list) and not hasattr(self.X, "iloc")
        X = self.X.slice(first, last - first) if is_arrow else getattr(self.X, "iloc", self.X)[chosen]
        return replace(
            self, X=X, address=lambda row: address(first + row), **self._others(chosen), **self._read(chosen)
        )

    def without(self, rows: Sequence[int]) -> RowBatch:
        """Return the batch with some rows left out."""
        import pyarrow as pa

        kept = np.ones(len(self), dtype=np.bool_)
        kept[list(rows)] = False
        places, address = np.flatnonzero(kept), self.address
        X = self.X.filter(pa.array(kept))
        others = {**self._others(kept), **self._read(pa.array(kept))}
        return replace(self, X=X, address=lambda row: address(int(places[row])), **others)

    def runs(self) -> Iterator[RowBatch]:
        """Yield stretches of rows that all have labels, and of rows that have none, whose `y` is None, in turn."""
        if self.unlabelled is None or not self.unlabelled.any():
            yield self
            return
        ends = [*(np.flatnonzero(np.diff(self.unlabelled)) + 1).tolist(), len(self)]
        first = 0
        for last in ends:
            part = replace(self.part(first, last), unlabelled=None)
            yield replace(part, y=None) if self.unlabelled[first] else part
            first = last

    def _others(self, chosen: Any) -> dict[str, Any]:
        names = ("y", "w", "slices", "unlabelled", "said")
        return {name: None if (part := getattr(self, name)) is None else part[chosen] for name in names}

    def _read(self, chosen: Any) -> dict[str, Any]:
        """Return some of the rows as they were read."""
        parts = {name: getattr(self, name) for name in ("records", "places")}
        if isinstance(chosen, slice):
            first, count = chosen.start, chosen.stop - chosen.start
            return {name: None if part is None else part.slice(first, count) for name, part in parts.items()}
        return {name: None if part is None else part.filter(chosen) for name, part in parts.items()}
