"""Feature maps: which column of a learner's weight vector a feature's name stands for.

Dicts and Arrow batches share one map, so both speeds learn one model. A number or a boolean is the feature of its own
name; a text value `v` of `c` is the feature `c=v` with value 1; a missing value is no feature at all.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LARGEST_NUMBER", "FeatureMap", "HashedFeatureMap", "text_feature"]

# Whole numbers that name features are looked up in a table while they are smaller, which bounds it to 32 MiB.
LARGEST_NUMBER = 1 << 22


def text_feature(column: Hashable, value: str) -> str:
    """Return the feature that stands for a text value of a column."""
    return f"{column}={value}"


class NumberNames:
    """The columns of features that are named by whole numbers: one table instead of a look-up per name."""

    def __init__(self) -> None:
        self._columns: NDArray[np.int64] = np.empty(0, dtype=np.int64)

    def find(self, numbers: NDArray[Any], find: Callable[[Hashable], int]) -> NDArray[np.int64]:
        """Return the column of each number in 0..LARGEST_NUMBER, or -1; `find` is called once for each unknown one."""
        length = int(numbers.max(initial=-1)) + 1
        if length > len(self._columns):
            grown = np.full(max(length, 2 * len(self._columns)), -1, dtype=np.int64)
            grown[: len(self._columns)] = self._columns
            self._columns = grown
        columns = self._columns[numbers]
        if columns.min(initial=0) < 0:
            unknown = np.unique(numbers[columns < 0]).tolist()
            self._columns[unknown] = [find(str(number)) for number in unknown]
            columns = self._columns[numbers]
        return columns

    def forget(self, length: int) -> None:
        """Forget columns from `length` on."""
        self._columns[self._columns >= length] = -1


class FeatureMap:
    """A growing map from feature names to columns 0, 1, 2, ...

    The new names of one row get their columns in sorted order, so that the order of a dict's keys never matters.

    Examples
    --------
    >>> from stream_maxloss.features import FeatureMap
    >>> features = FeatureMap()
    >>> features.add({"b", "a"})
    >>> features.find("b"), features.find("unknown"), features.names
    (1, -1, ['a', 'b'])

    """

    grows = True
    # Of the batches that are read with this map: kept for the next one (`rows.heading`), and no part of its state.
    heading: Any = None
    # How often names were forgotten: what was looked up before may then mean something else.
    cuts = 0

    def __init__(self) -> None:
        self._columns: dict[Hashable, int] = {}
        self._numbers = NumberNames()

    def __len__(self) -> int:
        return len(self._columns)

    def __getstate__(self) -> dict[str, Any]:
        # The table of numbers follows from the names.
        return {"_columns": self._columns}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._columns = state["_columns"]
        self._numbers = NumberNames()

    @property
    def names(self) -> list[Hashable]:
        """Names in the order of their columns."""
        return list(self._columns)

    def find(self, name: Hashable) -> int:
        """Return the column of a name, or -1."""
        return self._columns.get(name, -1)

    def is_same_as(self, other: Any) -> bool:
        """Return whether another map gives every name the same column."""
        return isinstance(other, FeatureMap) and self._columns == other._columns

    def find_numbers(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """Return the columns of the names "0", "1", ..., given as numbers below LARGEST_NUMBER, or -1."""
        return self._numbers.find(numbers, self.find)

    def name_of(self, column: int) -> Hashable:
        """Return the name of a column."""
        return self.names[column]

    def add(self, names: Iterable[Hashable]) -> None:
        """Assign columns to the names of one row that have none yet."""
        columns = self._columns
        for name in sorted(dict.fromkeys(name for name in names if name not in columns), key=str):
            columns[name] = len(columns)

    def truncate(self, length: int) -> None:
        """Forget the names that were added last, down to `length` of them."""
        if len(self._columns) > length:
            self.cuts += 1
            self._numbers.forget(length)
        while len(self._columns) > length:
            self._columns.popitem()

    def state_dict(self) -> dict[str, Any]:
        """Return the names as JSON: text as it is, whole numbers as {"int": n}."""
        names: list[Any] = []
        # A copy, made at once: another thread may be adding names.
        for name in self.names:
            if isinstance(name, str):
                names.append(name)
            elif isinstance(name, int) and not isinstance(name, bool):
                names.append({"int": name})
            else:
                raise ValueError(f"a feature name must be text or a whole number to be saved, got {name!r}")
        return {"names": names}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over the names of `state_dict`.

        Raises
        ------
        ValueError
            If they are not texts and whole numbers, each of them once.

        """
        names = [_saved_name(name) for name in _saved_names(state["names"])]
        columns = {name: column for column, name in enumerate(names)}
        if len(columns) < len(names):
            raise ValueError(f"names must be there once each, got {len(names) - len(columns)} of them again")
        self._columns = columns
        self._numbers = NumberNames()


