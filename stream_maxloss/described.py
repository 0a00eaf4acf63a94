"""What the arrays of a state must be, said beside the class that owns them and checked here, for all classes alike.

A state may come from a file that somebody wrote to do harm. A kernel trusts every index, length and count that it is
given, so each is described once and compared with the arrays it points into before any of it is taken over.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["ArrayOf", "Spans", "check_count", "check_name", "check_numbers", "check_state", "check_time"]


@dataclass(frozen=True)
class ArrayOf:
    """The description of one array.

    Parameters
    ----------
    dtype
        Its type, by numpy's name.
    shape
        The length of each axis: a number, or a name, which stands for the same number wherever it occurs.
    low, high
        Bounds of its entries, both included; `high` may be the name of a length, and `below` excludes it.
    below
        An excluded upper bound: a number, or the name of a length, as for an array of indices.
    whole
        Whether entries of a float array must be whole numbers.
    finite
        Whether entries of a float array must be finite.

    """

    dtype: str
    shape: tuple[int | str, ...]
    low: float = -math.inf
    high: float | str = math.inf
    below: float | str = math.inf
    whole: bool = False
    finite: bool = True


@dataclass(frozen=True)
class Spans:
    """A pair of arrays, `first` and `lengths`, whose stretches must lie within a third one.

    Parameters
    ----------
    first, lengths, within
        Names in the state.

    """

    first: str
    lengths: str
    within: str


def check_state(
    state: Mapping[str, Any], expected: Mapping[str, ArrayOf], *spans: Spans, **sizes: int
) -> dict[str, int]:
    """Compare the arrays of a state with their descriptions; return the lengths by name.

    Parameters
    ----------
    state
        Name -> array. Entries without a description are not looked at.
    expected
        Name -> description.
    spans
        Stretches that must lie within an array.
    sizes
        Lengths that are known beforehand.

    Raises
    ------
    KeyError
        If an array is missing.
    ValueError
        If one is not as described; the message has its name, what was expected and what was found.

    Examples
    --------
    >>> import numpy as np
    >>> from stream_maxloss.described import ArrayOf, check_state
    >>> tree = {"children": ArrayOf("int64", ("nodes", 2), low=-1, below="nodes")}
    >>> check_state({"children": np.array([[1, 2], [-1, -1], [-1, -1]])}, tree)
    {'nodes': 3}
    >>> check_state({"children": np.array([[1, 2]])}, tree)
    Traceback (most recent call last):
    ...
    ValueError: children must lie in [-1, 1), got 1

    """
    arrays = {name: _array_of(state, name, description) for name, description in expected.items()}
    for name, description in expected.items():
        _check_shape(name, arrays[name].shape, description.shape, sizes)
    for name, description in expected.items():
        _check_entries(name, arrays[name], description, sizes)
    for span in spans:
        _check_span(span, arrays)
    return sizes


def check_numbers(
    name: str,
    found: NDArray[np.float64],
    own: NDArray[np.float64],
    *,
    settled: Iterable[int] = (),
    counts: Mapping[int, float] | None = None,
    positive: Iterable[int] = (),
) -> None:
    """Check an array whose places mean different things, such as the header of a learner's memory.

    Parameters
    ----------
    name
        What it is called in the state.
    found, own
        The array that was loaded, and that of the object which is to take it over.
    settled
        Places that follow from parameters and must be equal in both.
    counts
        Places that hold whole numbers from 0 to the given one.
    positive
        Places that hold finite numbers above 0.

    Raises
    ------
    ValueError
        If a place is not as described.

    """
    for place in settled:
        if found[place] != own[place]:
            raise ValueError(f"{name}[{place}] must be {own[place]}, as the parameters say, got {found[place]}")
    for place, most in (counts or {}).items():
        if not (0 <= found[place] <= most and found[place] == math.floor(found[place])):
            raise ValueError(f"{name}[{place}] must be a whole number up to {most}, got {found[place]}")
    for place in positive:
        if not 0.0 < found[place] < math.inf:
            raise ValueError(f"{name}[{place}] must be positive and finite, got {found[place]}")


UNFIT = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What taking over a state raises that is none: a number too large, a part that is missing, another type."""


