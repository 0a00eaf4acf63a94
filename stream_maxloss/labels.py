"""Labels: of the binary learners (bool, np.bool_, 0/1 or -1/+1) as signs, of regressors as finite numbers."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.errors import RowError

__all__ = ["SIGNS", "are_positive", "as_array", "place_of", "sign_of", "signs_of", "target_of", "targets_of"]

# True equals 1 and hashes like it, and so do np.True_ and 1.0: one look-up serves every form of a label.
SIGNS: dict[Any, float] = {1: 1.0, 0: -1.0, -1: -1.0}


def refuse(label: object, row: int | None = None) -> ValueError:
    """Return the error for something that is no binary label, alone or in a row of a batch."""
    reason = (
        f"label{place_of(row)} must be a bool, 0/1 or -1/+1, got {label!r}; "
        "for more than two classes use river.multiclass.OneVsRest"
    )
    return ValueError(reason) if row is None else RowError(row, reason)


def place_of(row: int | None) -> str:
    """Return the words for a row of a batch, or none for a row alone."""
    return "" if row is None else f" of row {row}"


def sign_of(label: object) -> float:
    """Return +1.0 or -1.0.

    Examples
    --------
    >>> from stream_maxloss.labels import sign_of
    >>> sign_of(True), sign_of(0), sign_of(-1)
    (1.0, -1.0, -1.0)

    """
    try:
        sign = SIGNS.get(label)
    except TypeError:
        sign = None
    if sign is None:
        raise refuse(label)
    return sign


def signs_of(labels: Any) -> NDArray[np.float64]:
    """Return the signs of a column of labels: a pandas or polars Series, an Arrow or numpy array, or a list.

    Examples
    --------
    >>> from stream_maxloss.labels import signs_of
    >>> signs_of([0, 1, 1])
    array([-1.,  1.,  1.])

    """
    bits = arrow_bits(labels)
    if bits is not None:
        return bits
    array = as_array(labels)
    if array.dtype == np.bool_:
        # Arithmetic takes half the time of a choice.
        signs = array.astype(np.float64)
        signs *= 2.0
        signs -= 1.0
        return signs
    if array.dtype.kind in "iuf":
        values = array.astype(np.float64, copy=False)
        wrong = ~((values == 1.0) | (values == 0.0) | (values == -1.0))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise refuse(array[row].item(), row)
        return np.where(values == 1.0, 1.0, -1.0)
    signs = np.empty(len(array))
    for row, label in enumerate(array.tolist()):
        try:
            signs[row] = sign_of(label)
        except ValueError as error:
            raise refuse(label, row) from error
    return signs


def arrow_bits(labels: Any) -> NDArray[np.float64] | None:
    """Return the signs of Arrow booleans without nulls, eight at a time from their bits; None for anything else."""
    if type(labels).__name__ != "BooleanArray" or labels.null_count or not len(labels):
        return None
    offset, length = labels.offset, len(labels)
    packed = np.frombuffer(labels.buffers()[1], dtype=np.uint8)[offset // 8 : (offset + length + 7) // 8]
    return signs_of_bytes().take(packed, axis=0).reshape(-1)[offset % 8 : offset % 8 + length]


@cache
def signs_of_bytes() -> NDArray[np.float64]:
    """Return the signs that the bits of each byte stand for, the lowest bit first."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1, bitorder="little")
    return np.where(bits == 1, 1.0, -1.0)


def are_positive(labels: Any) -> NDArray[np.bool_]:
    """Return for each of a column of binary labels whether it is the positive one.

    Examples
    --------
    >>> from stream_maxloss.labels import are_positive
    >>> are_positive([1, -1, True])
    array([ True, False,  True])

    """
    array = as_array(labels)
    return array if array.dtype == np.bool_ else signs_of(array) > 0.0


def target_of(y: Any, row: int | None = None) -> float:
    """Return a regressor's target as a float.

    Raises
    ------
    ValueError
        If it is no finite number.

    """
    try:
        target = math.nan if isinstance(y, str | bytes) else float(y)
    except (TypeError, ValueError, OverflowError):
        target = math.nan
    if not math.isfinite(target):
        reason = f"y{place_of(row)} must be a finite number, got {y!r}; leave the row out"
        raise ValueError(reason) if row is None else RowError(row, reason)
    return target


def targets_of(y: Any) -> NDArray[np.float64]:
    """Return a column of a regressor's targets.

    Examples
    --------
    >>> from stream_maxloss.labels import targets_of
    >>> targets_of([1, 2.5])
    array([1. , 2.5])

    """
    array = as_array(y)
    if array.dtype.kind in "biuf":
        targets = array.astype(np.float64)
        if np.isfinite(targets).all():
            return targets
    return np.array([target_of(value, row) for row, value in enumerate(array.tolist())])


def as_array(column: Any) -> NDArray[Any]:
    """Return any column-like object as a one-dimensional numpy array, a frame of one column among them.

    Raises
    ------
    ValueError
        If there are several columns.

    """
    if isinstance(column, np.ndarray) and column.ndim == 1:
        return column
    array = plain_array(column)
    if array.ndim > 1 and array.size != len(array):
        names = list(getattr(column, "columns", ()))
        which = f"y[{names[0]!r}]" if names and isinstance(names[0], str) else "y[:, 0]"
        raise ValueError(f"y must be one column, got {array.size // max(1, len(array))}; take one of them: {which}")
    return array.reshape(-1)


def plain_array(column: Any) -> NDArray[Any]:
    """Return any column-like object as a numpy array."""
    if hasattr(column, "to_numpy"):
        if hasattr(column, "combine_chunks") or hasattr(column, "buffers"):
            # Arrow: a null makes numbers NaN and booleans objects, and both are refused by name later on.
            return column.to_numpy() if hasattr(column, "chunks") else column.to_numpy(zero_copy_only=False)
        return np.asarray(column.to_numpy())
    return np.asarray(column)
