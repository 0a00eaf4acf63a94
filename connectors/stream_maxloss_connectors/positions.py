"""What positions in files look like.

They are read from checkpoints, which anything may have written: each entry is checked before it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stream_maxloss.errors import SourceError

__all__ = [
    "check_entry",
    "check_file",
    "check_followed",
    "is_count",
    "is_entries",
    "is_mapping",
    "is_names",
    "is_plain",
    "is_text",
    "or_none",
]

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


_OPTIONAL = {
    "byte": is_count,
    "line": is_count,
    "batch": is_count,
    "row_group": is_count,
    "row": is_count,
    "header": or_none(is_names),
    "dialect": is_dialect,
    "head": or_none(is_text),
    "schema": or_none(is_text),
}


def is_plain(entry: Any) -> bool:
    """Return whether a part of a position is one of a file read to its end, not of a followed one."""
    return isinstance(entry, Mapping) and ("byte" in entry or "row" in entry or entry.get("done") is True)


def check_file(name: str, entry: Any, standard_input: bool = False) -> None:
    """Raise `SourceError` unless the entry of a file can be one that was saved."""
    fields = {} if standard_input else {"file": is_mapping}
    check_entry(name, entry, **fields, **{field: _OPTIONAL[field] for field in _OPTIONAL if field in entry})
    if entry.get("done") is not True:
        place = ("byte", "line") if "byte" in entry else ("row",)
        check_entry(name, entry, **dict.fromkeys(place, is_count))
    if not standard_input:
        ends = {"tail": is_text} if "tail" in entry["file"] else {}
        check_entry(name, entry["file"], size=is_count, head_bytes=is_count, head=is_text, **ends)


_IDENTITY = {"device": is_count, "inode": is_count, "prefix_bytes": is_count, "fingerprint": is_text}


def check_followed(name: str, entry: Any) -> None:
    """Raise `SourceError` unless the entry of a followed path can be one that was saved."""
    check_entry(name, entry, gaps=is_count, at=or_none(is_mapping), schema=or_none(is_text))
    if "done" in entry:
        _check_arriving(name, entry)
    else:
        _check_growing(name, entry)


def _check_arriving(name: str, entry: Any) -> None:
    check_entry(name, entry, done=is_names, file=or_none(is_text), size=or_none(is_count))
    if entry["file"] is not None:
        check_entry(name, entry, size=is_count, at=is_mapping)
        check_entry(name, entry["at"], row=is_count)


def _check_growing(name: str, entry: Any) -> None:
    header = or_none(is_names)
    check_entry(name, entry, file=or_none(is_mapping), path=or_none(is_text), header=header)
    check_entry(name, entry, finished=is_entries, truncations=is_count)
    for identity in (*entry["finished"], *([] if entry["file"] is None else [entry["file"]])):
        check_entry(name, identity, **_IDENTITY)
    if entry["file"] is not None:
        check_entry(name, entry, at=is_mapping, path=is_text)
        check_entry(name, entry["at"], offset=is_count, start=is_count)
        rest = {"row": is_count} if "row" in entry["at"] else {"line": is_count, "header": header}
        rest |= {"dialect": is_dialect} if "dialect" in entry["at"] else {}
        check_entry(name, entry["at"], **rest)
