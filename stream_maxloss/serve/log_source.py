"""The log as a source: its rows, in its order, from wherever a checkpoint stands."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pyarrow as pa
from numpy.typing import NDArray

from stream_maxloss.errors import DecodeError, SourceError, UsageError
from stream_maxloss.run.saved import LOG
from stream_maxloss.serve.bodies import Body, read_body
from stream_maxloss.serve.log import Journal, Kind, Record
from stream_maxloss.serve.row_form import RowForm
from stream_maxloss.serve.waiting import Waiting
from stream_maxloss_connectors import Batch, Source
from stream_maxloss_connectors.base import Position, SourceTraits
from stream_maxloss_connectors.schemas import decode_schema, encode_schema

if TYPE_CHECKING:
    from stream_maxloss.evaluate import RowBatch
    from stream_maxloss.run import RowFeed

__all__ = ["PARTITION", "Entry", "LogSource", "address_of", "part_of", "sequence_of", "split_rows"]

PARTITION = LOG
"""Name of the log among the partitions."""

READ_AHEAD = 256
"""Records that are read from the disk at once after a start."""


@dataclass
class Entry:
    """One record on its way into the model.

    Parameters
    ----------
    record
        The record.
    body
        Its rows, where somebody has split them already.
    done
        Told the outcome; None for what is read again after a start.
    refused
        Row of the request, from 0 -> why it was not learned.

    """

    record: Record
    body: Body | None = None
    done: asyncio.Future[dict[str, Any]] | None = None
    refused: dict[int, str] = field(default_factory=dict)


class LogSource(Source):
    """Rows of the log, as a `Source`: what a checkpoint has not seen comes from the disk, what is new from `offer`.

    Parameters
    ----------
    journal
        The log.
    form
        What rows look like; a record of the log fixes it.
    waiting
        Rows that wait for their labels, or None where there are none.
    refuse
        Called with each row that cannot be read.

    """

    traits = SourceTraits(follows=True)

    def __init__(
        self, journal: Journal, form: RowForm, waiting: Waiting | None, refuse: Callable[[DecodeError], None]
    ) -> None:
        self.journal = journal
        self.form = form
        self.waiting = waiting
        self.refuse = refuse
        self.next = 0
        self._said: dict[int, dict[str, Any]] = {}
        self._entries: deque[Entry] = deque()
        self._taken: deque[Entry] = deque()
        self._replay: Iterator[Record] = iter(())
        self._first = False

    def partitions(self) -> list[str]:
        """One."""
        return [PARTITION]

    def open(self, position: Position | None = None) -> None:
        """Go to a position, or to the beginning of the log."""
        found = (position or {}).get(PARTITION) or {"next": 0, "schema": None}
        number, schema = found.get("next"), found.get("schema")
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 1 << 62:
            raise SourceError(f"the log's position must be a number of rows, got {number!r}; use another checkpoint")
        self.next = number
        if schema is not None:
            self.form.fix(decode_schema(str(schema)))
        self.journal.open(number)
        self._replay = self.journal.read(number)

    def offer(self, entries: Sequence[Entry]) -> None:
        """Add records that are on the disk now."""
        self._entries.extend(entries)

    def next_batch(self, max_rows: int, timeout: float) -> Batch | None:
        """Return up to so many rows, or None; never waits."""
        while self._fill():
            entry = self._entries[0]
            if entry.record.kind in (Kind.SCHEMA, Kind.WAITING):
                self._note(entry)
            elif entry.record.kind == Kind.ARROW:
                return self._next_arrow(entry, max_rows)
            else:
                batch = self._next_json(max_rows)
                if batch.num_rows:
                    return batch
        return None

    def _fill(self) -> bool:
        if not self._entries:
            self._entries.extend(Entry(record) for record in itertools.islice(self._replay, READ_AHEAD))
        return bool(self._entries)

    def _note(self, entry: Entry) -> None:
        """Take in a record without rows for the model."""
        record = entry.record
        if record.kind == Kind.SCHEMA:
            self.form.fix(pa.ipc.read_schema(pa.py_buffer(record.payload)))
            self._first = True
        elif self.waiting is not None:
            found = orjson.loads(record.payload)
            # Older logs have the rows alone.
            found = found if isinstance(found, dict) else {"rows": found, "said": [None] * len(found)}
            self.waiting.keep(found["rows"], found["said"], record.seconds)
        self._advance(record.end)

    def _next_arrow(self, entry: Entry, max_rows: int) -> Batch:
        if entry.body is None:
            entry.body = read_body(entry.record.payload, Kind.ARROW)
        first = self.next
        records = self.form.conform(entry.body.records).slice(first - entry.record.first, max_rows)
        self._advance(first + records.num_rows)
        return Batch(records, PARTITION, lambda row: address_of(first + row))

    def _next_json(self, max_rows: int) -> Batch:
        """Return rows of as many requests as fit, decoded at once: one by one would take several times as long."""
        payloads: list[bytes] = []
        first = self.next
        for entry in self._entries:
            if len(payloads) >= max_rows or entry.record.kind not in (Kind.JSON, Kind.LINES, Kind.LABELS):
                break
            skipped = first + len(payloads) - entry.record.first
            payloads += self._rows_of(entry)[skipped : skipped + max_rows - len(payloads)]
            if self._first:
                # What columns are is decided from the first rows: always from the same ones, however requests came.
                self._first = False
                break
        records, bad = self.form.decode(payloads)
        for row, reason in bad.items():
            if payloads[row]:  # what found no row has its reason already
                self.refuse(DecodeError(address_of(first + row), reason, payloads[row]))
        places = [row for row in range(len(payloads)) if row not in bad] if bad else range(len(payloads))
        self._advance(first + len(payloads))
        return Batch(records, PARTITION, lambda row: address_of(first + places[row]))

    def _rows_of(self, entry: Entry) -> Sequence[bytes]:
        if entry.record.kind == Kind.LABELS and entry.body is None:
            entry.body = self._join(entry)
        elif entry.body is None:
            entry.body = read_body(entry.record.payload, entry.record.kind)
        return entry.body.payloads

    def _join(self, entry: Entry) -> Body:
        payloads: list[bytes] = []
        for row, label in enumerate(orjson.loads(entry.record.payload)):
            payload, said, reason = (
                (None, None, "no ids are kept")
                if self.waiting is None
                else self.waiting.join(label, entry.record.seconds)
            )
            payloads.append(payload or b"")
            if said is not None:
                self._said[entry.record.first + row] = said
            if payload is None:
                self.refuse(DecodeError(address_of(entry.record.first + row), str(reason)))
        return Body(Kind.JSON, b"", payloads)

    def with_said(self, rows: RowBatch) -> RowBatch:
        """Return rows that were just given out with what was said of them when they were asked for."""
        if not self._said:
            return rows
        said: NDArray[np.object_] = np.empty(len(rows), dtype=object)
        for row in range(len(rows)):
            said[row] = self._said.get(sequence_of(rows.address(row)) or 0)
        self._said = {number: found for number, found in self._said.items() if number >= self.next}
        return replace(rows, said=said)

    def _advance(self, number: int) -> None:
        self.next = number
        while self._entries and self._entries[0].record.end <= number:
            self._taken.append(self._entries.popleft())

    def finished(self) -> list[Entry]:
        """Return the records all of whose rows were given out since the last call."""
        found = list(self._taken)
        self._taken.clear()
        return found

    def unfinished(self) -> list[Entry]:
        """Return the records that somebody may still wait for."""
        return [*self._taken, *self._entries]

    @property
    def replaying(self) -> bool:
        """Whether rows of before the start are still to come."""
        return self.next < self.journal.end

    @property
    def exhausted(self) -> bool:
        """Never."""
        return False

    def position(self) -> Position:
        """Return the number of the next row, and what rows look like."""
        schema = self.form.schema
        return {PARTITION: {"next": self.next, "schema": None if schema is None else encode_schema(schema)}}

    def lag(self) -> int:
        """Rows on the disk that are not learned yet."""
        return max(0, self.journal.end - self.next)

    @property
    def lag_unit(self) -> str:
        """`records`."""
        return "records"

    def close(self) -> None:
        """Let go of the log."""
        self.journal.close()


class JoinedSource(Source):
    """The log, and beside it a source that is followed.

    Parameters
    ----------
    log
        The log.
    source
        The other one, not yet opened, or None.

    """

    traits = SourceTraits(follows=True, partitioned=True)

    def __init__(self, log: LogSource, source: Source | None = None) -> None:
        self.log = log
        self.source = source
        self._others: Position = {}

    def partitions(self) -> list[str]:
        """Those of both."""
        return [*self.log.partitions(), *(self.source.partitions() if self.source is not None else [])]

    def open(self, position: Position | None = None) -> None:
        """Place both."""
        self._others = {name: place for name, place in (position or {}).items() if name != PARTITION}
        self.log.open(position)
        if self.source is not None:
            self.source.open(self._others or None)

    def next_batch(self, max_rows: int, timeout: float) -> Batch | None:
        """Return rows of the log, or else of the source."""
        found = self.log.next_batch(max_rows, 0.0)
        return found if found is not None or self.source is None else self.source.next_batch(max_rows, timeout)

    @property
    def exhausted(self) -> bool:
        """Never."""
        return False

    def position(self) -> Position:
        """Return that of both; of a source that is not followed now, the one it was left at."""
        return {**(self._others if self.source is None else self.source.position()), **self.log.position()}

    def lag(self) -> int | None:
        """Return that of the source, or of the log where there is none."""
        return self.log.lag() if self.source is None else self.source.lag()

    @property
    def lag_unit(self) -> str:
        """As `lag`."""
        return self.log.lag_unit if self.source is None else self.source.lag_unit

    def commit(self, position: Position) -> None:
        """Record the position that a checkpoint holds."""
        if self.source is not None:
            self.source.commit({name: place for name, place in position.items() if name != PARTITION})

    def close(self) -> None:
        """Close both."""
        self.log.close()
        if self.source is not None:
            self.source.close()


def address_of(sequence: int) -> str:
    """Return where a row stands, for a message."""
    return f"log@{sequence}"


def sequence_of(address: str) -> int | None:
    """Return which row of the log an address means; None for other addresses.

    Examples
    --------
    >>> from stream_maxloss.serve.log_source import sequence_of
    >>> sequence_of("log@17"), sequence_of("day.csv:17")
    (17, None)

    """
    scheme, _, number = address.partition("@")
    return int(number) if scheme == "log" and number.isdigit() else None


def part_of(batch: Batch, first: int, rows: int) -> Batch:
    """Return some rows of a batch."""
    return Batch(batch.records.slice(first, rows), batch.partition, lambda row: batch.address(first + row))


def split_rows(feed: RowFeed, batch: Batch, refuse: Callable[[DecodeError], None]) -> RowBatch | None:
    """Split some rows; None if they came from clients and cannot be learned, each of which is refused.

    They are in the log by then, and would end the service again at every start.
    """
    try:
        return feed.split(batch.records, batch.address)
    except UsageError as error:
        if batch.partition != PARTITION:
            raise
        for row in range(batch.num_rows):
            refuse(DecodeError(batch.address(row), str(error)))
        return None
