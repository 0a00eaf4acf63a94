"""Positions are read from checkpoints, which anything may have written: each entry is checked before it is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stream_maxloss.errors import SourceError

__all__ = ["check_entry", "is_count", "is_dialect", "is_entries", "is_mapping", "is_names", "is_text", "or_none"]

Check = Callable[[Any], bool]

# More than any file has bytes or any partition has records, and still a 64-bit number.
_MOST = 1 << 62


def is_count(value: Any) -> bool:
    """Return whether a value can be a number of bytes, lines, rows or records."""
    return type(value) is int and 0 <= value < _MOST


def is_text(value: Any) -> bool:
    """Return whether a value is a text."""
    return isinstance(value, str)


def is_names(value: Any) -> bool:
    """Return whether a value is a list of texts."""
    return isinstance(value, list) and all(map(is_text, value))


def is_mapping(value: Any) -> bool:
    """Return whether a value has named fields of its own."""
    return isinstance(value, Mapping)


def is_entries(value: Any) -> bool:
    """Return whether a value is a list of mappings."""
    return isinstance(value, list) and all(map(is_mapping, value))


def is_dialect(value: Any) -> bool:
    """Return whether a value says how a CSV file is written."""
    if not isinstance(value, Mapping) or type(value.get("has_header")) is not bool:
        return False
    if "quote" not in value:
        return False
    marks = [value.get(name) for name in ("delimiter", "decimal_point", "quote")]
    plain = [
        mark for mark in marks if isinstance(mark, str) and len(mark) == 1 and mark.isascii() and mark not in "\r\n"
    ]
    return len(plain) == 3 or (len(plain) == 2 and marks[2] is None)


def or_none(check: Check) -> Check:
    """Return a check that also lets None pass."""
    return lambda value: value is None or check(value)


def check_entry(name: str, entry: Any, /, **fields: Check) -> Mapping[str, Any]:
    """Return a part of a position once every field named is there and as it should be.

    Parameters
    ----------
    name
        What the position is of, for the message.
    entry
        The part.
    fields
        Name of a field -> what tells whether its value is possible.

    Raises
    ------
    SourceError
        If one is missing or impossible.

    Examples
    --------
    >>> from stream_maxloss_connectors.positions import check_entry, is_count
    >>> check_entry("day.csv", {"byte": 12}, byte=is_count)
    {'byte': 12}
    >>> check_entry("day.csv", {"byte": -1}, byte=is_count)
    Traceback (most recent call last):
    ...
    stream_maxloss.errors.SourceError: day.csv: the saved position must have a possible 'byte', got -1; resume from ...

    """
    if not isinstance(entry, Mapping):
        raise _refusal(name, "must have named fields", entry)
    for field, check in fields.items():
        if field not in entry:
            raise _refusal(name, f"must have the field {field!r}", sorted(map(str, entry)))
        if not check(entry[field]):
            raise _refusal(name, f"must have a possible {field!r}", entry[field])
    return entry


def _refusal(name: str, constraint: str, value: Any) -> SourceError:
    # A hostile number of many digits could not even be printed.
    shown = "a huge number" if isinstance(value, int) and abs(value) >= _MOST else repr(value)
    shown = shown if len(shown) <= 80 else shown[:77] + "..."
    return SourceError(f"{name}: the saved position {constraint}, got {shown}; resume from another checkpoint")
