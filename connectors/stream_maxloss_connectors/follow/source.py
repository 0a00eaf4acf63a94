"""Files that are still being written, followed like `tail -F`."""

from __future__ import annotations

import glob
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePath
from typing import Any

import pyarrow as pa

from stream_maxloss.errors import GapError, SourceError
from stream_maxloss.system import require_posix
from stream_maxloss_connectors.bad_records import BadRecords
from stream_maxloss_connectors.base import Batch, Position, Source, SourceTraits
from stream_maxloss_connectors.files.paths import is_among, is_meant_by, is_same_file
from stream_maxloss_connectors.follow.arriving_files import ArrivingFiles, matching_files
from stream_maxloss_connectors.follow.conversion import to_followed
from stream_maxloss_connectors.follow.file_identity import OpenedFile, is_rotated_name
from stream_maxloss_connectors.follow.ipc import GrowingIpc
from stream_maxloss_connectors.follow.reader import GrowingReader
from stream_maxloss_connectors.follow.text import GrowingText
from stream_maxloss_connectors.follow.tracked_path import TrackedPath
from stream_maxloss_connectors.formats import FORMATS, check_format, split_suffix, unknown_format
from stream_maxloss_connectors.positions import check_followed
from stream_maxloss_connectors.schemas import decode_schema, encode_schema
from stream_maxloss_connectors.text.decoders import TEXT_OPTIONS, make_decoder
from stream_maxloss_connectors.text.lines import LineDecoder

__all__ = ["FollowedSource"]

# Formats whose files are whole when they appear; "arrows" is what is called the stream form of "arrow" here.
_ARRIVING = ("parquet", "arrow")

# Seconds between two looks when nothing comes: from the first to the second, doubling.
_SHORTEST_SLEEP, _LONGEST_SLEEP = 0.001, 0.25
_SCAN_SECONDS = 1.0


