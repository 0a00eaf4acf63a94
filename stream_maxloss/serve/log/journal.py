"""The files of the log: appended to by groups, forced to the disk, read again after a crash, pruned."""

from __future__ import annotations

import contextlib
import itertools
import mmap
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from stream_maxloss.errors import GapError, SourceError
from stream_maxloss.serve.log.record import FRAME, Record, TornError, frame_at, split_records

__all__ = ["Journal"]

MAGIC = b"MAXLOG1\n"
LONG_BYTES = 1 << 16
"""A piece of this length is not copied to be written with its neighbours."""

_NAME = re.compile(r"rows-(\d{20})\.log")


class Journal:
    """An append-only log in segments, `rows-<first row>.log`.

    A group of records is written at once and then forced to the disk by one `fdatasync`. A process that is killed, or a
    machine that loses power, in the middle leaves a torn end: the next `open` finds it by length and checksum and cuts
    it off. Nobody was told that what it held was taken. Bytes that are wrong *before* a whole record are damage, and
    refused.

    One thread at a time may use it.

    Parameters
    ----------
    directory
        Where the segments are; made if need be.
    segment_bytes
        A new segment is begun after this many.

    Examples
    --------
    >>> import tempfile
    >>> from stream_maxloss.serve.log import Journal, Kind, Record
    >>> directory = tempfile.mkdtemp()
    >>> with Journal(directory) as journal:
    ...     journal.append([Record(0, 2, Kind.JSON, b"[{}, {}]", 0.0), Record(2, 1, Kind.JSON, b"{}", 0.0)])
    >>> with Journal(directory) as journal:
    ...     journal.end, [record.payload for record in journal.read(2)]
    (3, [b'{}'])

    """

    def __init__(self, directory: str | os.PathLike[str], segment_bytes: int = 64 << 20) -> None:
        self.directory = Path(directory)
        self.segment_bytes = segment_bytes
        self.end = 0
        self.cut_bytes = 0
        self._descriptor: int | None = None
        self._length = 0

    def open(self, at_least: int = 0) -> None:
        """Find the end, cutting off what is torn, and be ready to append.

        Parameters
        ----------
        at_least
            Number of rows that a checkpoint knows; a log without segments goes on from there.

        """
        self._make_directory()
        starts = self.segments()
        if not starts:
            self.end = at_least
            self._begin()
            return
        path = self.path(starts[-1])
        self.end, length = self._find_end(path, starts[-1])
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        self.cut_bytes = os.fstat(self._descriptor).st_size - length
        if self.cut_bytes > 0 or length < len(MAGIC):
            os.ftruncate(self._descriptor, length if length >= len(MAGIC) else 0)
            if length < len(MAGIC):
                os.write(self._descriptor, MAGIC)
            os.fsync(self._descriptor)
        self._length = max(length, len(MAGIC))

    def _make_directory(self) -> None:
        """Make the directory so that it survives a power cut; else the first rows would go with it."""
        if not self.directory.is_dir():
            self.directory.mkdir(parents=True, exist_ok=True)
            sync_directory(self.directory.parent)

    def segments(self) -> list[int]:
        """Return the first row of each segment, in order."""
        found = map(_NAME.fullmatch, (path.name for path in self.directory.iterdir()))
        return sorted(int(match[1]) for match in found if match)

    def path(self, first: int) -> Path:
        """Return the file of a segment."""
        return self.directory / f"rows-{first:020d}.log"

    def append(self, records: Sequence[Record]) -> None:
        """Write records and force them to the disk; return when they would survive a power cut.

        Raises
        ------
        OSError
            If they cannot be written. The log then ends where it ended before.

        """
        if self._length >= self.segment_bytes:
            self._begin()
        parts = [part for record in records for part in record.parts()]
        descriptor = self._held()
        try:
            written = write_all(descriptor, parts)
        except OSError:
            os.ftruncate(descriptor, self._length)
            raise
        os.fdatasync(descriptor)
        self._length += written
        self.end = max(self.end, records[-1].end)

    def read(self, first: int) -> Iterator[Record]:
        """Yield the records, starting with the one that holds a row.

        Raises
        ------
        GapError
            If the log begins after that row, or lacks rows in between.
        SourceError
            If a segment is damaged.

        """
        starts = [start for start in self.segments() if start <= first] or self.segments()
        expected = first
        for start in [starts[-1], *(s for s in self.segments() if s > starts[-1])] if starts else []:
            for record in self._records(self.path(start)):
                if record.end <= expected:
                    continue
                if record.first > expected:
                    raise GapError(
                        f"{self.directory}: the log must hold row {expected}, got {record.first} as the next one; "
                        "restore the missing segments, or start over with --fresh"
                    )
                expected = record.end
                yield record
        if first > self.end:
            raise GapError(f"{self.directory}: the log must reach row {first}, got {self.end} rows; restore it")

    def prune(self, before: int) -> int:
        """Remove the segments that hold only rows before a number; return how many."""
        starts = self.segments()
        old = [start for start, following in itertools.pairwise(starts) if following <= before]
        for start in old:
            self.path(start).unlink()
        return len(old)

    def rotate_past(self, size: int) -> None:
        """Begin a new segment if this one is larger, so that it can be pruned after some more checkpoints."""
        if self._length > size:
            self._begin()

    @property
    def bytes(self) -> int:
        """Size of all segments."""
        return sum(self.path(start).stat().st_size for start in self.segments())

    def close(self) -> None:
        """Let go of the file. Closing twice is allowed."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Journal:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _held(self) -> int:
        if self._descriptor is None:
            raise SourceError(f"{self.directory}: a log must be opened before it is written; call open()")
        return self._descriptor

    def _begin(self) -> None:
        path = self.path(self.end)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, MAGIC)
            os.fsync(descriptor)
            sync_directory(self.directory)
        except OSError:
            os.close(descriptor)
            with contextlib.suppress(OSError):
                path.unlink()
            raise
        self.close()
        self._descriptor = descriptor
        self._length = len(MAGIC)

    def _find_end(self, path: Path, start: int) -> tuple[int, int]:
        """Return the number of rows and the length up to which a segment is whole."""
        end, length = start, len(MAGIC)
        with self._mapped(path) as data:
            if data[: len(MAGIC)] != MAGIC:
                if not MAGIC.startswith(bytes(data[: len(MAGIC)])):
                    raise SourceError(f"{path}: a segment must begin with {MAGIC!r}; it is damaged: restore it")
                return end, 0
            try:
                for record, length in split_records(data, len(MAGIC)):  # noqa: B007 - the last one is wanted
                    end = record.end
            except TornError as error:
                self._require_torn_end(data, length, path, error)
        return end, length

    def _require_torn_end(self, data: memoryview, offset: int, path: Path, error: TornError) -> None:
        """Refuse to cut off rows that were acknowledged: a whole record behind a bad one is no torn end."""
        if len(data) - offset < FRAME.size:
            return
        length, _ = FRAME.unpack_from(data, offset)
        with contextlib.suppress(TornError):
            frame_at(data, offset + FRAME.size + length)
            if offset + FRAME.size + length < len(data):
                raise SourceError(f"{path}: {error}, and whole records behind it: it is damaged; restore it")

    def _records(self, path: Path) -> Iterator[Record]:
        with self._mapped(path) as data:
            if data[: len(MAGIC)] != MAGIC:
                raise SourceError(f"{path}: a segment must begin with {MAGIC!r}; it is damaged: restore it")
            try:
                for record, _ in split_records(data, len(MAGIC)):
                    yield record
            except TornError as error:
                raise SourceError(f"{path}: {error}; it is damaged: restore it") from error

    @contextlib.contextmanager
    def _mapped(self, path: Path) -> Iterator[memoryview]:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                yield memoryview(b"")
                return
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped, memoryview(mapped) as view:
                yield view


def write_all(descriptor: int, parts: Sequence[bytes]) -> int:
    """Write pieces one after another, short ones together and long ones as they are; return how many bytes."""
    total = 0
    for is_long, some in itertools.groupby(parts, lambda part: len(part) >= LONG_BYTES):
        for piece in some if is_long else [b"".join(some)]:
            view = memoryview(piece)
            total += len(view)
            while view:
                view = view[os.write(descriptor, view) :]
    return total


def sync_directory(directory: Path) -> None:
    """Force the names in a directory to the disk."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