def check_name(name: Any) -> Any:
    """Return the name of a column or a feature, as a state in JSON may have it; raise ValueError for anything else."""
    if name is not None and not isinstance(name, str | int | float):
        raise ValueError(f"a name must be a text or a number, got {name!r:.80}")
    return name


def check_count(count: Any) -> int:
    """Return a number of rows, as a state in JSON may have it; raise ValueError for anything else."""
    if type(count) is not int or not 0 <= count < 1 << 62:
        shown = "a huge number" if isinstance(count, int) else f"{count!r:.80}"
        raise ValueError(f"a number of rows must be a whole number, got {shown}")
    return count


def check_time(seconds: Any) -> float | None:
    """Return a time in seconds, or None, as a state in JSON may have it; raise ValueError for anything else."""
    if seconds is not None and (not isinstance(seconds, float) or not math.isfinite(seconds)):
        raise ValueError(f"a time must be a finite number of seconds, got {type(seconds).__name__}")
    return seconds


def _array_of(state: Mapping[str, Any], name: str, description: ArrayOf) -> NDArray[Any]:
    array = state[name]
    if not isinstance(array, np.ndarray) or array.dtype != np.dtype(description.dtype):
        found = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
        raise ValueError(f"{name} must be an array of {description.dtype}, got {found}")
    return array


def _check_shape(name: str, found: tuple[int, ...], wanted: tuple[int | str, ...], sizes: dict[str, int]) -> None:
    lengths = found if len(found) == len(wanted) else (-1,) * len(wanted)
    for length, axis in zip(lengths, wanted, strict=True):
        if length != (sizes.setdefault(axis, length) if isinstance(axis, str) else axis):
            shape = tuple(sizes.get(axis, axis) if isinstance(axis, str) else axis for axis in wanted)
            raise ValueError(f"{name} must have the shape {shape}, got {found}")
        if length < 0:
            raise ValueError(f"{name} must have {len(wanted)} axes, got the shape {found}")


def _check_entries(name: str, array: NDArray[Any], description: ArrayOf, sizes: Mapping[str, int]) -> None:
    if array.size == 0:
        return
    if array.dtype.kind == "f":
        if description.finite and not np.isfinite(array).all():
            raise ValueError(f"{name} must be finite, got {array[~np.isfinite(array)][0]}")
        if description.whole and (array != np.floor(array)).any():
            raise ValueError(f"{name} must hold whole numbers, got {array[array != np.floor(array)][0]}")
    high = sizes[description.high] if isinstance(description.high, str) else description.high
    below = sizes[description.below] if isinstance(description.below, str) else description.below
    # Asked for what lies outside: NaN, where it is allowed, does not.
    outside = (array < description.low) | (array > high)
    if below != math.inf:
        outside |= array >= below
    if outside.any():
        bounds = f"[{description.low}, {below})" if below <= high else f"[{description.low}, {high}]"
        raise ValueError(f"{name} must lie in {bounds}, got {array[outside][0]}")


def _check_span(span: Spans, arrays: Mapping[str, NDArray[Any]]) -> None:
    first, lengths = arrays[span.first].astype(np.int64), arrays[span.lengths].astype(np.int64)
    limit = arrays[span.within].shape[0]
    # Each alone first: their sum could overflow.
    bad = (first < 0) | (lengths < 0) | (first > limit) | (lengths > limit)
    bad |= first + np.where(bad, 0, lengths) > limit
    if bad.any():
        place = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"{span.first} and {span.lengths} must stay within the {limit} entries of {span.within}, "
            f"got {first[place]} and {lengths[place]} at element {place}"
        )
