"""A source that is read and decoded in a process of its own."""

from __future__ import annotations

import copy
import os
import socket
import subprocess
import sys
import time
import warnings
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.aside.child import ADDRESS, PLACE, RecordedBad, error_from, replay
from stream_maxloss_connectors.aside.wire import Wire, WireClosedError
from stream_maxloss_connectors.bad_records import BadRecords
from stream_maxloss_connectors.base import Batch, Position, Source

__all__ = ["AsideSource"]

BATCH_ROWS = 16384
AHEAD = 6


@dataclass
class Chunk:
    """A batch of the other process, of which some rows may have been returned.

    Parameters
    ----------
    records, known
        The rows, and their addresses and places.
    told
        What came with them.
    before
        The position that they begin at.
    taken
        Rows that were returned.
    passed
        What happened before them.

    """

    records: pa.RecordBatch
    known: pa.RecordBatch
    told: dict[str, Any]
    before: Position
    taken: int = 0
    passed: list[Any] = field(default_factory=list)

    @property
    def left(self) -> int:
        """Rows that were not returned yet."""
        return int(self.records.num_rows) - self.taken


class AsideSource(Source):
    """Reads a source in another process, which decodes ahead while this one learns.

    Rows, their order, their addresses, positions and what becomes of bad records are those of the source itself. The
    process ends with this one; if it is ended by somebody else, the next read says so.

    Parameters
    ----------
    source
        The source, not yet opened; it is sent to the other process.
    bad_records
        The policy that the source has: bad records are dealt with here, when their rows are returned.
    batch_rows
        Most rows to hand over at once.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from stream_maxloss_connectors import BadRecords, open_source
    >>> from stream_maxloss_connectors.aside import AsideSource
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "day.csv")
    ...     _ = path.write_text("amount\\n12\\n345\\n")
    ...     bad = BadRecords()
    ...     with AsideSource(open_source(path, bad_records=bad), bad) as source:
    ...         source.open()
    ...         source.next_batch(max_rows=10, timeout=10).records.to_pydict()
    {'amount': [12.0, 345.0]}

    """

    def __init__(self, source: Source, bad_records: BadRecords, batch_rows: int = BATCH_ROWS) -> None:
        self.source = source
        self.bad_records = bad_records
        self.batch_rows = batch_rows
        self._process: subprocess.Popen[bytes] | None = None
        self._wire: Wire | None = None
        self._chunks: deque[Chunk] = deque()
        self._position: Position = {}
        self._told: dict[str, Any] = {}
        self._is_at_end = False

    @property
    def traits(self) -> Any:  # type: ignore[override]
        """What the source can do."""
        return self.source.traits

    @property
    def waits(self) -> bool:
        """Whether rows may take their time to come."""
        return self.source.waits

    def partitions(self) -> list[str]:
        """Return the names of the partitions."""
        return list(self._told.get("partitions") or self.source.partitions())

    def open(self, position: Position | None = None) -> None:
        """Start the process, and place the source there."""
        self.close()
        self._wire, self._process = start_child()
        recorded = RecordedBad(self.bad_records)
        order = {"source": with_policy(self.source, self.bad_records, recorded), "bad": recorded, "position": position}
        self._wire.send({**order, "with_keys": self.with_keys, "batch_rows": self.batch_rows, "ahead": AHEAD})
        self._is_at_end = False
        while self._receive()["kind"] != "opened":
            pass

    def next_batch(self, max_rows: int, timeout: float) -> Batch | None:
        """Return up to `max_rows` rows of one partition, or None if none came within `timeout` seconds."""
        if self._wire is None:
            raise SourceError("a source must be opened before it is read; call open()")
        if max_rows < 1:
            raise ValueError(f"max_rows must be at least 1, got {max_rows!r}")
        deadline = time.monotonic() + timeout
        while not self._chunks and not self._is_at_end:
            if not self._wire.poll(deadline - time.monotonic()):
                return None
            self._receive()
        if not self._chunks:
            return None
        return self._take(self._chunks[0], max_rows)

    def _take(self, chunk: Chunk, max_rows: int) -> Batch:
        first, count = chunk.taken, min(max_rows, chunk.left)
        if count == chunk.left:
            self._chunks.popleft()
            events = left_of(chunk.told["events"], chunk.passed)
            self._position = chunk.told["position"]
            self._ask("more", 1)
        else:
            events = self._events_before(chunk, first + count)
            self._position = {}  # asked for only if somebody wants to know
        chunk.taken += count
        replay(events, self.bad_records)
        known = chunk.known.slice(first, count)
        addresses = known.column(ADDRESS)
        has_places = len(known.schema.names) > 1
        return Batch(
            chunk.records.slice(first, count),
            chunk.told["partition"],
            lambda row: str(addresses[row].as_py()),
            (lambda: places_in(known)) if has_places else None,
        )

    @property
    def exhausted(self) -> bool:
        """True once a bounded source has returned its last row."""
        return self._is_at_end and not self._chunks

    def position(self) -> Position:
        """Return the next unread record of each partition."""
        if not self._position and self._chunks and self._chunks[0].taken:
            self._position = self._position_in(self._chunks[0])
        return self._position

    def lag(self) -> int | None:
        """Return how much is known to be left, as the other process last knew it."""
        told: int | None = self._told.get("lag")
        return told

    @property
    def lag_unit(self) -> str:
        """`records` or `bytes`."""
        return self.source.lag_unit

    def reads(self, path: Path) -> bool:
        """Whether a file is one that the source reads."""
        return self.source.reads(path)

    def commit(self, position: Position) -> None:
        """Publish a position that a checkpoint holds."""
        self._ask("commit", position)

    def close(self) -> None:
        """End the process."""
        if self._wire is not None:
            self._wire.close()
            self._wire = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        self._chunks.clear()

    def _ask(self, kind: str, value: Any) -> None:
        if self._wire is not None and not (self._is_at_end and kind == "more"):
            try:
                self._wire.send((kind, value))
            except WireClosedError as error:
                raise self._gone() from error

    def _receive(self) -> dict[str, Any]:
        """Take one message."""
        if self._wire is None:
            raise SourceError("a source must be opened before it is read; call open()")
        try:
            told, batches = self._wire.receive()
        except WireClosedError as error:
            raise self._gone() from error
        kind = told["kind"]
        if kind == "error":
            replay(told["events"], self.bad_records)  # which raises by itself if that was it
            raise error_from(told["error"])
        if kind == "warning":
            warnings.warn(told["text"], category_of(told["category"]), stacklevel=4)
            return dict(told)
        before = self._last_position()
        self._told = told
        if kind == "batch":
            records, known = batches
            self._chunks.append(Chunk(records, known, told, before))
        else:
            self._hold_events(told)
            self._is_at_end = kind == "end"
            if kind == "idle":
                self._ask("more", 1)
        return dict(told)

    def _last_position(self) -> Position:
        """Return where the other process stood before what has just come."""
        position: Position = self._chunks[-1].told["position"] if self._chunks else self._position
        return position

    def _hold_events(self, told: dict[str, Any]) -> None:
        """Take what happened without a row: behind the rows that wait here, or at once where none does."""
        if self._chunks:
            last = self._chunks[-1].told
            last["events"], last["position"] = [*last["events"], *told["events"]], told["position"]
        else:
            self._position = told["position"]
            replay(told["events"], self.bad_records)

    def _events_before(self, chunk: Chunk, rows: int) -> list[Any]:
        """Return what happened between the rows that were returned of a batch and a row of it."""
        if any(not isinstance(event, int) for event in chunk.told["events"]):
            _, passed = self._read_again(chunk, rows)
        else:
            passed = [rows]
        events = left_of(passed, chunk.passed)
        chunk.passed = passed
        return events

    def _position_in(self, chunk: Chunk) -> Position:
        """Return the position behind the rows that were returned of a batch."""
        # A topic's offsets are in the addresses: to open it once more for each checkpoint takes seconds. Not among
        # bad records, which the position would have to count, too.
        if all(isinstance(event, int) for event in chunk.told["events"]):
            before, address = chunk.known.column(ADDRESS).slice(chunk.taken - 1, 2).to_pylist()
            found = self.source.position_at(chunk.told["position"], chunk.told["partition"], address, before)
            if found is not None:
                return found
        return self._read_again(chunk, chunk.taken)[0]

    def _read_again(self, chunk: Chunk, rows: int) -> tuple[Position, list[Any]]:
        """Return the position behind some rows of a batch, and what happened before it, by reading them once more."""
        recorded = RecordedBad(BadRecords("skip"))
        source = with_policy(self.source, self.bad_records, recorded)
        with source:
            source.open(chunk.before)
            missing, deadline = rows, time.monotonic() + 60.0
            while missing:
                batch = source.next_batch(missing, 1.0)
                if batch is None and (source.exhausted or time.monotonic() > deadline):
                    raise SourceError("rows must be there when they are read again, got none; the source has changed")
                missing -= 0 if batch is None else batch.num_rows
            return source.position(), recorded.take()

    def _gone(self) -> SourceError:
        code = None if self._process is None else self._process.wait()
        return SourceError(
            f"the process that reads must stay alive, got its end (exit code {code}); run again to go on from the "
            "last checkpoint, or leave out --decoders"
        )


