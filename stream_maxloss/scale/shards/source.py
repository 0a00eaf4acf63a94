"""The rows of one shard."""

from __future__ import annotations

import time
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream_maxloss.keyed.keys import key_text
from stream_maxloss.run.columns import MissingColumnError
from stream_maxloss_connectors.base import Batch, Position, Source

if TYPE_CHECKING:
    from stream_maxloss.scale.shards.keys import KeySample

__all__ = ["ShardSource", "key_number"]

KNOWN = 1 << 18
"""Most keys whose numbers are remembered."""


def key_number(value: Any) -> int:
    """Return a number of 64 bits for a key, the same on every machine and at any time.

    Examples
    --------
    >>> from stream_maxloss.scale.shards.source import key_number
    >>> key_number("ann") == key_number("ann"), key_number(7.0) == key_number("7")
    (True, True)

    """
    return int.from_bytes(blake2b(str(key_text(value)).encode(), digest_size=8).digest(), "big")


class ShardSource(Source):
    """Another source, of which only the rows of some keys are returned, and whose keys are noted.

    Every row is read, also those of other shards, and the position lies behind them; it is the other source's.

    Parameters
    ----------
    inner
        The source, not yet opened.
    keys
        Notes the keys of rows that are returned.
    column
        The key's column; None to take all rows as they come.
    bucket, buckets
        Which rows to return: those whose key's number leaves `bucket` when divided by `buckets`.

    """

    def __init__(self, inner: Source, keys: KeySample, column: str | None, bucket: int = 0, buckets: int = 1) -> None:
        self.inner = inner
        self.keys = keys
        self.column = column
        self.bucket = bucket
        self.buckets = buckets
        self._numbers: dict[Any, int] = {}

    @property
    def waits(self) -> bool:
        """Whether rows may take their time to come."""
        return self.inner.waits

    @property
    def exhausted(self) -> bool:
        """True once the last row was returned."""
        return self.inner.exhausted

    @property
    def lag_unit(self) -> str:
        """`records` or `bytes`."""
        return self.inner.lag_unit

    def partitions(self) -> list[str]:
        """Names of the partitions."""
        return self.inner.partitions()

    def open(self, position: Position | None = None) -> None:
        """Place the source at a position, or at the beginning."""
        self.inner.with_keys = self.with_keys
        self.inner.open(position)

    def next_batch(self, max_rows: int, timeout: float) -> Batch | None:
        """Return up to `max_rows` rows of this shard, or None if none came in time."""
        deadline = time.monotonic() + timeout
        while True:
            batch = self.inner.next_batch(max_rows, max(0.0, deadline - time.monotonic()))
            if batch is None:
                return None
            mine = self._mine(batch)
            if mine.num_rows:
                return mine
            if time.monotonic() >= deadline:
                return None

    def _mine(self, batch: Batch) -> Batch:
        if self.column is None:
            return batch
        names = batch.records.schema.names
        if self.column not in names:
            raise MissingColumnError("the column that rows are dealt by", self.column, names)
        column = batch.records.column(self.column)
        encoded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        numbers = self._numbers_of(encoded.dictionary.to_pylist())
        codes = np.asarray(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False))
        by_row = np.where(codes < 0, np.uint64(0), numbers[codes] if len(numbers) else np.uint64(0))
        rows = np.flatnonzero(by_row % np.uint64(self.buckets) == self.bucket) if self.buckets > 1 else None
        seen = codes if rows is None else codes[rows]
        self.keys.add([(int(numbers[code]), str(encoded.dictionary[code])) for code in np.unique(seen[seen >= 0])])
        return batch if rows is None else part_of_batch(batch, rows)

    def _numbers_of(self, values: list[Any]) -> NDArray[np.uint64]:
        if len(self._numbers) > KNOWN:
            self._numbers.clear()
        known = self._numbers
        for value in values:
            if value not in known:
                known[value] = key_number(value)
        return np.array([known[value] for value in values], dtype=np.uint64)

    def position(self) -> Position:
        """Return the next unread record."""
        return self.inner.position()

    def lag(self) -> int | None:
        """How much is known to be left."""
        return self.inner.lag()

    def reads(self, path: Path) -> bool:
        """Whether a file is one that is read."""
        return self.inner.reads(path)

    def commit(self, position: Position) -> None:
        """Publish a position that a checkpoint holds."""
        self.inner.commit(position)

    def close(self) -> None:
        """Let go of files and connections."""
        self.inner.close()


def part_of_batch(batch: Batch, rows: NDArray[np.int64]) -> Batch:
    """Return some rows of a batch, each with the address that it had."""
    indices = pa.array(rows)
    places = batch.places
    return Batch(
        batch.records.take(indices),
        batch.partition,
        lambda row: batch.address(int(rows[row])),
        None if places is None else lambda: places().take(indices),
    )
