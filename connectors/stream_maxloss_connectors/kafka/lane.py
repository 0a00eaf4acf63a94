"""What was fetched from one partition and not yet returned."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import lt
from typing import Any

import pyarrow as pa

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.payloads.base import Decoded

__all__ = ["Cut", "Lane", "cut_rows"]


class Lane:
    """One partition's place in the stream: `(offset, row)` is the next unread row, the lists are fetched and unread.

    Parameters
    ----------
    topic
        Name of the topic, for messages.
    partition
        Number of the partition.
    offset
        Offset of the next unread message.
    row
        Next unread row inside of it.
    end
        Offset at which a bounded reader stops; infinite for one that follows.

    Attributes
    ----------
    fetched
        Offset after the last message in the lists.
    refused
        True if the broker no longer has the messages from `fetched` on.
    at_end
        True if there was nothing behind `fetched` when the broker last answered.

    """

    def __init__(self, topic: str, partition: int, offset: int, row: int = 0, end: float = math.inf) -> None:
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.row = row
        self.end = end
        self.fetched = offset
        self.refused = False
        self.at_end = False
        self.offsets: list[int] = []
        self.values: list[bytes | None] = []
        self.headers: list[Any] = []
        self.keys: list[bytes | None] = []

    @property
    def done(self) -> bool:
        """True once a bounded lane has nothing left."""
        return not self.offsets and self.offset >= self.end

    def extend(
        self,
        offsets: Sequence[int],
        values: Sequence[bytes | None],
        headers: Sequence[Any] = (),
        keys: Sequence[bytes | None] = (),
    ) -> None:
        """Take fetched messages.

        Raises
        ------
        SourceError
            If offsets do not increase: rows would be learned twice.

        """
        if offsets[0] < self.fetched or not increases(offsets):
            raise SourceError(
                f"{self.address(offsets[0])}: offsets must increase within a partition, got {offsets[0]} to "
                f"{offsets[-1]} where {self.fetched} or more was due; the broker or the client is at fault"
            )
        beyond = offsets[-1] >= self.end
        if beyond:
            wanted = bisect_left(offsets, self.end)
            offsets, values, headers, keys = offsets[:wanted], values[:wanted], headers[:wanted], keys[:wanted]
        self.offsets += offsets
        self.values += values
        self.headers += headers
        self.keys += keys
        self.fetched = offsets[-1] + 1 if offsets else self.fetched
        self.at_end = False
        if beyond:
            self.reached(int(self.end))

    def reached(self, offset: int) -> None:
        """Note that nothing more comes before an offset, although no message stands just before it.

        Markers of transactions and records that were compacted away take up offsets too.
        """
        self.fetched = max(self.fetched, offset)
        if not self.offsets:
            self._advance(self.fetched)

    def move(self, messages: int, row: int = 0) -> None:
        """Pass some messages of the front, and some rows of the next."""
        offset = self.offsets[messages] if messages < len(self.offsets) else self.fetched
        del self.offsets[:messages], self.values[:messages], self.headers[:messages], self.keys[:messages]
        self.offset, self.row = offset, row

    def forget(self) -> None:
        """Drop what was fetched: an interruption may have torn it, and it can be fetched again."""
        self.offsets.clear()
        self.values.clear()
        self.headers.clear()
        self.keys.clear()
        self.fetched = self.offset
        self.refused = self.at_end = False

    def restart(self, offset: int) -> None:
        """Go on at another offset."""
        self.offset, self.row = offset, 0
        self.forget()

    def address(self, offset: int) -> str:
        """Return a message's address, `orders[3]@1882`."""
        return f"{self.topic}[{self.partition}]@{offset}"

    def _advance(self, offset: int) -> None:
        if offset > self.offset:
            self.offset, self.row = offset, 0


@dataclass(frozen=True)
class Cut:
    """Rows to return, and where the lane stands after them.

    Parameters
    ----------
    records
        The rows.
    messages
        Messages that are passed with them.
    row
        Next row inside the message after those.
    message_of
        Returns the index of the message that a row came from.

    """

    records: pa.RecordBatch | None
    messages: int
    row: int
    message_of: Callable[[int], int]


def increases(offsets: Sequence[int]) -> bool:
    """Return whether each offset is higher than the one before.

    Examples
    --------
    >>> from stream_maxloss_connectors.kafka.lane import increases
    >>> increases(range(4, 7)), increases([4, 6, 9]), increases([4, 6, 5])
    (True, True, False)

    """
    return isinstance(offsets, range) or all(map(lt, offsets, offsets[1:]))


def cut_rows(decoded: Decoded, skip: int, max_rows: int) -> Cut:
    """Leave out the first `skip` rows of the first message, and what is more than `max_rows`."""
    counts = decoded.counts
    if counts is None:
        kept = range(decoded.messages)
        good = kept if not decoded.bad else [i for i in kept if i not in decoded.bad]
        return Cut(decoded.records, decoded.messages, 0, good.__getitem__)
    skip = min(skip, counts[0]) if counts else 0
    last = skip + max_rows
    passed, row = 0, 0
    for count in counts:
        if row + count > last:
            break
        row += count
        passed += 1
    records = None if decoded.records is None else decoded.records.slice(skip, max_rows)
    return Cut(records, passed, max(0, last - row) if passed < len(counts) else 0, _finder(counts, skip))


def _finder(counts: Any, skip: int) -> Callable[[int], int]:
    def message_of(row: int) -> int:
        left = row + skip
        for message, count in enumerate(counts):
            if left < count:
                return message
            left -= count
        raise IndexError(row)

    return message_of
