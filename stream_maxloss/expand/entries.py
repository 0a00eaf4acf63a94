"""The features of a frame, each with the rows that have it."""

from __future__ import annotations

from collections.abc import Container, Hashable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.errors import RowError
from stream_maxloss.rows.columns import (
    MapColumn,
    NumberColumn,
    NumberedMapColumn,
    TextColumn,
    check_finite,
    read_columns,
)
from stream_maxloss.rows.frame import to_record_batch
from stream_maxloss.rows.text_lists import TextListColumn, is_text_list

__all__ = ["LARGEST", "Entry", "Frame", "is_text", "rows_of"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Numbers beyond count as this large: thresholds are kept in single precision.
LARGEST = 1e30


class Entry(NamedTuple):
    """One feature of a frame: its name, and in ascending order the rows that have it, with its values there."""

    name: Hashable
    rows: Integers
    values: Floats


class Frame:
    """A frame as a transformer reads it.

    Parameters
    ----------
    names
        The columns' names, as the caller spells them.
    batch
        The data, as an Arrow record batch.
    rows
        Their number, which Arrow forgets of a batch without columns.

    Raises
    ------
    RowError
        If a value is infinite.

    """

    def __init__(self, names: list[Hashable], batch: Any, rows: int) -> None:
        self.names, self.batch, self.num_rows = names, batch, rows
        self.columns = read_columns(names, batch)
        for column in self.columns:
            if isinstance(column, NumberColumn):
                require_finite(column)
            elif not isinstance(column, TextColumn):
                check_finite(column)

    @classmethod
    def of(cls, X: Any) -> Frame:
        """Return a frame of any library, or one that was read already, as it is read here."""
        if isinstance(X, cls):
            return X
        names, batch = to_record_batch(X)
        return cls(names, batch, batch.num_rows if names else len(X))

    def part(self, first: int, last: int) -> Frame:
        """Return the rows `first..last`."""
        if (first, last) == (0, self.num_rows):
            return self
        return Frame(self.names, self.batch.slice(first, last - first), last - first)

    def numbers(self, known: Container[Hashable] = ()) -> Iterator[Entry]:
        """Yield the features that are numbers, without those known already."""
        for column in self.columns:
            if isinstance(column, NumberColumn):
                if column.name not in known:
                    rows = np.flatnonzero(~np.isnan(column.values))
                    yield Entry(column.name, rows, np.clip(column.values[rows], -LARGEST, LARGEST))
            elif not isinstance(column, TextColumn | TextListColumn):
                yield from (entry for entry in map_entries(column) if entry.name not in known)

    def texts(self, known: Container[Hashable] = ()) -> Iterator[Entry]:
        """Yield a feature of value 1 for each text value, without those known already."""
        for column in self.columns:
            if isinstance(column, TextListColumn):
                yield from (entry for entry in map_entries(column) if entry.name not in known)
            elif isinstance(column, TextColumn):
                for code, rows in grouped(column.codes):
                    if code >= 0 and column.features[code] not in known:
                        yield Entry(column.features[code], rows, np.ones(len(rows)))


def require_finite(column: NumberColumn) -> None:
    """Raise RowError for the first infinite value of a column."""
    infinite = np.isinf(column.values)
    if infinite.any():
        row = int(np.argmax(infinite))
        raise RowError(
            row,
            f"feature {column.name!r} of row {row} must be finite, got {column.values[row].item()!r}; "
            "clip it or leave it out",
        )


def map_entries(column: MapColumn | NumberedMapColumn) -> Iterator[Entry]:
    """Yield the features of a column of maps."""
    rows = np.repeat(np.arange(len(column.indptr) - 1), np.diff(column.indptr))
    keys = column.keys
    for code, places in grouped(column.codes):
        values = column.values[places]
        present = ~np.isnan(values)
        if present.any():
            yield Entry(keys[code], rows[places][present], np.clip(values[present], -LARGEST, LARGEST))


def grouped(codes: Integers) -> Iterator[tuple[int, Integers]]:
    """Yield each code with its places, in ascending order."""
    order = np.argsort(codes, kind="stable")
    found, first = np.unique(codes[order], return_index=True)
    yield from zip(found.tolist(), np.split(order, first[1:]), strict=len(found) > 0)


def rows_of(entries: Iterable[Entry], rows: int) -> list[dict[Hashable, float]]:
    """Return the entries row by row."""
    found: list[dict[Hashable, float]] = [{} for _ in range(rows)]
    for name, places, values in entries:
        for row, value in zip(places.tolist(), values.tolist(), strict=True):
            found[row][name] = value
    return found


def is_text(kind: Any) -> bool:
    """Return whether an Arrow column holds text, categories or lists of text."""
    import pyarrow as pa

    types = pa.types
    return is_text_list(kind) or bool(
        types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind) or types.is_dictionary(kind)
    )
