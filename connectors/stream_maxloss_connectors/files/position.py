"""What a position in files that are read to their end looks like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stream_maxloss_connectors.positions import (
    check_entry,
    is_count,
    is_dialect,
    is_mapping,
    is_names,
    is_text,
    or_none,
)

__all__ = ["check_file", "is_plain"]

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