def _saved_names(names: Any) -> list[Any]:
    if not isinstance(names, list):
        raise ValueError(f"names must be a list, got {names!r:.80}")
    return names


def _saved_name(name: Any) -> Hashable:
    found = name.get("int") if isinstance(name, dict) and len(name) == 1 else name
    if type(found) is not (int if found is not name else str):
        raise ValueError(f"a name must be a text or a whole number, got {name!r:.80}")
    return found


class HashedFeatureMap:
    """A map onto a fixed number of columns, 2^bits, by hashing: memory is bounded, names are forgotten.

    Two names may share a column; with n features the expected share of features that collide is about n / 2^bits. The
    hash is the same in every process.

    Parameters
    ----------
    bits
        Columns are 2^bits. Each more doubles the memory and halves the collisions.

    Examples
    --------
    >>> from stream_maxloss.features import HashedFeatureMap
    >>> features = HashedFeatureMap(bits=4)
    >>> len(features), 0 <= features.find("anything") < 16
    (16, True)

    """

    grows = False
    heading: Any = None

    def __init__(self, bits: int) -> None:
        if not (isinstance(bits, int) and 1 <= bits <= 30):
            raise ValueError(f"hash_bits must be a whole number between 1 and 30, got {bits!r}; 18 is a good start")
        self.bits = bits
        self._numbers = NumberNames()

    def __getstate__(self) -> dict[str, Any]:
        return {"bits": self.bits}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.bits = state["bits"]
        self._numbers = NumberNames()

    def __len__(self) -> int:
        return 1 << self.bits

    @property
    def names(self) -> list[Hashable]:
        """Columns have no names of their own: `#0`, `#1`, ..."""
        return [f"#{column}" for column in range(len(self))]

    def find(self, name: Hashable) -> int:
        """Return the column of a name."""
        mixed = zlib.crc32(str(name).encode("utf-8", "surrogatepass"))
        # CRC is linear: names that differ in one digit land in a pattern. Mix the bits before cutting them off.
        mixed = ((mixed ^ (mixed >> 16)) * 0x85EBCA6B) & 0xFFFFFFFF
        mixed = ((mixed ^ (mixed >> 13)) * 0xC2B2AE35) & 0xFFFFFFFF
        return (mixed ^ (mixed >> 16)) & (len(self) - 1)

    def find_numbers(self, numbers: NDArray[Any]) -> NDArray[np.int64]:
        """Return the columns of the names "0", "1", ..., given as numbers below LARGEST_NUMBER."""
        return self._numbers.find(numbers, self.find)

    def name_of(self, column: int) -> Hashable:
        """Return the stand-in name of a column."""
        return f"#{column}"

    def add(self, names: Iterable[Hashable]) -> None:
        """Do nothing: every name has its column already."""

    def truncate(self, length: int) -> None:
        """Do nothing: no name was added."""

    def state_dict(self) -> dict[str, Any]:
        """Return nothing to save: the width is a parameter of the learner."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over nothing."""
