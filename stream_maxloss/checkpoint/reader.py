"""Reading one checkpoint: every byte is checked before anything is made of it."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from stream_maxloss.checkpoint.content import Content, LinkedFile, require_finite
from stream_maxloss.checkpoint.damage import DamagedError, RefusedError
from stream_maxloss.checkpoint.encoding import decode_files, is_linked_file
from stream_maxloss.checkpoint.files import FileEntry, check_length, digest_of, open_directory, read_file
from stream_maxloss.checkpoint.manifest import MANIFEST_FILE, MAX_MANIFEST_BYTES, Manifest, parse_manifest
from stream_maxloss.checkpoint.migrations import MIGRATIONS
from stream_maxloss.errors import CheckpointError

__all__ = ["MAX_BYTES", "FileReport", "Report", "read_checkpoint", "read_sources", "verify_checkpoint"]

MAX_BYTES = 16 << 30
"""The most that a checkpoint may hold unless the caller says otherwise: a sparse file can claim any length."""

_NUMBERED = re.compile(r"(?:ckpt|corrupt|retired)-(\d{12,18})")


@dataclass(frozen=True)
class FileReport:
    """What was found of one file.

    Parameters
    ----------
    name, bytes
        Its name, and the length that the manifest gives it, None for the manifest itself.
    problem
        What is wrong with it, None if nothing is.

    """

    name: str
    bytes: int | None
    problem: str | None


@dataclass(frozen=True)
class Report:
    """What was found of one checkpoint.

    Parameters
    ----------
    path, files
        Its directory; the manifest and, if that could be read, every file that it names.
    problem
        The first thing that keeps it from being loaded, None if nothing does.

    """

    path: Path
    files: list[FileReport]
    problem: str | None

    @property
    def ok(self) -> bool:
        """True if it can be loaded."""
        return self.problem is None


def read_checkpoint(path: Path, *, allow_pickle: bool = False, max_bytes: int = MAX_BYTES) -> Content:
    """Load the checkpoint in one directory.

    Parameters
    ----------
    path
        The directory that holds `manifest.json`.
    allow_pickle, max_bytes
        As for `CheckpointStore.load` and `CheckpointStore`.

    Raises
    ------
    CheckpointError
        If it cannot be loaded: `DamagedError` if a file is not what was written, `RefusedError` if it must not be.

    """
    try:
        with open_directory(path) as directory:
            manifest = _read_manifest(directory, max_bytes)
            _check_number(path, manifest)
            _check_pickles(manifest, allow_pickle)
            files: dict[str, bytes] = {}
            for name, entry in manifest.files.items():
                if is_linked_file(name):
                    check_length(directory, name, entry.bytes)
                else:
                    files[name] = _read_verified(directory, name, entry)
        return _make_content(manifest, files, path)
    except CheckpointError as error:
        raise type(error)(f"{path}: {error}") from error


def read_sources(path: Path) -> dict[str, Any]:
    """Return the positions that the manifest in one directory names, and look at nothing else of the checkpoint."""
    with open_directory(path) as directory:
        return parse_manifest(read_file(directory, MANIFEST_FILE, MAX_MANIFEST_BYTES)).sources


def verify_checkpoint(
    path: Path, *, max_bytes: int = MAX_BYTES, use: Callable[[Content], None] = lambda content: None
) -> Report:
    """Check the checkpoint in one directory, file by file, without changing anything. Pickles are not opened.

    Parameters
    ----------
    path, max_bytes
        As for `read_checkpoint`.
    use
        Called with what a whole checkpoint holds; a `CheckpointError` that it raises is the checkpoint's problem.

    """
    reports: list[FileReport] = []
    try:
        with open_directory(path) as directory:
            manifest = _read_manifest(directory, max_bytes)
            _check_number(path, manifest)
            reports.append(FileReport(MANIFEST_FILE, None, None))
            files: dict[str, bytes] = {}
            for name, entry in manifest.files.items():
                try:
                    if is_linked_file(name):
                        _verify_linked(directory, name, entry)
                    else:
                        files[name] = _read_verified(directory, name, entry)
                    reports.append(FileReport(name, entry.bytes, None))
                except CheckpointError as error:
                    reports.append(FileReport(name, entry.bytes, str(error)))
    except CheckpointError as error:
        return Report(path, reports or [FileReport(MANIFEST_FILE, None, str(error))], str(error))
    problem = next((report.problem for report in reports if report.problem), None)
    if problem is None:
        try:
            use(_make_content(manifest, files, path))
        except CheckpointError as error:
            problem = str(error)
    return Report(path, reports, problem)


def _read_manifest(directory: int, max_bytes: int) -> Manifest:
    manifest = parse_manifest(read_file(directory, MANIFEST_FILE, MAX_MANIFEST_BYTES))
    MIGRATIONS.check(manifest.origin.format_version)
    # Those that are linked are not loaded, and may be larger than the memory.
    total = sum(entry.bytes for name, entry in manifest.files.items() if not is_linked_file(name))
    if total > max_bytes:
        raise RefusedError(f"files must hold at most {max_bytes} bytes in all, got {total}; raise max_bytes to load it")
    _check_entries(directory)
    return manifest


def _check_number(path: Path, manifest: Manifest) -> None:
    name = _NUMBERED.fullmatch(path.name)
    if name is not None and int(name[1]) != manifest.origin.seq:
        raise RefusedError(
            f"{path.name} must hold checkpoint {int(name[1])}, got {manifest.origin.seq}; do not rename it"
        )


def _check_entries(directory: int) -> None:
    try:
        modes = {name: os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode for name in os.listdir(directory)}
    except OSError as error:
        raise DamagedError(f"files cannot be listed: {error.strerror}") from error
    for name, mode in modes.items():
        if not stat.S_ISREG(mode):
            raise RefusedError(f"a checkpoint must hold regular files only, got {name!r}; do not trust it")


def _check_pickles(manifest: Manifest, allow_pickle: bool) -> None:
    pickles = [name for name in manifest.files if name.endswith(".pkl")]
    if pickles and not allow_pickle:
        raise RefusedError(
            f"a checkpoint with a pickle must be allowed, got {', '.join(pickles)}; if you wrote it yourself, "
            "load it with allow_pickle=True (--allow-pickle)"
        )


def _read_verified(directory: int, name: str, entry: FileEntry) -> bytes:
    data = read_file(directory, name, limit=entry.bytes, expected=entry.bytes)
    if hashlib.sha256(data).hexdigest() != entry.sha256:
        raise DamagedError(f"{name} is not what was written: its digest differs from the manifest's")
    return data


def _verify_linked(directory: int, name: str, entry: FileEntry) -> None:
    check_length(directory, name, entry.bytes)
    if digest_of(directory, name) != entry.sha256:
        raise DamagedError(f"{name} is not what was written: its digest differs from the manifest's")


def _make_content(manifest: Manifest, files: dict[str, bytes], path: Path) -> Content:
    linked = {name: entry for name, entry in manifest.files.items() if is_linked_file(name)}
    content = replace(
        decode_files(files),
        files={name: LinkedFile(path / name, entry.bytes, entry.sha256) for name, entry in linked.items()},
        finite=manifest.finite,
        sources=manifest.sources,
        outputs=manifest.outputs,
        counters=manifest.counters,
        origin=manifest.origin,
    )
    try:
        content = MIGRATIONS.migrate(content, manifest.origin.format_version)
        require_finite(content)
    except (ValueError, TypeError, LookupError) as error:
        raise RefusedError(str(error)) from error
    return content
