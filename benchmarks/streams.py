"""Labelled streams with slices that matter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Stream"]


@dataclass(frozen=True)
class Stream:
    """Rows in the order in which every system meets them.

    Parameters
    ----------
    table
        An Arrow table of the features: doubles and strings, or one column of maps from words to counts.
    labels
        A boolean for each row.
    slices
        By name, which rows belong to a slice.
    rare
        The slice that is easily missed, if there is one.

    """

    table: Any
    labels: NDArray[np.bool_]
    slices: dict[str, NDArray[np.bool_]]
    rare: str = ""

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are maps, of which most features are absent."""
        import pyarrow as pa

        return pa.types.is_map(self.table.schema.field(0).type)

    def part(self, first: int, last: int) -> Stream:
        """Return the rows from `first` up to `last`."""
        rows = slice(first, last)
        slices = {name: mask[rows] for name, mask in self.slices.items()}
        return Stream(self.table.slice(first, last - first), self.labels[rows], slices, self.rare)

    def dicts(self) -> list[dict[str, Any]]:
        """Return the rows as River takes them."""
        if self.is_sparse:
            return [dict(row) for row in self.table.column(0).to_pylist()]
        rows: list[dict[str, Any]] = self.table.to_pylist()
        return rows
