"""A directory of checkpoints."""

from __future__ import annotations

import contextlib
import datetime
import functools
import os
import re
import uuid
import warnings
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, Self

import stream_maxloss
from stream_maxloss.checkpoint import files
from stream_maxloss.checkpoint.content import Content, Origin, require_finite
from stream_maxloss.checkpoint.damage import CheckpointWarning, DamagedError, RefusedError
from stream_maxloss.checkpoint.encoding import encode_files
from stream_maxloss.checkpoint.lock import DirectoryLock
from stream_maxloss.checkpoint.manifest import FORMAT_VERSION, MANIFEST_FILE, Manifest
from stream_maxloss.checkpoint.reader import MAX_BYTES, Report, read_checkpoint, read_sources, verify_checkpoint
from stream_maxloss.errors import CheckpointError
from stream_maxloss.system import require_posix

__all__ = ["CheckpointStore"]

_KINDS = ("ckpt", "corrupt", "retired")
_NAME = re.compile(r"(ckpt|corrupt|retired)-(\d{12,18})")
Numbers = list[int]  # inside the class `list` is its method
Positions = list[dict[str, Any]]


class CheckpointStore:
    """The last few checkpoints of a run, each of them whole or not there at all.

        DIRECTORY/LOCK                  held by the one writer
        DIRECTORY/ckpt-000000000042/    manifest.json, arrays.safetensors, extra.json, NAME.arrow, NAME.pkl, NAME.models
        DIRECTORY/corrupt-000000000041/ found damaged and set aside
        DIRECTORY/retired-000000000040/ of a run that was not to be gone on with
        DIRECTORY/.tmp-...              being written or removed; swept when the next writer takes the lock

    A checkpoint is built under a temporary name; each file is forced to the disk, the manifest last, then the
    directory; then it is renamed and the rename forced to the disk. Killed at any instant, the newest checkpoint is
    either the one before or the one being written. Numbers count up by what is in the directory, not by the clock.

    Parameters
    ----------
    directory
        Where they are. Made when a writer takes the lock.
    keep
        How many to keep, at least 1. More of them cost space and survive more damage.
    run_id
        Name of this run in the manifests and in `LOCK`; a random one by default.
    max_bytes
        The most that one checkpoint may hold, when saved and when loaded.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from stream_maxloss.checkpoint import CheckpointStore, Content
    >>> directory = tempfile.mkdtemp()
    >>> with CheckpointStore(directory) as store:
    ...     store.save(Content(arrays={"weights": np.array([0.5, -1.0])}, counters={"seen": 1000}))
    ...     store.save(Content(arrays={"weights": np.array([0.7, -1.2])}, counters={"seen": 2000}))
    1
    2
    >>> content = CheckpointStore(directory).load()
    >>> content.counters, content.arrays["weights"], content.origin.parent_seq
    ({'seen': 2000}, array([ 0.7, -1.2]), 1)

    """

    def __init__(
        self, directory: str | os.PathLike[str], keep: int = 3, *, run_id: str | None = None, max_bytes: int = MAX_BYTES
    ) -> None:
        if keep < 1:
            raise ValueError(f"keep must be at least 1, got {keep!r}")
        if max_bytes < 1:
            raise ValueError(f"max_bytes must be at least 1, got {max_bytes!r}")
        self.directory = Path(directory)
        self.keep = keep
        self.run_id = uuid.uuid4().hex if run_id is None else run_id
        self.max_bytes = max_bytes
        require_posix("checkpoints")
        self._lock: DirectoryLock | None = None
        self._last_seq: int | None = None
        self._working: list[Path] = []

    def lock(self) -> Self:
        """Become the one writer, make the directory if need be, and sweep what a killed writer left behind.

        Another writer, whose process is named, or a directory that cannot be written to is a `CheckpointError`.
        """
        if self._lock is not None:
            return self
        try:
            files.make_root(self.directory)
        except OSError as error:
            raise CheckpointError(
                f"checkpoint directory must be writable, got {self.directory}: {error.strerror}; choose another one"
            ) from error
        self._lock = DirectoryLock(self.directory, self.run_id)
        for path in self.directory.glob(".tmp-*"):
            with self._tidying(path):
                files.remove_tree(path)
        return self

    def close(self) -> None:
        """Let the next writer in. Closing twice is allowed."""
        while self._working:
            with self._tidying(self._working[-1]):
                files.remove_tree(self._working[-1])
            self._working.pop()
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def __enter__(self) -> Self:
        return self.lock()

    def __exit__(self, *error: object) -> None:
        self.close()

    def list(self) -> Numbers:
        """Return the numbers of the checkpoints, oldest first, whether they are whole or not."""
        return self._numbers("ckpt")

    def path(self, seq: int) -> Path:
        """Return the directory of a checkpoint."""
        return self._named("ckpt", seq)

    def verify(self, seq: int) -> Report:
        """Check one checkpoint file by file, without changing anything."""
        return verify_checkpoint(self.path(seq), max_bytes=self.max_bytes)

    def sources(self) -> Positions:
        """Return the positions in each checkpoint, oldest first, without those whose manifest is damaged."""
        found: Positions = []
        for seq in self.list():
            with contextlib.suppress(CheckpointError):
                found.append(read_sources(self.path(seq)))
        return found

    def save(self, content: Content, *, allow_pickle: bool = False) -> int:
        """Write a checkpoint and return its number once it would survive a power cut.

        Parameters
        ----------
        content
            What to write. It is not kept, so it may change afterwards.
        allow_pickle
            Whether `content.blobs` may be written.

        Raises
        ------
        CheckpointError
            If the disk is full, the directory read-only, or the store not locked. Earlier checkpoints are as they were.
        TypeError, ValueError
            If the content holds something that cannot be stored, such as a weight that is not finite.

        """
        lock = self._held_lock("save to it")
        if content.blobs and not allow_pickle:
            raise CheckpointError(
                f"pickles must be allowed, got {sorted(content.blobs)}; save with allow_pickle=True (--allow-pickle)"
            )
        require_finite(content)
        lock.check()
        seq = self._next_seq()
        temporary = self._temporary(str(seq))
        try:
            self._write(content, temporary, seq)
        except OSError as error:
            raise CheckpointError(
                f"checkpoint {seq} must be written to {self.directory}, got: {error.strerror or error}; "
                "free space or make the directory writable (earlier checkpoints are intact)"
            ) from error
        finally:
            if os.path.lexists(temporary):
                with self._tidying(temporary):
                    files.remove_tree(temporary)
        self._last_seq = seq
        self._prune()
        return seq

    def load(self, *, allow_pickle: bool = False) -> Content:
        """Return the newest checkpoint that is whole.

        Damaged ones are passed over with a warning, and renamed to `corrupt-...` if this store holds the lock: a reader
        beside a running writer renames nothing. What is whole but must not be loaded (a newer format, a pickle without
        permission, a path that leads outside) is an error at once, since going back in silence would lose work.

        Parameters
        ----------
        allow_pickle
            Whether it may hold pickles. A pickle runs any code its author liked: allow only what you wrote yourself.

        Raises
        ------
        CheckpointError
            If there is none, none is whole, or the newest whole one must not be loaded.

        """
        passed_over: dict[int, DamagedError] = {}
        while numbers := [seq for seq in self.list() if seq not in passed_over]:
            seq = numbers[-1]
            try:
                content = self.read(seq, allow_pickle=allow_pickle)
            except DamagedError as error:
                passed_over[seq] = error
                # A writer beside us may just have pruned it, and saved a newer one that the next listing shows.
                if os.path.lexists(self.path(seq)):
                    self._pass_over(seq, error)
                continue
            except RefusedError as error:
                remedy = f", or remove {self.path(seq).name} to go back to {numbers[-2]}" if len(numbers) > 1 else ""
                raise RefusedError(f"{error}{remedy}") from error
            self._last_seq = seq
            return content
        raise CheckpointError(self._explain_none(passed_over))

    def read(self, seq: int, *, allow_pickle: bool = False) -> Content:
        """Return one checkpoint, and never another in its place: raise `CheckpointError` if it cannot be loaded."""
        return read_checkpoint(self.path(seq), allow_pickle=allow_pickle, max_bytes=self.max_bytes)

    def retire(self) -> Numbers:
        """Put all checkpoints out of the way of a run that starts afresh, and return their numbers.

        Were they left, a fresh run whose first checkpoint is damaged would fall back to the model of another run. They
        are renamed to `retired-...`, and the last `keep` of them kept.
        """
        self._held_lock("retire its checkpoints")
        numbers = self.list()
        self._last_seq = None
        for seq in numbers:
            try:
                files.set_aside(self.path(seq), self._named("retired", seq))
            except OSError as error:
                raise CheckpointError(
                    f"{self.path(seq)} must be renamed to start afresh, got: {error.strerror}"
                ) from error
        return numbers

    def remove(self, seq: int) -> None:
        """Remove one checkpoint."""
        self._held_lock("remove from it")
        path = self.path(seq)
        with self._tidying(path):
            files.discard(path, self._temporary(f"old-{path.name}"))

    def working_folder(self, name: str) -> Path:
        """Return a folder on the same file system for files that checkpoints are to link.

        It goes when this store is closed, or when the next writer takes the lock.
        """
        self._held_lock("work in it")
        folder = self._temporary(name)
        folder.mkdir(exist_ok=True)
        self._working.append(folder)
        return folder

    def _held_lock(self, purpose: str) -> DirectoryLock:
        if self._lock is None:
            raise CheckpointError(f"{self.directory} must be locked to {purpose}; call lock() or use `with`")
        return self._lock

    def _write(self, content: Content, temporary: Path, seq: int) -> None:
        files.make_directory(temporary)
        entries: dict[str, files.FileEntry] = {}
        for name, parts in encode_files(content):
            total = sum(entry.bytes for entry in entries.values()) + sum(map(len, parts))
            if total > self.max_bytes:
                raise CheckpointError(
                    f"checkpoint must hold at most {self.max_bytes} bytes, got {total}; raise max_bytes"
                )
            entries[name] = files.write_file(temporary / name, parts)
        for name, linked in content.files.items():
            files.crash_point(f"before-link-{name}")
            linked.link_to(temporary / name)
            entries[name] = files.FileEntry(linked.bytes, linked.sha256)
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        origin = Origin(seq, self._last_seq, self.run_id, now, _libraries(), FORMAT_VERSION)
        manifest = Manifest(origin, content.finite, content.sources, content.outputs, content.counters, entries)
        files.write_file(temporary / MANIFEST_FILE, [manifest.to_bytes()])
        files.publish(temporary, self.path(seq))

    def _numbers(self, kind: str) -> Numbers:
        names = [path.name for path in self.directory.iterdir()] if self.directory.is_dir() else []
        matches = map(_NAME.fullmatch, names)
        return sorted(int(match[2]) for match in matches if match and match[1] == kind)

    def _next_seq(self) -> int:
        return max([0, self._last_seq or 0, *(seq for kind in _KINDS for seq in self._numbers(kind))]) + 1

    def _temporary(self, label: str) -> Path:
        return self.directory / f".tmp-{os.getpid()}-{label}"

    def _pass_over(self, seq: int, error: DamagedError) -> None:
        action = "passed over"
        if self._lock is not None:
            with self._tidying(self.path(seq)):
                files.set_aside(self.path(seq), self._named("corrupt", seq))
                action = f"set aside as {self._named('corrupt', seq).name}"
        warnings.warn(f"damaged checkpoint {action}, going back to the one before: {error}", CheckpointWarning, 3)

    def _named(self, kind: str, seq: int) -> Path:
        return self.directory / f"{kind}-{seq:012d}"

    def _prune(self) -> None:
        """Remove all but the newest `keep`, which the one just written always is of; the same for those set aside."""
        for path in [self._named(kind, seq) for kind in _KINDS for seq in self._numbers(kind)[: -self.keep]]:
            with self._tidying(path):
                files.discard(path, self._temporary(f"old-{path.name}"))

    @contextlib.contextmanager
    def _tidying(self, path: Path) -> Iterator[None]:
        # What is tidied is never what was asked for: that it fails must not fail the save or the load.
        try:
            yield
        except OSError as error:
            warnings.warn(f"{path} cannot be moved or removed: {error.strerror}", CheckpointWarning, 5)

    def _explain_none(self, passed_over: dict[int, DamagedError]) -> str:
        if not passed_over:
            return f"{self.directory} must hold a checkpoint, got none; check the path, or start afresh (--fresh)"
        reasons = "; ".join(str(error) for error in passed_over.values())
        return (
            f"{self.directory} must hold a whole checkpoint, got {reasons}; restore a copy, or start afresh (--fresh)"
        )


@functools.cache
def _libraries() -> dict[str, str]:
    names = ("river", "numpy", "numba", "pyarrow", "safetensors")
    return {"stream-maxloss": stream_maxloss.__version__, **{name: metadata.version(name) for name in names}}
