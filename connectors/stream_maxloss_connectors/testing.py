"""Sources and sinks in memory, for tests of code that reads or writes a stream.

They keep every promise of `Source` and `Sink`, and things can be made to go wrong at a chosen row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import pyarrow as pa

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.base import Batch, Position, Sink, Source

__all__ = ["Abort", "AbortError", "Event", "Fail", "MemorySink", "MemorySource", "Pause"]

Row = Mapping[str, Any]


class AbortError(Exception):
    """Stands for the death of the process: no `SourceError`, so nothing that handles those handles this."""


class Event:
    """Something that happens when a `MemorySource` comes to it, instead of the next row.

    An event happens so many `times` and is then spent, also for other sources over the same items: a reader that
    is started again after an `Abort` gets past it, as it would in life.
    """

    def __init__(self, times: int = 1) -> None:
        if times < 1:
            raise ValueError(f"times must be at least 1, got {times!r}")
        self.times = times
        self.left = times

    def happen(self) -> None:
        """Do it once more; the caller has seen that `left` is positive."""
        self.left -= 1


class Pause(Event):
    """`next_batch` returns None, as if nothing came within the timeout."""


class Fail(Event):
    """`next_batch` raises a `SourceError` with that message; the call after it goes on with the next row."""

    def __init__(self, message: str = "the source is not there", times: int = 1) -> None:
        super().__init__(times)
        self.message = message

    def happen(self) -> None:
        """Raise the error."""
        super().happen()
        raise SourceError(self.message)


class Abort(Event):
    """`next_batch` raises `AbortError`, which stands for a killed process."""

    def happen(self) -> None:
        """Raise the error."""
        super().happen()
        raise AbortError("aborted here, as the items ask")


Item: TypeAlias = "pa.RecordBatch | Row | Event"


class MemorySource(Source):
    """Rows in memory as a source of one or more partitions.

    Of several partitions the one with the fewest rows read so far is served next, so the interleaving follows from
    the position alone and a resumed reader with the same `max_rows` sees the same order.

    Parameters
    ----------
    items
        Record batches, rows as dicts, and events, in order; or one such sequence per partition name.
    partitions
        Into how many partitions a plain sequence is dealt, item by item. They are named `"0"`, `"1"` and so on.
    schema
        The types; without it those of the first record batch, or else what Arrow infers from all rows together.
    end
        What comes after the last row. `"stop"`: the source is exhausted. `"wait"`: more may come by `append`, and it
        is never exhausted. `"repeat"`: the rows again, without end.

    Examples
    --------
    >>> from stream_maxloss_connectors.testing import MemorySource, Pause
    >>> source = MemorySource([{"x": 1}, {"x": 2}, Pause(), {"x": 3}])
    >>> source.open()
    >>> source.next_batch(max_rows=1, timeout=0.0).records.to_pylist()
    [{'x': 1}]
    >>> position = source.position()
    >>> position
    {'0': {'row': 1}}
    >>> source.next_batch(10, 0.0).records.to_pylist(), source.next_batch(10, 0.0)
    ([{'x': 2}], None)
    >>> source.open(position)
    >>> source.next_batch(10, 0.0).records.to_pylist(), source.exhausted
    ([{'x': 2}], False)

    """

    def __init__(
        self,
        items: Sequence[Item] | Mapping[str, Sequence[Item]],
        partitions: int = 1,
        schema: pa.Schema | None = None,
        end: str = "stop",
    ) -> None:
        if partitions < 1:
            raise ValueError(f"partitions must be at least 1, got {partitions!r}")
        if end not in ("stop", "wait", "repeat"):
            raise ValueError(f"end must be 'stop', 'wait' or 'repeat', got {end!r}")
        if not isinstance(items, Mapping):
            items = {str(i): list(items)[i::partitions] for i in range(partitions)}
        elif partitions != 1:
            raise ValueError(f"partitions must not be given with items by partition name, got {partitions!r}")
        self.end = end
        self.schema = _schema_of(items, schema)
        self._parts = {name: _segments(part, self.schema) for name, part in items.items()}
        self._rows = dict.fromkeys(self._parts, 0)
        self._opened = False

    def append(self, items: Sequence[Item], partition: str = "0") -> None:
        """Add to the end of a partition, as a producer does while the source is being read."""
        self._parts[partition].extend(_segments(items, self.schema))

    def partitions(self) -> list[str]:
        """Names of the partitions, in the order in which they were given."""
        return list(self._parts)

    def open(self, position: Position | None = None) -> None:
        """Go to a position, or to the first row."""
        self._rows = {name: int((position or {}).get(name, {"row": 0})["row"]) for name in self._parts}
        self._opened = True

    def next_batch(self, max_rows: int, timeout: float) -> Batch | None:
        """Return rows of the partition that is furthest behind, or let the event happen that stands there.

        No waiting takes place: when there is nothing, there is nothing until `append`.
        """
        if not self._opened:
            raise SourceError("a source must be opened before it is read; call open()")
        if max_rows < 1:
            raise ValueError(f"max_rows must be at least 1, got {max_rows!r}")
        for name in sorted(self._parts, key=lambda name: self._rows[name]):
            found = self._at(name, max_rows)
            if isinstance(found, Event):
                found.happen()
                return None
            if found is not None:
                first = self._rows[name]
                self._rows[name] += found.num_rows
                return Batch(found, name, partial(_address, name, first))
        return None

    @property
    def exhausted(self) -> bool:
        """True once every row of a source that stops was returned."""
        return self.end == "stop" and self.lag() == 0

    def position(self) -> Position:
        """Return the number of rows returned from each partition."""
        return {name: {"row": row} for name, row in self._rows.items()}

    def lag(self) -> int | None:
        """Rows not yet returned; None if they repeat without end."""
        if self.end == "repeat":
            return None
        return sum(_count(part) - self._rows[name] for name, part in self._parts.items())

    @property
    def lag_unit(self) -> str:
        """`records`."""
        return "records"

    def close(self) -> None:
        """Need `open` again before the next read."""
        self._opened = False

    def _at(self, name: str, max_rows: int) -> pa.RecordBatch | Event | None:
        part = self._parts[name]
        row = self._rows[name]
        if self.end == "repeat" and (total := _count(part)):
            row %= total
        for segment in part:
            if isinstance(segment, Event):
                if row == 0 and segment.left:
                    return segment
            elif row < segment.num_rows:
                return segment.slice(row, max_rows)
            else:
                row -= segment.num_rows
        return None


class MemorySink(Sink):
    """Rows kept in a list; what was not flushed is lost when it is opened again.

    Parameters
    ----------
    stored
        Durable rows of an earlier sink, to continue on them; the list is changed in place.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss_connectors.testing import MemorySink
    >>> sink = MemorySink()
    >>> sink.open()
    >>> sink.write(pa.RecordBatch.from_pylist([{"p": 1}]))
    >>> position = sink.flush()
    >>> sink.write(pa.RecordBatch.from_pylist([{"p": 2}]))
    >>> resumed = MemorySink(sink.stored)
    >>> resumed.open(position)
    >>> resumed.rows
    [{'p': 1}]

    """

    exactly_once = True

    def __init__(self, stored: list[dict[str, Any]] | None = None) -> None:
        self.stored: list[dict[str, Any]] = [] if stored is None else stored
        self._pending: list[dict[str, Any]] = []

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Everything written, flushed or not."""
        return self.stored + self._pending

    def open(self, position: Mapping[str, Any] | None = None) -> None:
        """Keep the rows that the position counts, drop the others."""
        del self.stored[0 if position is None else int(position["rows"]) :]
        self._pending = []

    def write(self, records: pa.RecordBatch) -> None:
        """Append rows."""
        self._pending.extend(records.to_pylist())

    def flush(self) -> Position:
        """Store the rows, and return their number."""
        self.stored.extend(self._pending)
        self._pending = []
        return {"rows": len(self.stored)}

    def close(self) -> None:
        """Store what is pending."""
        self.flush()


