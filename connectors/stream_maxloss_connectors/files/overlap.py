"""Whether a path leads to one of the files that a source reads, or will read when it looks again."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from fnmatch import fnmatch
from pathlib import Path, PurePath

__all__ = ["is_among", "is_meant_by", "is_same_file"]


def is_same_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Return whether two paths lead to one file, through symbolic or hard links too; neither has to exist yet."""
    try:
        return Path(one).samefile(other)
    except OSError:
        return os.path.realpath(one) == os.path.realpath(other)


def is_among(path: Path, files: Iterable[str | os.PathLike[str]]) -> bool:
    """Return whether a path leads to one of some files."""
    return any(is_same_file(path, file) for file in files)


def is_meant_by(path: Path, patterns: Sequence[str], endings: Sequence[str]) -> bool:
    """Return whether a file that is written to `path` would be found in one of some directories or globs.

    Examples
    --------
    >>> from pathlib import Path
    >>> from stream_maxloss_connectors.files.overlap import is_meant_by
    >>> is_meant_by(Path("days/p.csv"), ["days/*.csv"], ()), is_meant_by(Path("days/p.jsonl"), ["days/*.csv"], ())
    (True, False)

    """
    real = PurePath(os.path.realpath(path))
    for pattern in patterns:
        if Path(pattern).is_dir():
            named = not path.name.startswith((".", "_")) and path.name.lower().endswith(tuple(endings))
            if named and is_same_file(path.parent, pattern):
                return True
        elif glob.has_magic(pattern) and not Path(pattern).exists() and _matches(real, _real_pattern(pattern)):
            return True
    return False


def _real_pattern(pattern: str) -> str:
    """Return a glob with the part before its first wildcard as the file system has it."""
    parts = PurePath(pattern).parts
    plain = next((place for place, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    return str(PurePath(os.path.realpath(PurePath(*parts[:plain]) if plain else os.curdir), *parts[plain:]))


def _matches(path: PurePath, pattern: str) -> bool:
    # Two stars stand for directories at any depth, which only the looser comparison covers.
    return fnmatch(str(path), pattern) if "**" in pattern else path.match(pattern)
