"""Where idle models lie: files that are only appended to, and linked into each checkpoint that refers to them.

A *segment* holds one record after the other. Once it is *sealed*, for a checkpoint, it never changes again, so that a
checkpoint is complete as soon as it has a hard link to each of its segments: models that did not change since the last
one are not written again. What was appended after the last checkpoint is lost with a crash, and so is all that refers
to it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from stream_maxloss.checkpoint.content import LinkedFile
from stream_maxloss.errors import CheckpointError

__all__ = ["Place", "Shelf"]

BUFFER = 1 << 20
WORKERS = 64
SUFFIX = ".models"


class Place(NamedTuple):
    """Where a record lies: its segment, the byte that it begins at, and its length."""

    segment: int
    offset: int
    length: int


class Segment:
    """One file of records.

    Parameters
    ----------
    path
        The file.
    sealed
        Length and digest of one that was sealed before; None for a new one.

    """

    def __init__(self, path: Path, sealed: LinkedFile | None = None) -> None:
        self.path = path
        self.sealed = sealed
        self.length = 0 if sealed is None else sealed.bytes
        self.used = 0  # bytes that something still refers to
        self._file = path.open("xb+" if sealed is None else "rb", buffering=0)
        self._pending = bytearray()
        self._digest = hashlib.sha256()

    def append(self, record: bytes) -> int:
        """Add a record, and return where it begins."""
        begin = self.length
        self._pending += record
        self.length += len(record)
        if len(self._pending) >= BUFFER:
            self._write()
        return begin

    def read(self, offset: int, length: int) -> bytes:
        """Return some bytes."""
        written = self.length - len(self._pending)
        if offset >= written:
            return bytes(self._pending[offset - written : offset - written + length])
        found = os.pread(self._file.fileno(), length, offset)
        if len(found) != length:
            raise CheckpointError(
                f"{self.path} must hold {length} bytes at {offset}, got {len(found)}; use another checkpoint"
            )
        return found

    def seal(self) -> LinkedFile:
        """Force the file to the disk; it never changes again."""
        if self.sealed is None:
            self._write()
            os.fsync(self._file.fileno())
            self.sealed = LinkedFile(self.path, self.length, self._digest.hexdigest())
        return self.sealed

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _write(self) -> None:
        view = memoryview(bytes(self._pending))
        self._digest.update(view)
        while view:
            view = view[os.write(self._file.fileno(), view) :]
        self._pending.clear()


class Shelf:
    """Records in segments, by their places.

    Parameters
    ----------
    folder
        Where to keep them; None for a temporary folder, made when it is needed and removed with the shelf. On the file
        system of the checkpoints, linking costs nothing; elsewhere segments are copied.
    worker
        Which of up to 64 workers that share a checkpoint this one is: their segments have names of their own.

    Examples
    --------
    >>> from stream_maxloss.keyed.shelf import Shelf
    >>> shelf = Shelf()
    >>> place = shelf.put(b"what was learned")
    >>> shelf.get(place)
    b'what was learned'
    >>> list(shelf.seal())
    ['keys-000000000064.models']

    """

    def __init__(self, folder: Path | None = None, worker: int = 0) -> None:
        self.worker = worker
        self._folder = folder
        self._segments: dict[int, Segment] = {}
        self._open: int | None = None
        self._last = 0
        self._cleaner: weakref.finalize[..., Any] | None = None

    @property
    def used_bytes(self) -> int:
        """Bytes of records that are referred to."""
        return sum(segment.used for segment in self._segments.values())

    @property
    def total_bytes(self) -> int:
        """Bytes of all segments."""
        return sum(segment.length for segment in self._segments.values())

    def put(self, record: bytes) -> Place:
        """Add a record, and return its place."""
        if self._open is None:
            self._open = self._last = (self._last // WORKERS + 1) * WORKERS + self.worker
            self._segments[self._open] = Segment(self._made_folder() / name_of(self._open))
        segment = self._segments[self._open]
        place = Place(self._open, segment.append(record), len(record))
        segment.used += len(record)
        return place

    def get(self, place: Place) -> bytes:
        """Return the record at a place."""
        return self._segments[place.segment].read(place.offset, place.length)

    def drop(self, place: Place) -> None:
        """Forget a record; a sealed segment of which none is left goes with it."""
        segment = self._segments[place.segment]
        segment.used -= place.length
        if segment.used <= 0 and segment.sealed is not None:
            self._remove(place.segment)

    def keep(self, place: Place) -> None:
        """Refer to a record of a segment that was taken over."""
        segment = self._segments.get(place.segment)
        if segment is None or not 0 <= place.offset <= place.offset + place.length <= segment.length:
            raise ValueError(f"a model must lie within the files of its checkpoint, got {tuple(place)}")
        segment.used += place.length

    def sparse(self, most: int = 32, waste: int = 64 << 20) -> set[int]:
        """Return the segments that are worth writing anew: the smallest of too many, or those that are mostly waste."""
        by_use = sorted(self._segments, key=lambda number: self._segments[number].used)
        chosen = set(by_use[: len(by_use) - most // 2]) if len(by_use) > most else set()
        if self.total_bytes > 2 * self.used_bytes + waste:
            chosen |= {n for n, segment in self._segments.items() if 2 * segment.used < segment.length}
        return chosen - {self._open}

    def seal(self) -> dict[str, LinkedFile]:
        """Return the files that hold all records, each of them on the disk for good."""
        self._open = None
        found = {name_of(number): segment.seal() for number, segment in self._segments.items()}
        for number in [number for number, segment in self._segments.items() if segment.used <= 0]:
            del found[name_of(number)]
            self._remove(number)
        return found

    def take(self, files: Mapping[str, LinkedFile]) -> None:
        """Go on with the segments of a checkpoint, which is free to go."""
        for name, file in files.items():
            if name.startswith("keys-") and name.endswith(SUFFIX):
                number = int(name.removeprefix("keys-").removesuffix(SUFFIX))
                self._segments[number] = Segment(file.path, file)
                self._last = max(self._last, number)

    def move_to(self, folder: Path) -> None:
        """Keep segments in another folder from now on; those that there are get a link there."""
        folder.mkdir(parents=True, exist_ok=True)
        self.seal()
        for number, segment in self._segments.items():
            goal = folder / name_of(number)
            if segment.sealed is not None and not goal.exists():
                segment.sealed.link_to(goal)
                segment.path, segment.sealed = goal, segment.sealed._replace(path=goal)
        if self._cleaner is not None:
            self._cleaner()
            self._cleaner = None
        self._folder = folder

    def close(self) -> None:
        """Let go of all files; those in a temporary folder are gone then."""
        for segment in self._segments.values():
            segment.close()
        self._segments = {}
        self._open = None
        if self._cleaner is not None:
            self._cleaner()

    def _made_folder(self) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="maxloss-keys-"))
            self._cleaner = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        return self._folder

    def _remove(self, number: int) -> None:
        segment = self._segments.pop(number)
        segment.close()
        if self._folder is not None and segment.path.parent == self._folder:
            with contextlib.suppress(OSError):
                segment.path.unlink()


def name_of(number: int) -> str:
    """Return the name of a segment's file."""
    return f"keys-{number:012d}{SUFFIX}"