class FollowedSource(Source):
    """Files that grow, rotate, are cut or replaced, and directories that gain files.

    CSV, TSV, JSON lines and Arrow IPC streams grow: each path is a partition, and a record is read once its end is
    there. The path may be renamed away and made anew (the old file is drained first), copied and truncated, deleted,
    replaced, or be a symbolic link that is turned to another file; it need not exist yet. The position is the byte of
    the next record in a file known by device, inode and a hash of its start, so that after a restart it is found
    under its new name too. Parquet, Arrow IPC files and Feather cannot grow: they are followed as a directory or glob
    that gains whole files (see `ArrivingFiles`).

    Parameters
    ----------
    paths
        A path, glob or directory, or several. A glob or directory of growing files is looked at again and again, and
        each file that appears becomes a partition; a name with a number or date behind it (`live.csv.1`) is taken for
        an older generation of the one without.
    format
        `csv`, `tsv`, `jsonl`, `svmlight`, `arrows` (IPC stream), `parquet` or `arrow` (IPC file, Feather; an IPC stream
        if the name ends in `.arrows`); `auto` goes by the ending.
    schema
        Names and types of the columns, instead of inferring them from the first records.
    columns
        The columns to return.
    bad_records
        The policy for bad records; the default stops at the first.
    on_gap
        When rows are known to be lost or would come twice: `"fail"` raises `GapError`, `"continue"` warns and counts.
    until_eof
        End at the end of what is there now. An unfinished last line stays unread.
    rotate_wait
        Seconds without growth after which a file that was moved away or deleted is taken for complete. A writer that
        goes on writing to it after that loses those rows; raise it if yours is slow to reopen.
    options
        Further arguments of `CsvDecoder`, `JsonDecoder` or `SvmlightDecoder`: `delimiter`, `header`, `max_record_bytes`
        (1 MiB; a longer line is a bad record) and others.

    Notes
    -----
    What cannot be noticed is lost: rows written and then cut away or deleted between two looks (at most 0.25 s apart),
    and a file filled anew with the same first line. Copying and truncating always has that risk; renaming has not.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from stream_maxloss_connectors.follow.source import FollowedSource
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "live.jsonl")
    ...     source = FollowedSource(path)
    ...     source.open()
    ...     print(source.next_batch(10, timeout=0.0))
    ...     _ = path.write_bytes(b'{"x": 1}' + bytes([10]) + b'{"x": 2')
    ...     print(source.next_batch(10, timeout=1.0).records.to_pylist(), source.exhausted)
    ...     source.close()
    None
    [{'x': 1.0}] False

    """

    traits = SourceTraits(
        follows=True,
        partitioned=True,
        several=True,
        options=TEXT_OPTIONS | {"bad_records", "columns", "format", "on_gap", "rotate_wait", "schema", "until_eof"},
        gap_policies=("fail", "continue"),
    )

    def __init__(
        self,
        paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        format: str = "auto",
        *,
        schema: pa.Schema | None = None,
        columns: Sequence[str] | None = None,
        bad_records: BadRecords | None = None,
        on_gap: str = "fail",
        until_eof: bool = False,
        rotate_wait: float = 1.0,
        **options: Any,
    ) -> None:
        require_posix("followed files")
        if on_gap not in self.traits.gap_policies:
            raise ValueError(f"on_gap must be 'fail' or 'continue', got {on_gap!r}")
        if rotate_wait < 0:
            raise ValueError(f"rotate_wait must not be negative, got {rotate_wait!r}")
        given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
        if not given:
            raise ValueError("paths must name a file, got none")
        self.paths = [os.fspath(path) for path in given]
        self.formats = {path: _format_of(path, format) for path in self.paths}
        self.schema = schema
        self.columns = None if columns is None else list(columns)
        self.bad_records = BadRecords() if bad_records is None else bad_records
        self.on_gap = on_gap
        self.until_eof = until_eof
        self.rotate_wait = 0.0 if until_eof else rotate_wait
        self.options = dict(options)
        for name in self.formats.values():
            self._decoder(name)
        self._followers: dict[str, TrackedPath | ArrivingFiles] = {}
        self._fixed: pa.Schema | None = schema
        self._opened = False
        self._ended = False
        self._turn = 0
        self._sleep = _SHORTEST_SLEEP
        self._scanned = 0.0

    @property
    def gaps(self) -> int:
        """How often rows were known to be lost, and reading went on."""
        return sum(follower.gaps for follower in self._followers.values())

    @property
    def truncations(self) -> int:
        """How often a file was cut or filled anew with nothing known to be lost."""
        return sum(f.truncations for f in self._followers.values() if isinstance(f, TrackedPath))

    def partitions(self) -> list[str]:
        """Return the paths, those found by globs behind the others in the order they were found."""
        if not self._followers:
            return [path for path in self.paths if not self._is_pattern(path)]
        return list(self._followers)

    def open(self, position: Position | None = None) -> None:
        """Find the files of a saved position again, or begin with what is there."""
        self.close()
        position = to_followed(position or {}, self.formats, _ARRIVING, self._decoder)
        for name, entry in position.items():
            check_followed(name, entry)
        texts = [entry["schema"] for entry in position.values() if entry["schema"] is not None]
        self._fixed = decode_schema(texts[0]) if texts else self.schema
        self._ended = False
        self._sleep = _SHORTEST_SLEEP
        for path in self.paths:
            if not self._is_pattern(path):
                self._follow(path, self.formats[path], position.get(path))
        for name, entry in position.items():
            if name not in self._followers:
                self._follow(name, self._pattern_format(name), entry)
        self._scan()
        self._opened = True

    def next_batch(self, max_rows: int, timeout: float) -> Batch | None:
        """Return up to `max_rows` rows of one path, or None if none came within `timeout` seconds."""
        if max_rows < 1:
            raise ValueError(f"max_rows must be at least 1, got {max_rows!r}")
        if not self._opened:
            raise ValueError("the source must be opened before it is read; call open first")
        deadline = time.monotonic() + timeout
        while (batch := self._look(max_rows)) is None:
            left = deadline - time.monotonic()
            if self.until_eof or left <= 0:
                self._ended = self.until_eof
                return None
            time.sleep(min(self._sleep, left))
            self._sleep = min(2 * self._sleep, _LONGEST_SLEEP)
        self._sleep = _SHORTEST_SLEEP
        return batch

    @property
    def exhausted(self) -> bool:
        """False for ever, unless it is to end at the end of what is there."""
        return self._ended

    def position(self) -> Position:
        """Return for each path its file, the next record in it, the header and the schema."""
        schema = None if self._fixed is None else encode_schema(self._fixed)
        return {name: {**follower.position(), "schema": schema} for name, follower in self._followers.items()}

    def reads(self, path: Path) -> bool:
        """Whether a file is one of these or an older generation of one, or would be found by a directory or glob."""
        if is_among(path, self.paths) or is_among(path, self._followers):
            return True
        if any(
            is_same_file(path.parent, Path(p).parent) and is_rotated_name(Path(p).name, path.name) for p in self.paths
        ):
            return True
        endings = tuple(ending for ending, kind in FORMATS.items() if kind in self.formats.values())
        return is_meant_by(path, self.paths, endings)

    def lag(self) -> int | None:
        """Bytes that are there and not read, of the current files; generations to come are not counted."""
        return sum(follower.lag() for follower in self._followers.values())

    @property
    def lag_unit(self) -> str:
        """`bytes`."""
        return "bytes"

    def close(self) -> None:
        """Let go of all files."""
        for follower in self._followers.values():
            follower.close()
        self._followers = {}
        self._opened = False

    def _look(self, max_rows: int) -> Batch | None:
        if time.monotonic() - self._scanned > _SCAN_SECONDS:
            self._scan()
        batch = self._take(max_rows)
        if batch is None and self._scan():
            batch = self._take(max_rows)
        return batch

    def _take(self, max_rows: int) -> Batch | None:
        """Ask the paths in turn, so that a busy one does not hide the others."""
        names = list(self._followers)
        for step in range(len(names)):
            turn = (self._turn + step) % len(names)
            follower = self._followers[names[turn]]
            if self._fixed is not None:
                follower.fix_schema(self._fixed)
            rows = follower.take(max_rows)
            if rows is not None:
                self._fixed = self._fixed or rows[0].schema
                self._turn = turn + 1
                return Batch(rows[0], names[turn], rows[1])
        return None

    def _scan(self) -> bool:
        """Look for new files of the globs; True if there are any."""
        self._scanned = time.monotonic()
        found = False
        for pattern in self.paths:
            if not self._is_pattern(pattern):
                continue
            for path in matching_files(pattern, _endings(self.formats[pattern])):
                if path not in self._followers and not self._knows(Path(path)):
                    self._follow(path, self.formats[pattern], None)
                    found = True
        return found

    def _decoder(self, format: str) -> LineDecoder | None:
        if format not in (*_ARRIVING, "arrows"):
            return make_decoder(format, self.schema is not None or self.columns is not None, **self.options)
        if self.options:
            raise ValueError(f"options must be those of a text format, got {sorted(self.options)} for {format}")
        return None

    def _knows(self, path: Path) -> bool:
        return any(isinstance(f, TrackedPath) and f.knows(path) for f in self._followers.values())

    def _is_pattern(self, path: str) -> bool:
        """Whether the path stands for many growing files."""
        return self.formats[path] not in _ARRIVING and (Path(path).is_dir() or _has_magic(path))

    def _pattern_format(self, name: str) -> str:
        for path in self.paths:
            if self._is_pattern(path):
                return self.formats[path]
        raise GapError(f"{name}: file must be among those to follow, since a position in it was saved; add it")

    def _follow(self, path: str, format: str, saved: Mapping[str, Any] | None) -> None:
        follower: TrackedPath | ArrivingFiles
        if format in _ARRIVING:
            follower = ArrivingFiles(path, format, self.columns, self.on_gap, self.until_eof)
        else:
            if self.until_eof and saved is None and not Path(path).exists():
                raise SourceError(f"{path}: file must exist to be read to its end, got no such file; check the path")
            reader = _ReaderMaker(self, path, format)
            follower = TrackedPath(Path(path), reader.make, self.on_gap, self.rotate_wait)
        self._followers[path] = follower
        if self._fixed is not None:
            follower.fix_schema(self._fixed)
        follower.open(saved)


