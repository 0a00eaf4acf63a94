"""One labelled stream, with the slices that matter."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["BINARY", "CLASSES", "NUMBER", "Stream"]

BINARY, CLASSES, NUMBER = "binary", "classes", "number"


@dataclass(frozen=True)
class Stream:
    """Rows in the order in which every system meets them.

    Parameters
    ----------
    table
        An Arrow table of the features: doubles and strings, or one column of maps from words to counts.
    labels
        For each row a boolean, a text (one of several classes) or a float, as `kind` says.
    slices
        By name, which rows belong to a slice.
    rare
        The slice that is easily missed, if there is one.
    kind
        `BINARY`, `CLASSES` or `NUMBER`.

    """

    table: Any
    labels: NDArray[Any]
    slices: dict[str, NDArray[np.bool_]]
    rare: str = ""
    kind: str = BINARY

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def is_sparse(self) -> bool:
        """Whether the rows are maps, of which most features are absent."""
        import pyarrow as pa

        return pa.types.is_map(self.table.schema.field(0).type)

    @property
    def classes(self) -> list[str]:
        """The labels that there are, in their order."""
        names: list[str] = np.unique(self.labels).tolist()
        return names

    def codes(self) -> NDArray[np.int64]:
        """Return the place of each row's label among the classes."""
        return np.searchsorted(np.array(self.classes), self.labels)

    def texts(self) -> list[str]:
        """Return the names of the columns that hold text."""
        import pyarrow as pa

        return [field.name for field in self.table.schema if pa.types.is_string(field.type)]

    def part(self, first: int, last: int) -> Stream:
        """Return the rows from `first` up to `last`."""
        rows = slice(first, last)
        slices = {name: mask[rows] for name, mask in self.slices.items()}
        return replace(self, table=self.table.slice(first, last - first), labels=self.labels[rows], slices=slices)

    def dicts(self) -> list[dict[str, Any]]:
        """Return the rows as River takes them."""
        if self.is_sparse:
            return [dict(row) for row in self.table.column(0).to_pylist()]
        rows: list[dict[str, Any]] = self.table.to_pylist()
        return rows