def start_child() -> tuple[Wire, subprocess.Popen[bytes]]:
    """Start the process that reads, and return the connection with it."""
    ours, theirs = socket.socketpair()
    root = str(Path(__file__).resolve().parents[2])
    paths = [root, str(Path(root).parent), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    code = "from stream_maxloss_connectors.aside.child import main; main()"
    command = [sys.executable, "-c", code, str(theirs.fileno())]
    with theirs:
        process = subprocess.Popen(
            command,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
    return Wire(ours), process


def with_policy(source: Source, old: BadRecords, new: BadRecords) -> Source:
    """Return a copy of a source that tells its bad records to another policy."""
    return copy.deepcopy(source, {id(old): new})


def places_in(known: pa.RecordBatch) -> pa.RecordBatch:
    """Return what the source knows of some rows."""
    names = [name for name in known.schema.names if name.startswith(PLACE)]
    return pa.record_batch({name.removeprefix(PLACE): known.column(name) for name in names})


def category_of(name: str) -> type[Warning]:
    """Return the kind of a warning."""
    if name == "TopicWarning":
        from stream_maxloss_connectors.kafka.outage import TopicWarning

        return TopicWarning
    return UserWarning


def left_of(events: list[Any], passed: list[Any]) -> list[Any]:
    """Return what is left of events once the first of them were passed, however records were counted together.

    Examples
    --------
    >>> from stream_maxloss_connectors.aside.source import left_of
    >>> left_of([10, 1, ("day.csv:11", "a fault", b""), 5], [7])
    [1, ('day.csv:11', 'a fault', b''), 8]

    """
    bad = [event for event in events if not isinstance(event, int)]
    bad = bad[sum(not isinstance(event, int) for event in passed) :]
    counted = sum(event for event in events if isinstance(event, int))
    counted -= sum(event for event in passed if isinstance(event, int)) + len(bad)
    return [*(part for event in bad for part in (1, event)), *([counted] if counted else [])]
