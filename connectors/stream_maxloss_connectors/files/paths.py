"""Which files a user means, in which order, and whether they are still the same ones."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatch
from pathlib import Path, PurePath
from typing import Any

from stream_maxloss.errors import GapError, SourceError
from stream_maxloss_connectors.file_kinds import require_file

__all__ = [
    "STDIN",
    "check_readable",
    "check_unchanged",
    "expand",
    "fingerprint",
    "is_among",
    "is_meant_by",
    "is_same_file",
]

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
    if not path:
        raise SourceError("a file must have a name, got an empty one; is a variable of the shell empty?")
    if Path(path).is_dir():
        files = sorted(str(file) for file in Path(path).iterdir() if _is_data(file, suffixes))
        if not files:
            has_folders = any(one.is_dir() for one in Path(path).iterdir())
            below = f"for those in directories below: '{path.rstrip('/')}/**/*.parquet'"
            raise SourceError(
                f"{path}: directory must hold data files ({', '.join(suffixes[:8])}, ...), got none; "
                f"{below if has_folders else 'check the path, or wait for files with --follow (follow=True)'}"
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
    >>> from stream_maxloss_connectors.files.paths import is_meant_by
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
