"""Positions of files read to their end, and of files that are followed, turned into one another.

Whether a file is followed is an option of the run, not a property of its rows: a run may be resumed with the option
added or dropped, and goes on with the same next record.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from stream_maxloss.errors import GapError
from stream_maxloss_connectors.base import Position
from stream_maxloss_connectors.files.paths import check_unchanged, fingerprint
from stream_maxloss_connectors.follow.file_identity import FileIdentity, rotated_names
from stream_maxloss_connectors.follow.tracked_path import identity_of
from stream_maxloss_connectors.positions import check_file, check_followed, is_plain
from stream_maxloss_connectors.text.lines import LineDecoder

__all__ = ["to_followed", "to_plain"]

MakeDecoder = Callable[[str], LineDecoder | None]
"""From the name of a format to what reads its text, None if it is no text."""


def to_followed(
    position: Position, formats: Mapping[str, str], arriving: tuple[str, ...], make: MakeDecoder
) -> Position:
    """Return where a follower goes on after files were read to their end.

    Parameters
    ----------
    position
        Of a `FileSource`, or already of a followed one, which is returned as it is.
    formats
        Each path to follow, and its format.
    arriving
        The formats whose files are whole when they appear.
    make
        Makes the decoder of a format.

    Raises
    ------
    GapError
        If a file is not the one that was read.

    """
    if not any(map(is_plain, position.values())):
        return position
    schemas = [entry["schema"] for entry in position.values() if entry.get("schema") is not None]
    shared = {"schema": schemas[-1] if schemas else None}
    found: Position = {}
    for name, entry in position.items():
        path = _path_of(name, formats)
        if path is None:
            # The follower names it: it is not among those to follow.
            found[name] = {**_nothing_read(), **shared}
        elif formats[path] in arriving:
            found[path] = {**_with_arrived(found.get(path), name, entry), **shared}
        else:
            found[name] = {**_follow_text(name, entry, make(formats[path])), **shared}
    return found


def to_plain(position: Position) -> Position:
    """Return where a reader of whole files goes on after they were followed.

    Raises
    ------
    GapError
        If a file was rotated away before its end: only a follower would find the rest of it.

    """
    if not position or all(map(is_plain, position.values())):
        return position
    found: Position = {}
    schema = None
    for name, entry in position.items():
        check_followed(name, entry)
        schema = entry["schema"] or schema
        found.update(_plain_arrived(entry) if "done" in entry else _plain_text(name, entry))
    if found and schema is not None:
        found[next(reversed(found))]["schema"] = schema
    return found


def _path_of(name: str, formats: Mapping[str, str]) -> str | None:
    """Return which of the paths to follow a file belongs to."""
    if name in formats:
        return name
    folder = os.path.dirname(name)  # noqa: PTH120 - a Path would drop the ./ that the name may start with
    return next((path for path in formats if Path(path) == Path(folder) or fnmatch(name, path)), None)


def _nothing_read() -> dict[str, Any]:
    return {"file": None, "path": None, "at": None, "header": None, "finished": [], "gaps": 0, "truncations": 0}


def _follow_text(name: str, entry: Mapping[str, Any], decoder: LineDecoder | None) -> dict[str, Any]:
    check_file(name, entry)
    if decoder is None or "byte" not in entry:
        raise GapError(
            f"{name}: a position in an Arrow IPC stream must be used the way it was taken, got one of a stream read to "
            "its end; resume without --follow, or start over with --fresh"
        )
    generations = [*rotated_names(Path(name)), Path(name)]
    found = next((path for path in reversed(generations) if _is_same(path, entry["file"])), None)
    if found is None:
        check_unchanged(name, entry["file"], may_grow=True)
        found = Path(name)
    # Older generations were there before this one and are not wanted.
    older = generations[: generations.index(found)]
    state = {**_nothing_read(), "finished": [identity_of(path).to_json() for path in older]}
    return {**state, **_place_in(found, entry, decoder)} if entry["byte"] else state


def _place_in(path: Path, entry: Mapping[str, Any], decoder: LineDecoder) -> dict[str, Any]:
    _refuse_torn_line(path, entry["byte"])
    status, known = path.stat(), entry["file"]
    with path.open("rb") as file:
        begun, start = decoder.begin(file.read(min(entry["byte"], decoder.max_record_bytes + 1)))
    header = getattr(begun, "header", None)
    return {
        "file": FileIdentity(status.st_dev, status.st_ino, known["head_bytes"], known["head"]).to_json(),
        "path": str(path),
        "at": {"offset": entry["byte"], "line": entry["line"], "start": start, "header": header, **dialect_of(entry)},
        "header": header,
    }


def _is_same(path: Path, saved: Mapping[str, Any]) -> bool:
    try:
        check_unchanged(str(path), saved, may_grow=True)
    except (GapError, OSError):
        return False
    return True


def _refuse_torn_line(path: Path, byte: int) -> None:
    """Refuse a file whose last line was read before it had its end, and got longer since."""
    with path.open("rb") as file:
        file.seek(max(byte - 1, 0))
        around = file.read(3 if byte else 0)
    if (
        around
        and around[:1] != b"\n"
        and around[1:] not in (b"", b"\r")
        and not around[1:].lstrip(b"\r").startswith(b"\n")
    ):
        raise GapError(
            f"{path}: the last line was read before it was finished, at byte {byte}; start over with --fresh"
        )


def _with_arrived(before: Mapping[str, Any] | None, name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Add a file to the position of a directory that gains whole ones."""
    check_file(name, entry)
    state: dict[str, Any] = {"done": [], "file": None, "size": None, "at": None, "gaps": 0, **(before or {})}
    if entry.get("done"):
        return {**state, "done": [*state["done"], name]}
    at = {field: entry[field] for field in ("batch", "row_group", "row") if field in entry}
    return {**state, "file": name, "size": entry["file"]["size"], "at": at}


def _plain_text(name: str, entry: Mapping[str, Any]) -> Position:
    at = entry["at"]
    if entry["file"] is None or (not at["offset"] and FileIdentity.from_json(entry["file"]).is_of(Path(name))):
        return {}
    if "line" not in at:
        raise GapError(
            f"{name}: a position in an Arrow IPC stream must be used the way it was taken, got one of a followed "
            "stream; resume with --follow, or start over with --fresh"
        )
    if not FileIdentity.from_json(entry["file"]).is_of(Path(name)):
        raise GapError(
            f"{name}: the file that was followed up to byte {at['offset']} was rotated away or replaced, and only "
            "a follower finds the rest of it; resume with --follow"
        )
    header = {} if at["header"] is None else {"header": at["header"]}
    place = {"byte": at["offset"], "line": at["line"], **header, **dialect_of(at)}
    return {name: {**place, "file": fingerprint(name, may_grow=True)}}


def dialect_of(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return how a CSV file is written, where a position says it."""
    return {"dialect": entry["dialect"]} if "dialect" in entry else {}


def _plain_arrived(entry: Mapping[str, Any]) -> Position:
    found: Position = {}
    for name in entry["done"]:
        known = fingerprint(name, may_grow=False) if Path(name).exists() else {"size": 0, "head_bytes": 0, "head": ""}
        found[name] = {"done": True, "file": known}
    if entry["file"] is not None:
        name = entry["file"]
        if not Path(name).exists() or Path(name).stat().st_size != entry["size"]:
            raise GapError(f"{name}: the file of {entry['size']} bytes must be as it was when its position was saved")
        found[name] = {**entry["at"], "file": fingerprint(name, may_grow=False)}
    return found