def _address(partition: str, first: int, row: int) -> str:
    return f"{partition}[{first + row}]"


def _schema_of(parts: Mapping[str, Sequence[Item]], schema: pa.Schema | None) -> pa.Schema:
    items = [item for part in parts.values() for item in part]
    if schema is not None:
        return schema
    for item in items:
        if isinstance(item, pa.RecordBatch):
            return item.schema
    rows = [dict(item) for item in items if isinstance(item, Mapping)]
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.RecordBatch.from_pylist([{name: row.get(name) for name in names} for row in rows]).schema


def _segments(items: Iterable[Item], schema: pa.Schema) -> list[pa.RecordBatch | Event]:
    segments: list[pa.RecordBatch | Event] = []
    rows: list[dict[str, Any]] = []
    for item in items:
        if isinstance(item, Mapping):
            rows.append(dict(item))
            continue
        if rows:
            segments.append(pa.RecordBatch.from_pylist(rows, schema=schema))
            rows = []
        if isinstance(item, pa.RecordBatch) and not item.schema.equals(schema):
            raise ValueError(f"items must have one schema, got {item.schema!r} after {schema!r}")
        segments.append(item)
    if rows:
        segments.append(pa.RecordBatch.from_pylist(rows, schema=schema))
    return segments


def _count(part: Sequence[pa.RecordBatch | Event]) -> int:
    return sum(segment.num_rows for segment in part if not isinstance(segment, Event))
