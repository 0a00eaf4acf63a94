"""What a position in followed files looks like."""

from __future__ import annotations

from typing import Any

from stream_maxloss_connectors.positions import (
    check_entry,
    is_count,
    is_dialect,
    is_entries,
    is_mapping,
    is_names,
    is_text,
    or_none,
)

__all__ = ["check_followed"]

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
