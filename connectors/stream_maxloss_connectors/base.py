"""What every source and sink promises.

A *source* yields Arrow record batches and knows, per partition, its *position*: the next unread record.
A reader that stores the position together with whatever it made of the rows, in one atomic step, has read
every row exactly once however often it is killed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

__all__ = ["Batch", "Position", "Sink", "Source"]

Position = dict[str, Any]
"""Partition name -> whatever JSON the source needs to find the next unread record of it."""


@dataclass(frozen=True)
class Batch:
    """Some consecutive rows of one partition.

    Parameters
    ----------
    records
        The rows as columns.
    partition
        The partition that they come from.
    address
        Gives, for a row of this batch counted from 0, where a user finds it: `day.csv:1882` or
        `orders[3]@1882`. Called only when something is wrong with the row, so it may be slow.

    """

    records: pa.RecordBatch
    partition: str
    address: Callable[[int], str]

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return self.records.num_rows


class Source(ABC):
    """Something that rows can be read from, and read again from a saved position.

    The order of calls is `open`, then `next_batch` and `position` in turn, then `close`. What an implementer
    gets wrong:

    - **Off by one.** `position()` names the next *unread* record, not the last read one: the first record after
      the last row that `next_batch` returned. Before the first batch it is where `open` placed the source.
    - **Reading ahead.** A source may buffer what it likes, but the position counts only rows that were returned.
      Rows in a buffer are unread.
    - **Records that make no row.** A blank line, a tombstone, a skipped bad record: once they are passed the
      position lies behind them, even when no row came of them; else a resumed reader meets (and counts) them twice.
    - **Half a record.** The tail of a growing file is not a record until its end is there. It is neither returned
      nor passed.
    - **Cuts.** The rows must be the same wherever the caller cuts: `max_rows` and `timeout` decide how many come at
      once, never which, in which order, or of which type. So the schema is fixed by the first batch (or given), is
      part of the position, and a reopened source uses that one instead of inferring again.
    - **Signals.** `next_batch` must return within about `timeout` seconds, and must not lose rows if a signal
      handler runs in the middle.
    """

    @abstractmethod
    def partitions(self) -> list[str]:
        """Names of the partitions, in a stable order. One file is one partition; so is one of Kafka's."""

    @abstractmethod
    def open(self, position: Position | None = None) -> None:
        """Place the source at a saved position, or at the beginning.

        Raises
        ------
        SourceError
            If the source is not there or cannot be read.
        GapError
            If records from the position on are no longer held by the source.

        """

    @abstractmethod
    def next_batch(self, max_rows: int, timeout: float) -> Batch | None:
        """Return up to `max_rows` rows of one partition, or None if none came within `timeout` seconds.

        After None, `exhausted` tells whether more can ever come.
        """

    @property
    @abstractmethod
    def exhausted(self) -> bool:
        """True once a bounded source has returned its last row. Always False for one that is followed."""

    @abstractmethod
    def position(self) -> Position:
        """Return the next unread record of each partition, as JSON-able data."""

    @abstractmethod
    def lag(self) -> int | None:
        """How much is known to be left: records for Kafka, bytes for files; None if it cannot be known.

        `lag_unit` names the unit.
        """

    @property
    @abstractmethod
    def lag_unit(self) -> str:
        """`records` or `bytes`."""

    @abstractmethod
    def close(self) -> None:
        """Let go of files and connections. Closing twice is allowed."""

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Sink(ABC):
    """Something that rows are written to.

    A file sink is exactly once: its length is part of the checkpoint, and `open` with that position cuts off
    whatever was written after it. A sink that cannot take back what it sent (Kafka) is at least once, and says so
    in `exactly_once`.
    """

    exactly_once: bool

    @abstractmethod
    def open(self, position: Mapping[str, Any] | None = None) -> None:
        """Continue at a saved position, dropping what lies behind it, or start anew."""

    @abstractmethod
    def write(self, records: pa.RecordBatch) -> None:
        """Append rows. They may be buffered until `flush`."""

    @abstractmethod
    def flush(self) -> Position:
        """Make everything written durable, and return the position to store in the checkpoint."""

    @abstractmethod
    def close(self) -> None:
        """Flush and let go. Closing twice is allowed."""

    def __enter__(self) -> Sink:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
