"""Rows that were predicted and wait for a label, by their keys."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream_maxloss.described import check_count, check_name, check_time
from stream_maxloss.errors import UsageError
from stream_maxloss.evaluate.delayed import flatten, unflatten
from stream_maxloss.run.lifetime import Lifetime

__all__ = ["WaitingRow", "WaitingRows"]

MOST = 1_000_000
"""Most rows that wait; beyond it the oldest are given up."""


@dataclass(frozen=True)
class WaitingRow:
    """A row that was predicted.

    Parameters
    ----------
    number
        Which row of the run it is, from 0.
    key
        By which its label will name it.
    weight, slice, time
        Its sample weight, slice and time, or None.
    answer
        What the model said of it.
    X, place
        The batch of features that it is in, and where.
    address
        Gives where it came from.

    """

    number: int
    key: str
    weight: float | None
    slice: Any
    time: float | None
    answer: Any
    X: pa.RecordBatch
    place: int
    address: Callable[[], str]


class WaitingRows:
    """Keeps rows in the order in which they came; those of one key get their labels in that order.

    Parameters
    ----------
    lifetime
        How long they wait.

    """

    def __init__(self, lifetime: Lifetime) -> None:
        self.lifetime = lifetime
        self._rows: dict[int, WaitingRow] = {}
        self._by_key: dict[str, deque[int]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, key: object) -> bool:
        return key in self._by_key

    def __iter__(self) -> Iterator[WaitingRow]:
        return iter(self._rows.values())

    def add(self, row: WaitingRow) -> None:
        """Let a row wait."""
        self._rows[row.number] = row
        self._by_key.setdefault(row.key, deque()).append(row.number)

    def take(self, key: str) -> WaitingRow:
        """Return the row of a key that waited longest; it waits no longer."""
        return self._leave(self._by_key[key][0])

    def expire(self, rows: int, clock: float | None) -> int:
        """Drop rows that have waited too long at a row count and a time; return how many."""
        gone: list[int] = []
        for number, row in self._rows.items():
            if len(self._rows) - len(gone) > MOST or self.is_over(rows - number, row.time, clock):
                gone.append(number)
            elif self.lifetime.rows is not None or row.time is not None:
                break  # later ones have waited less
        for number in gone:
            self._leave(number)
        return len(gone)

    def is_over(self, waited: int, since: float | None, clock: float | None) -> bool:
        """Return whether something has waited too long: so many rows, or since a time."""
        if self.lifetime.rows is not None:
            return waited > self.lifetime.rows
        if self.lifetime.seconds is None or since is None or clock is None or math.isnan(since):
            return False
        return clock - since > self.lifetime.seconds

    def _leave(self, number: int) -> WaitingRow:
        row = self._rows.pop(number)
        numbers = self._by_key[row.key]
        numbers.remove(number)
        if not numbers:
            del self._by_key[row.key]
        return row

    def state(self) -> tuple[list[list[Any]], pa.Table | None]:
        """Return what is known of each row as plain values, and their features as a table."""
        rows = list(self._rows.values())
        known = [
            [row.number, row.key, row.weight, row.slice, row.time, flatten(row.answer), row.address()] for row in rows
        ]
        return known, features_of(rows) if rows else None

    def load(self, known: list[list[Any]], table: pa.Table | None) -> None:
        """Take over what `state` returned."""
        count = 0 if table is None else table.num_rows
        if len(known) != count:
            raise ValueError(f"waiting rows must have features each, got {count} for {len(known)} rows")
        self._rows, self._by_key = {}, {}
        batch = None if table is None else one_batch(table)
        for place, (number, key, weight, value, time, answer, address) in enumerate(known):
            if weight is not None and not isinstance(weight, float):
                raise ValueError(f"the weight of a waiting row must be a number, got {weight!r:.80}")
            if check_count(number) in self._rows:
                raise ValueError(f"waiting rows must have numbers of their own, got {number} twice")
            said = saved_answer(answer)
            address = str(address)
            self.add(
                WaitingRow(
                    number, str(key), weight, check_name(value), check_time(time), said, batch, place, address.__str__
                )
            )


def saved_answer(answer: Any) -> Any:
    """Return what was said of a row, from plain values: a label, probabilities, or a pair of both."""
    if isinstance(answer, list | tuple):
        label, share = answer
        if share is not None and not isinstance(share, float):
            raise ValueError(f"a probability must be a number, got {share!r:.80}")
        return check_name(label), share
    found = unflatten(answer)
    return found if isinstance(found, dict) else check_name(found)


def features_of(rows: list[WaitingRow]) -> pa.Table:
    """Return the features of some rows, in their order."""
    batches: dict[int, pa.RecordBatch] = {}
    for row in rows:
        batches.setdefault(id(row.X), row.X)
    first = dict(zip(batches, np.cumsum([0, *(batch.num_rows for batch in batches.values())]), strict=False))
    places: NDArray[np.int64] = np.array([first[id(row.X)] + row.place for row in rows], dtype=np.int64)
    tables = [pa.Table.from_batches([batch]) for batch in batches.values()]
    try:
        whole = pa.concat_tables(tables, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise UsageError(f"columns of rows that wait for labels must keep their types, got: {error}") from error
    return whole.take(pa.array(places)).combine_chunks()


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """Return a table as one batch."""
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=table.schema)
