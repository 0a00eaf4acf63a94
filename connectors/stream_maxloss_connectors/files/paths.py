"""Which files a user means, in which order, and whether they are still the same ones."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from stream_maxloss.errors import GapError, SourceError
from stream_maxloss_connectors.file_kinds import require_file

__all__ = ["STDIN", "check_readable", "check_unchanged", "expand", "fingerprint"]

STDIN = "-"
"""Path that means standard input."""

_END_BYTES = 1024


def expand(paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], suffixes: Sequence[str]) -> list[str]:
    """Return the files that paths, globs and directories stand for.

    Several arguments keep their order; the files of a glob or a directory come in the order of their names.

    Parameters
    ----------
    paths
        A path, glob or directory, or several.
    suffixes
        Endings of the files to take from a directory. Hidden files, and those that start with an underscore as
        bookkeeping files do, are never taken.

    """
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not given:
        raise ValueError("paths must name a file, got none")
    files = [file for path in given for file in _expand_one(os.fspath(path), suffixes)]
    twice = sorted({file for file in files if files.count(file) > 1}) if len(set(files)) < len(files) else []
    if twice:
        raise ValueError(f"each file must be given once, got {twice[0]!r} twice; a file is read once per source")
    return files


def _expand_one(path: str, suffixes: Sequence[str]) -> list[str]:
    if path == STDIN:
        return [path]
    if Path(path).is_dir():
        files = sorted(str(file) for file in Path(path).iterdir() if _is_data(file, suffixes))
        if not files:
            below = f"; for those in directories below: '{path.rstrip('/')}/**/*.parquet'"
            raise SourceError(
                f"{path}: directory must hold data files ({', '.join(suffixes[:8])}, ...), got none"
                f"{below if any(one.is_dir() for one in Path(path).iterdir()) else ''}"
            )
        return files
    if not os.path.lexists(path) and glob.has_magic(path):
        found = glob.glob(path, recursive=True)  # noqa: PTH207 - Path.glob takes no absolute pattern
        files = sorted(file for file in found if Path(file).is_file())
        if not files:
            raise SourceError(f"{path}: glob must match a file, got none; check the path, and quote it for the shell")
        return files
    check_readable(path)
    return [path]


def _is_data(file: Path, suffixes: Sequence[str]) -> bool:
    return file.name[0] not in "._" and file.name.lower().endswith(tuple(suffixes)) and file.is_file()


def check_readable(path: str) -> None:
    """Raise `SourceError` unless the path is a file that can be read."""
    if not os.path.lexists(path):
        raise SourceError(f"{path}: file must exist, got no such file; check the path, or follow it to wait for it")
    require_file(path, "source", "feed it as standard input: maxloss tail - --format csv < PIPE")
    try:
        with Path(path).open("rb"):
            pass
    except OSError as error:
        raise SourceError(f"{path}: file must be readable, got {error.strerror}; check its permissions") from error


def fingerprint(path: str, may_grow: bool) -> dict[str, Any]:
    """Return what tells a file from another in its place: its size, and hashes of its ends.

    Parameters
    ----------
    path
        The file.
    may_grow
        Whether records can be appended to such a file: then its last bytes say nothing.

    """
    size = Path(path).stat().st_size
    head_bytes = min(size, _END_BYTES)
    found = {"size": size, "head_bytes": head_bytes, "head": _hash(path, 0, head_bytes)}
    return found if may_grow else {**found, "tail": _hash(path, size - head_bytes, head_bytes)}


def check_unchanged(path: str, saved: Mapping[str, Any], may_grow: bool) -> None:
    """Raise `GapError` unless the file is the one that a position was saved for, or that one grown.

    Parameters
    ----------
    path
        The file.
    saved
        Its `fingerprint` then.
    may_grow
        Whether records can be appended to such a file; one with a footer can only be replaced.

    """
    size, count = Path(path).stat().st_size, saved["head_bytes"]
    if size < saved["size"] or (size > saved["size"] and not may_grow):
        finding = f"{size} bytes where {saved['size']} were"
    elif _hash(path, 0, count) != saved["head"]:
        finding = f"other contents in its first {count} bytes"
    elif "tail" in saved and _hash(path, saved["size"] - count, count) != saved["tail"]:
        finding = f"other contents in its last {count} bytes"
    else:
        return
    raise GapError(f"{path}: file changed under the saved position, got {finding}; restore the file or start afresh")


def _hash(path: str, start: int, count: int) -> str:
    with Path(path).open("rb") as file:
        file.seek(start)
        return hashlib.sha256(file.read(count)).hexdigest()
