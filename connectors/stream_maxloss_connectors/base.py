"""What every source and sink promises.

A *source* yields Arrow record batches and knows, per partition, its *position*: the next unread record.
A reader that stores the position together with whatever it made of the rows, in one atomic step, has read
every row exactly once however often it is killed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

__all__ = ["Batch", "Position", "Sink", "Source", "SourceTraits"]

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
        `orders[3]@1882`. Called for few rows, such as those that something is wrong with, so it may be slow.
    places
        Gives a column each of what else the source knows of its records, for predictions to be joined with them:
        `partition`, `offset` and the message's `key` for Kafka. None where there is no more than the address.

    """

    records: pa.RecordBatch
    partition: str
    address: Callable[[int], str]
    places: Callable[[], pa.RecordBatch] | None = None

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return self.records.num_rows


@dataclass(frozen=True)
class SourceTraits:
    """What a kind of source can do, known before one is made.

    A caller that takes addresses from a user, such as the command line, asks these instead of comparing schemes.

    Parameters
    ----------
    follows
        Rows may come at any time, and the source is never exhausted unless it takes the option `until_eof`.
    partitioned
        Rows may come from several partitions at once, and how they interleave can differ from run to run.
    several
        Several addresses can be read as one source.
    options
        Names of the keyword arguments that `from_uri` takes. These have a meaning that all sources share: `format`,
        `schema`, `columns`, `bad_records`, `follow` as in `open_source`; `until_eof` (end at the end of what is there
        now); `on_gap` (see `gap_policies`); `settings` and `settings_file` (a mapping and a properties file for the
        client below: a user's `key=value` pairs go there as text instead of being arguments of their own).
    gap_policies
        Values of `on_gap`, the default first: what to do when records from the position on are gone.

    """

    follows: bool = False
    partitioned: bool = False
    several: bool = False
    options: frozenset[str] = frozenset()
    gap_policies: tuple[str, ...] = ("fail",)


class Source(ABC):
    """Something that rows can be read from, and read again from a saved position.

    The order of calls is `open`, then `next_batch` and `position` in turn, then `close`. What an implementer
    gets wrong:

    - **Off by one.** `position()` names the next *unread* record, not the last read one: the first record after
      the last row that `next_batch` returned. Before the first batch it is where `open` placed the source.
    - **Reading ahead.** A source may buffer what it likes, but the position counts only rows that were returned.
      Rows in a buffer are unread.
    - **Records that are not rows.** A blank line, a tombstone, a skipped bad record: once they are passed the
      position lies behind them, even when they yielded nothing; else a resumed reader meets (and counts) them twice.
    - **Half a record.** The tail of a growing file is not a record until its end is there. It is neither returned
      nor passed.
    - **Cuts.** The rows must be the same wherever the caller cuts: `max_rows` and `timeout` decide how many come at
      once, never which, in which order, or of which type. So the schema is fixed by the first batch (or given), is
      part of the position, and a reopened source uses that one instead of inferring again.
    - **Signals.** `next_batch` must return within about `timeout` seconds, and must not lose rows if a signal
      handler runs in the middle.

    A class says in `traits` what it can do. To be opened by an address it needs an entry point (see
    `stream_maxloss_connectors.source_class`).
    """

    traits: ClassVar[SourceTraits] = SourceTraits()

    with_keys: bool = False
    """Whether `Batch.places` is asked for; a reader that wants it sets this before `open`."""

    @classmethod
    def from_uri(cls, uri: Any, **options: Any) -> Source:
        """Return the source for an address; only options that `traits` names are given."""
        make: Any = cls
        return make(uri, **options)

    @property
    def waits(self) -> bool:
        """Whether rows may take their time to come, so that a reader should not wait for a full batch."""
        return self.traits.follows

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

    def position_at(self, behind: Position, partition: str, address: str, before: str) -> Position | None:
        """Return where a row stands, if its address tells that without reading; None by default.

        Parameters
        ----------
        behind
            A position behind the row, with rows of its partition alone between them.
        partition
            Its partition.
        address, before
            Its address, and that of the row before it.

        """
        return None

    def reads(self, path: Path) -> bool:
        """Whether a file is one that this source reads, or would find later; False where it reads no files."""
        return False

    def commit(self, position: Position) -> None:  # noqa: B027 - most sources have nobody to tell
        """Publish a position that a checkpoint holds, for tools that show lag; nothing by default."""

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
    whatever was written after it. A sink that cannot take back what it sent either keeps rows back until a checkpoint
    holds them (`holds_back`), as Kafka's does with transactions, or is at least once, and says so in `exactly_once`.
    """

    exactly_once: bool

    holds_back: bool = False
    """Whether rows are written only by `commit`: without checkpoints, call `commit(flush())` now and then."""

    options: ClassVar[frozenset[str]] = frozenset()
    """Names of the keyword arguments that `from_uri` takes; `settings` and `settings_file` mean what they do for
    `SourceTraits`."""

    @classmethod
    def from_uri(cls, uri: str, **options: Any) -> Sink:
        """Return the sink for an address."""
        make: Any = cls
        return make(uri, **options)

    @abstractmethod
    def open(self, position: Mapping[str, Any] | None = None) -> None:
        """Continue at a saved position, dropping what lies behind it, or start anew."""

    def files(self) -> list[Path]:
        """Return the files that are written, as far as they are known before; none by default."""
        return []

    @abstractmethod
    def write(self, records: pa.RecordBatch) -> None:
        """Append rows. They may be buffered until `flush`."""

    @abstractmethod
    def flush(self) -> Position:
        """Make everything written durable, and return the position to store in the checkpoint."""

    def commit(self, position: Mapping[str, Any]) -> None:  # noqa: B027 - most sinks have written by then
        """Write what was kept back, now that a checkpoint holds the position that `flush` returned last."""

    @abstractmethod
    def close(self) -> None:
        """Flush and let go. Closing twice is allowed."""

    def __enter__(self) -> Sink:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