class _ReaderMaker:
    """Makes the reader of one generation of a path, with the schema that is known by then."""

    def __init__(self, source: FollowedSource, path: str, format: str) -> None:
        self.source = source
        self.path = path
        self.format = format

    def make(self, file: OpenedFile, saved: Mapping[str, Any] | None, header: list[str] | None) -> GrowingReader:
        source = self.source
        decoder = source._decoder(self.format)
        if decoder is None:
            return GrowingIpc(file, self.path, source._fixed, source.bad_records, saved, source.columns)
        return GrowingText(file, self.path, source._fixed, decoder, source.bad_records, saved, header, source.columns)


def _format_of(path: str, format: str) -> str:
    found, compression = split_suffix(path)
    check_format(format, "arrows")
    if compression is not None:
        raise SourceError(f"{path}: a followed file must not be compressed, got {compression}; follow the plain file")
    kind = found if format == "auto" else format
    if kind == "arrow" and PurePath(path.lower()).suffix == ".arrows":
        return "arrows"
    if kind is not None:
        return kind
    if Path(path).is_dir():
        return "parquet"
    raise SourceError(unknown_format(path))


def _has_magic(path: str) -> bool:
    return glob.has_magic(path) and not Path(path).exists()


def _endings(format: str) -> tuple[str, ...]:
    if format == "arrows":
        return (".arrows",)
    return tuple(ending for ending, kind in FORMATS.items() if kind == format and ending != ".arrows")
