"""Reading one checkpoint: every byte is checked before anything is made of it."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass, replace
from pathlib import Path

from stream_maxloss.checkpoint.content import Content, require_finite
from stream_maxloss.checkpoint.damage import DamagedError, RefusedError
from stream_maxloss.checkpoint.encoding import decode_files
from stream_maxloss.checkpoint.files import FileEntry, open_directory, read_file
from stream_maxloss.checkpoint.manifest import MANIFEST_FILE, MAX_MANIFEST_BYTES, Manifest, parse_manifest
from stream_maxloss.checkpoint.migrations import MIGRATIONS
from stream_maxloss.errors import CheckpointError

__all__ = ["MAX_BYTES", "FileReport", "Report", "read_checkpoint", "verify_checkpoint"]

MAX_BYTES = 16 << 30
"""The most that a checkpoint may hold unless the caller says otherwise: a sparse file can claim any length."""


@dataclass(frozen=True)
class FileReport:
    """What was found of one file.

    Parameters
    ----------
    name
        Its name.
    bytes
        The length that the manifest gives it, None for the manifest itself.
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
    path
        Its directory.
    files
        The manifest and, if that could be read, every file that it names.
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
    allow_pickle
        Whether it may hold pickles. A pickle runs any code its author liked: allow only what you wrote yourself.
    max_bytes
        The most that its files may hold in all.

    Raises
    ------
    DamagedError
        If a file is missing or is not what was written.
    RefusedError
        If it must not be loaded; nothing of it was.
    CheckpointError
        If a file cannot be read for another reason, such as permissions.

    """
    try:
        with open_directory(path) as directory:
            manifest = _read_manifest(directory, max_bytes)
            _check_pickles(manifest, allow_pickle)
            files = {name: _read_verified(directory, name, entry) for name, entry in manifest.files.items()}
        return _make_content(manifest, files)
    except CheckpointError as error:
        raise type(error)(f"{path}: {error}") from error


def verify_checkpoint(path: Path, *, max_bytes: int = MAX_BYTES) -> Report:
    """Check the checkpoint in one directory, file by file, without changing anything. Pickles are not opened."""
    reports: list[FileReport] = []
    try:
        with open_directory(path) as directory:
            manifest = _read_manifest(directory, max_bytes)
            reports.append(FileReport(MANIFEST_FILE, None, None))
            files: dict[str, bytes] = {}
            for name, entry in manifest.files.items():
                try:
                    files[name] = _read_verified(directory, name, entry)
                    reports.append(FileReport(name, entry.bytes, None))
                except CheckpointError as error:
                    reports.append(FileReport(name, entry.bytes, str(error)))
    except CheckpointError as error:
        return Report(path, reports or [FileReport(MANIFEST_FILE, None, str(error))], str(error))
    problem = next((report.problem for report in reports if report.problem), None)
    if problem is None:
        try:
            _make_content(manifest, files)
        except CheckpointError as error:
            problem = str(error)
    return Report(path, reports, problem)


def _read_manifest(directory: int, max_bytes: int) -> Manifest:
    manifest = parse_manifest(read_file(directory, MANIFEST_FILE, MAX_MANIFEST_BYTES))
    MIGRATIONS.check(manifest.origin.format_version)
    total = sum(entry.bytes for entry in manifest.files.values())
    if total > max_bytes:
        raise RefusedError(f"files must hold at most {max_bytes} bytes in all, got {total}; raise max_bytes to load it")
    _check_entries(directory)
    return manifest


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


def _make_content(manifest: Manifest, files: dict[str, bytes]) -> Content:
    content = replace(
        decode_files(files),
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
