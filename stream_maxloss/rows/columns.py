"""The columns of a frame as features: numbers, text and maps."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.errors import RowError
from stream_maxloss.features import LARGEST_NUMBER, FeatureMap, HashedFeatureMap, text_feature
from stream_maxloss.rows.csr import Fixed, Ragged

__all__ = ["MapColumn", "NumberColumn", "NumberedMapColumn", "TextColumn", "check_finite", "read_columns"]

Features = FeatureMap | HashedFeatureMap


class NumberColumn:
    """A column of numbers or booleans: one feature, absent where it is null."""

    def __init__(self, name: Hashable, values: NDArray[np.float64]) -> None:
        self.name = name
        self.values = values

    def arrivals(self, features: Features) -> Iterator[tuple[int, Hashable]]:
        """Yield the feature with its first row, if it is new and ever present."""
        if features.find(self.name) < 0:
            present = ~np.isnan(self.values)
            if present.any():
                yield int(np.argmax(present)), self.name

    def entries(self, features: Features) -> Fixed:
        """Return one entry per row, column -1 where it is absent or unknown."""
        column = features.find(self.name)
        return Fixed(np.where(np.isnan(self.values), -1, column), np.ascontiguousarray(self.values))

    def numeric_names(self) -> list[Hashable]:
        """Return the features that are numbers: the column itself."""
        return [self.name]


class TextColumn:
    """A column of text or categories: one feature `column=value` per value.

    Parameters
    ----------
    name
        The column's name.
    codes
        For each row the place of its value in `values`, or -1 for null.
    values
        The distinct values. Codes are local to a batch, so they never leave this object.

    """

    def __init__(self, name: Hashable, codes: NDArray[np.int64], values: list[str]) -> None:
        self.codes = codes
        self.features = [text_feature(name, value) for value in values]

    def arrivals(self, features: Features) -> Iterator[tuple[int, Hashable]]:
        """Yield each new feature with its first row."""
        codes, rows = np.unique(self.codes, return_index=True)
        for code, row in zip(codes.tolist(), rows.tolist(), strict=True):
            if code >= 0 and features.find(self.features[code]) < 0:
                yield row, self.features[code]

    def entries(self, features: Features) -> Fixed:
        """Return one entry of value 1 per row, column -1 where it is null or unknown."""
        columns = np.array([*map(features.find, self.features), -1], dtype=np.int64)
        return Fixed(columns[self.codes], np.ones(len(self.codes)))

    def numeric_names(self) -> list[Hashable]:
        """Return the features that are numbers: none."""
        return []


class MapColumn:
    """A column of Arrow maps from feature name to number: sparse rows, each entry a feature named by its key."""

    def __init__(
        self, indptr: NDArray[np.int64], codes: NDArray[np.int64], keys: list[str], values: Any, sorts: bool = False
    ) -> None:
        self.sorts = sorts
        self.indptr = indptr
        self.codes = codes
        self.keys = keys
        self.values = values

    def entry_names(self) -> list[str]:
        """Return the name of each entry."""
        return [self.keys[code] for code in self.codes.tolist()]

    def arrivals(self, features: Features) -> Iterator[tuple[int, Hashable]]:
        """Yield each new feature with its first row."""
        new = np.array([features.find(key) < 0 for key in self.keys], dtype=bool)
        if not new.any():
            return
        places = np.flatnonzero(new[self.codes] & ~np.isnan(self.values))
        codes, first = np.unique(self.codes[places], return_index=True)
        rows = np.searchsorted(self.indptr, places[first], side="right") - 1
        for code, row in zip(codes.tolist(), rows.tolist(), strict=True):
            yield row, self.keys[code]

    def entries(self, features: Features) -> Ragged:
        """Return the entries of each row, column -1 where they are null or unknown."""
        columns = np.fromiter(map(features.find, self.keys), dtype=np.int64, count=len(self.keys))
        indices = columns[self.codes] if len(self.keys) else np.empty(0, dtype=np.int64)
        return Ragged(self.indptr, np.where(np.isnan(self.values), -1, indices), self.values, self.sorts)

    def numeric_names(self) -> list[Hashable]:
        """Return the features that are numbers: all keys."""
        return list(self.keys)


class NumberedMapColumn:
    """A column of Arrow maps from whole number to number: sparse rows, each entry a feature named by its number."""

    def __init__(self, indptr: NDArray[np.int64], numbers: NDArray[Any], values: NDArray[np.float64]) -> None:
        self.indptr = indptr
        self.numbers = numbers
        self.values = values
        self._columns: NDArray[np.int64] | None = None

    def entry_names(self) -> list[str]:
        """Return the name of each entry."""
        return [str(number) for number in self.numbers.tolist()]

    def arrivals(self, features: Features) -> Iterator[tuple[int, Hashable]]:
        """Yield each new feature with its first row."""
        columns = features.find_numbers(self.numbers)
        if columns.min(initial=0) >= 0:
            # All are known, so that `entries` need not look again.
            self._columns = columns
            return
        places = np.flatnonzero(columns < 0)
        places = places[~np.isnan(self.values[places])]
        numbers, first = np.unique(self.numbers[places], return_index=True)
        rows = np.searchsorted(self.indptr, places[first], side="right") - 1
        for number, row in zip(numbers.tolist(), rows.tolist(), strict=True):
            yield row, str(number)

    def entries(self, features: Features) -> Ragged:
        """Return the entries of each row, column -1 where they are null or unknown."""
        columns = features.find_numbers(self.numbers) if self._columns is None else self._columns
        absent = np.isnan(self.values)
        if absent.any():
            columns[absent] = -1
        return Ragged(self.indptr, columns, self.values)

    @property
    def keys(self) -> list[str]:
        """The distinct names, in the order of their numbers."""
        return [str(number) for number in np.unique(self.numbers).tolist()]

    @property
    def codes(self) -> NDArray[np.int64]:
        """For each entry the place of its name in `keys`."""
        return np.unique(self.numbers, return_inverse=True)[1]

    def numeric_names(self) -> list[Hashable]:
        """Return the features that are numbers: all of them."""
        return list(self.keys)


def check_finite(column: MapColumn | NumberedMapColumn) -> None:
    """Raise RowError for the first infinite value of a map column."""
    infinite = np.isinf(column.values)
    if infinite.any():
        place = int(np.argmax(infinite))
        row = int(np.searchsorted(column.indptr, place, side="right")) - 1
        raise RowError(
            row,
            f"feature {column.entry_names()[place]!r} of row {row} must be finite, "
            f"got {column.values[place].item()!r}; clip it or leave it out",
        )


def read_columns(names: list[Hashable], batch: Any) -> list[NumberColumn | TextColumn | MapColumn | NumberedMapColumn]:
    """Return the typed columns of a record batch.

    Raises
    ------
    ValueError
        If a column has a type that is no feature, or holds an infinity.

    """
    import pyarrow as pa

    from stream_maxloss.rows.text_lists import is_text_list, read_text_list

    types = pa.types
    columns: list[NumberColumn | TextColumn | MapColumn | NumberedMapColumn] = []
    for name, array in zip(names, batch.columns, strict=True):
        kind = array.type
        if types.is_null(kind):
            continue
        if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind):
            columns.append(NumberColumn(name, to_floats(array)))
        elif types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
            columns.append(read_text(name, array.cast(pa.string()).dictionary_encode()))
        elif types.is_dictionary(kind):
            columns.append(read_text(name, array))
        elif types.is_map(kind):
            columns.append(read_map(name, array))
        elif is_text_list(kind):
            columns.append(read_text_list(name, array))
        else:
            raise ValueError(
                f"column {name!r} must hold numbers, booleans, text, lists of text or maps, got {kind}; put "
                "stream_maxloss.intake.Intake() before the model, convert it or leave it out"
            )
    return columns


def to_floats(array: Any) -> NDArray[np.float64]:
    """Return an Arrow array of numbers as float64, NaN for null."""
    import pyarrow as pa

    # Arrow's own `to_numpy` loads pandas, where that is installed: a third of a second at the start of every run. And
    # its `cast` loads all of its functions.
    if not array.null_count and (pa.types.is_integer(array.type) or pa.types.is_floating(array.type)):
        return np.from_dlpack(array).astype(np.float64)
    if pa.types.is_decimal(array.type):
        array = array.cast(pa.string())  # Arrow's own cast rounds 8.2 and 8.20 differently
    floats = array.cast(pa.float64(), safe=False)
    return np.array(floats.to_numpy(zero_copy_only=False) if floats.null_count else np.from_dlpack(floats))


def read_text(name: Hashable, array: Any) -> TextColumn:
    """Return a dictionary-encoded column as text features."""
    import pyarrow as pa

    codes = array.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    values = array.dictionary.to_pylist()
    missing = [code for code, value in enumerate(values) if value is None or value != value]
    return TextColumn(name, np.where(np.isin(codes, missing), -1, codes), [str(value) for value in values])


def read_map(name: Hashable, array: Any) -> MapColumn | NumberedMapColumn:
    """Return a map column as sparse rows."""
    import pyarrow as pa

    if array.null_count:
        # A null map owns no entries, but its offsets may still span some.
        array = pa.array(array.to_pylist(), type=array.type)
    offsets = array.offsets.to_numpy().astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    keys = array.keys.slice(first, last - first)
    items = array.items.slice(first, last - first)
    if not (pa.types.is_integer(items.type) or pa.types.is_floating(items.type) or pa.types.is_boolean(items.type)):
        raise ValueError(f"column {name!r} must map names to numbers, got {array.type}; convert it or leave it out")
    if pa.types.is_integer(keys.type):
        numbers = keys.to_numpy(zero_copy_only=False)
        if numbers.min(initial=0) >= 0 and numbers.max(initial=0) < LARGEST_NUMBER:
            return NumberedMapColumn(offsets - first, numbers.astype(np.int64), to_floats(items))
    codes, distinct = encode_keys(keys)
    # Keys that are categories come from a transformer, whose rows are to have the same bits as its dicts.
    return MapColumn(offsets - first, codes, distinct, to_floats(items), sorts=pa.types.is_dictionary(keys.type))


def encode_keys(keys: Any) -> tuple[NDArray[np.int64], list[str]]:
    """Return a code per key and the distinct keys as text."""
    encoded = keys.dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int64), [str(key) for key in encoded.dictionary.to_pylist()]
