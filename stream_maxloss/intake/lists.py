"""Lists of numbers as features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream_maxloss.rows.columns import to_floats

__all__ = ["LONGEST", "common_length", "is_list", "is_number_list", "spread_list", "sum_up_list"]

LONGEST = 256
"""Lists of one length up to this give a feature for each place; others are summed up."""


def is_list(kind: Any) -> bool:
    """Return whether an Arrow type is some kind of list."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def is_number_list(kind: Any) -> bool:
    """Return whether an Arrow type is a list of numbers or booleans; one that never had a value counts as such."""
    if not is_list(kind):
        return False
    value, types = kind.value_type, pa.types
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    return any(test(value) for test in tests)


def common_length(array: Any) -> int | None:
    """Return the one length of all lists, if they have one and it is short enough; else None."""
    lengths = {length for length in array.value_lengths().unique().to_pylist() if length is not None}
    length = lengths.pop() if len(lengths) == 1 else None
    return length if length is not None and 0 < length <= LONGEST else None


def parts_of(array: Any) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.bool_]]:
    """Return the length of each list (0 for null), all numbers behind each other, and which lists are null."""
    lengths = array.value_lengths().fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    missing = np.asarray(array.is_null().to_numpy(zero_copy_only=False), dtype=np.bool_)
    if pa.types.is_fixed_size_list(array.type):
        lengths[missing] = 0
    values = array.flatten()
    numbers = to_floats(values.cast(pa.float64())) if len(values) else np.empty(0)
    return lengths, numbers, missing


def spread_list(array: Any, size: int) -> tuple[list[NDArray[np.float64]], NDArray[np.bool_]]:
    """Return the numbers of each place, absent where the list is null, and which lists have another length.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.intake.lists import spread_list
    >>> columns, wrong = spread_list(pa.array([[1.0, 2.0], None, [3.0]]), size=2)
    >>> columns[0], wrong
    (array([ 1., nan, nan]), array([False, False,  True]))

    """
    lengths, numbers, missing = parts_of(array)
    fits = lengths == size
    matrix = np.full((len(lengths), size), np.nan)
    matrix[fits] = numbers[np.repeat(fits, lengths)].reshape(-1, size)
    return [np.ascontiguousarray(matrix[:, place]) for place in range(size)], ~fits & ~missing


def sum_up_list(array: Any) -> dict[str, NDArray[np.float64]]:
    """Return length, mean, least and largest number of each list, absent where there is none.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.intake.lists import sum_up_list
    >>> {name: values.tolist() for name, values in sum_up_list(pa.array([[1.0, 3.0], []])).items()}
    {'length': [2.0, 0.0], 'mean': [2.0, nan], 'min': [1.0, nan], 'max': [3.0, nan]}

    """
    lengths, numbers, missing = parts_of(array)
    found = {name: np.full(len(lengths), np.nan) for name in ("mean", "min", "max")}
    full = lengths > 0
    starts = (np.cumsum(lengths) - lengths)[full]
    if len(starts):
        found["mean"][full] = np.add.reduceat(numbers, starts) / lengths[full]
        found["min"][full] = np.minimum.reduceat(numbers, starts)
        found["max"][full] = np.maximum.reduceat(numbers, starts)
    return {"length": np.where(missing, np.nan, lengths.astype(np.float64)), **found}
