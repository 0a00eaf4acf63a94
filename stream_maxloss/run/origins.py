"""Where the rows that a model remembers came from, and what they looked like when they were read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream_maxloss.errors import CheckpointError
from stream_maxloss.run.certificate import certified_part, inner_model
from stream_maxloss.run.predictions import carried

if TYPE_CHECKING:
    from stream_maxloss.evaluate import RowBatch
    from stream_maxloss.run.columns import Columns

__all__ = ["Origin", "Origins", "origin_of", "remembering_part"]

MOST_BYTES = 64 << 20
FALLBACK_WINDOW = 10_000
SMALL_ROWS, SMALL_CHUNKS = 1024, 256
"""Chunks of fewer rows are put together when there are so many of them: rows that come one by one are many chunks."""
SCHEMA = {"number": pa.int64(), "origin": pa.string(), "key": pa.string(), "slice": pa.string()}


@dataclass(frozen=True)
class Origin:
    """What is known of a row.

    Parameters
    ----------
    address
        Where it came from: file and line, or topic, partition and offset.
    key, slice
        Its key and its slice as text, or None.
    row
        All of its columns, as they were read.

    """

    address: str
    key: str | None
    slice: str | None
    row: dict[str, Any]


class Chunk:
    """Some rows by their numbers, made into a table only when one is asked for: most are forgotten before."""

    def __init__(self, numbers: NDArray[np.int64], make: Callable[[NDArray[np.int64]], pa.Table], nbytes: int) -> None:
        self.numbers = numbers
        self.nbytes = nbytes
        self._make = make
        self._places = np.arange(len(numbers))
        self._table: pa.Table | None = None

    def keep(self, places: NDArray[np.int64]) -> None:
        """Forget all but some of the rows; a batch of which few are left is not held any longer."""
        if len(places) == len(self.numbers):
            return
        before = len(self._places) if self._table is None else 2 * len(self.numbers)
        self.numbers, self._places = self.numbers[places], self._places[places]
        if self._table is not None:
            self._table = self._table.take(pa.array(places))
        elif 2 * len(places) < before:
            self.table()

    def table(self) -> pa.Table:
        """Return the rows as a table."""
        if self._table is None:
            columns = self._make(self._places)
            self._table = columns.add_column(0, "number", pa.array(self.numbers))
            self._make, self.nbytes = columns.take, columns.nbytes
        return self._table


class Origins:
    """Remembers the origins of the rows that a model remembers, by the number of the row as it was learned, from 0.

    Any model with `hardest(k)` has such rows. Each of them has an `age`, the rows learned since, which gives its
    number. `held_rows()` says which numbers the model holds; of one without it the last `window` rows are remembered.

    Parameters
    ----------
    part
        What holds the rows.
    columns
        Which column is what.
    most_bytes
        Most bytes of values to keep: the oldest rows beyond it are forgotten here, not by the model.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.evaluate import RowBatch
    >>> from stream_maxloss.focus import FocusedClassifier
    >>> from stream_maxloss.linear import Perceptron
    >>> from stream_maxloss.run import Columns
    >>> from stream_maxloss.run.origins import Origins
    >>> model = FocusedClassifier(Perceptron(), window=2)
    >>> rows = pa.RecordBatch.from_pydict({"id": ["a", "b", "c"], "x": [1.0, 2.0, 3.0]})
    >>> model.learn_many(rows.select(["x"]), [True, False, True])
    >>> origins = Origins(model, Columns("y", key="id"))
    >>> origins.add(RowBatch(rows.select(["x"]), records=rows, address="day.csv:{}".format), 0)
    >>> origins.find(2)
    Origin(address='day.csv:2', key='c', slice=None, row={'id': 'c', 'x': 3.0})
    >>> origins.find(0) is None
    True

    """

    def __init__(self, part: Any, columns: Columns, most_bytes: int = MOST_BYTES) -> None:
        self.part = part
        self.columns = columns
        self.most_bytes = most_bytes
        self._chunks: list[Chunk] = []
        self._rows = 0
        self._small = 0

    @property
    def window(self) -> int:
        """How many rows the model remembers at most."""
        return int(getattr(self.part, "window", None) or getattr(self.part, "memory", None) or FALLBACK_WINDOW)

    def add(self, batch: RowBatch, first: int) -> None:
        """Take in rows that were just learned, of which the first has a number."""
        if batch.records is None or not len(batch):
            return
        numbers = first + np.arange(len(batch), dtype=np.int64)
        self._chunks.append(Chunk(numbers, partial(self._describe, batch), batch.records.nbytes))
        self._small = self._small + 1 if len(batch) < SMALL_ROWS else 0
        if self._small >= SMALL_CHUNKS:
            self._put_together()
        self._rows += len(batch)
        if self._rows > 2 * self.window + len(batch):
            self.trim()

    def _put_together(self) -> None:
        """Make one chunk of the small ones that came last."""
        last, self._small = self._chunks[-self._small :], 0
        tables = [chunk.table() for chunk in last]
        if any(not table.schema.equals(tables[0].schema) for table in tables):  # columns came or went
            return
        rows = pa.concat_tables(tables).combine_chunks()
        numbers, columns = rows.column("number").to_numpy(), rows.drop_columns(["number"])
        self._chunks[-len(last) :] = [Chunk(numbers, columns.take, columns.nbytes)]

    def _describe(self, batch: RowBatch, places: NDArray[np.int64]) -> pa.Table:
        chosen, none = pa.array(places), pa.nulls(len(places), pa.string())
        key = carried(batch, self.columns).get("key")
        slices = None if batch.slices is None else [as_text(batch.slices[place]) for place in places]
        columns = {
            "origin": pa.array([batch.address(place) for place in places.tolist()], pa.string()),
            "key": none if key is None else key.take(chosen).cast(pa.string()),
            "slice": none if slices is None else pa.array(slices, pa.string()),
            "row": plain_rows(batch.records.take(chosen)),
        }
        return pa.table(columns)

    def trim(self) -> None:
        """Forget rows that the model does not hold, and the oldest ones that are too many bytes."""
        held, room, kept = self._held(), self.most_bytes, []
        for chunk in reversed(self._chunks):
            chunk.keep(np.flatnonzero(np.isin(chunk.numbers, held)))
            room -= chunk.nbytes
            if room < 0:
                break
            if len(chunk.numbers):
                kept.append(chunk)
        self._chunks = kept[::-1]
        self._rows = sum(len(chunk.numbers) for chunk in self._chunks)
        self._small = min(self._small, len(self._chunks))

    def _held(self) -> NDArray[np.int64]:
        if hasattr(self.part, "held_rows"):
            return np.asarray(self.part.held_rows(), dtype=np.int64)
        last = self._chunks[-1].numbers[-1] + 1 if self._chunks else 0
        return np.arange(max(0, last - self.window), last)

    def find(self, number: int) -> Origin | None:
        """Return the origin of a row by its number, or None if it is not remembered."""
        self.trim()
        for chunk in reversed(self._chunks):
            place = int(np.searchsorted(chunk.numbers, number))
            if place < len(chunk.numbers) and chunk.numbers[place] == number:
                return origin_of(chunk.table(), number)
        return None

    def table(self) -> pa.Table | None:
        """Return all that is remembered, for a checkpoint; None where it is nothing."""
        self.trim()
        if not self._chunks:
            return None
        tables = [chunk.table() for chunk in self._chunks]
        same = [table for table in tables if table.schema.equals(tables[-1].schema)]  # else columns came or went
        return pa.concat_tables(same).combine_chunks()

    def load(self, table: pa.Table | None) -> None:
        """Take over what `table` returned."""
        self._chunks = []
        if table is None:
            return
        check(table)
        rows = table.drop_columns(["number"]).combine_chunks()
        if table.num_rows:
            self._chunks = [Chunk(table.column("number").to_numpy(), lambda places: rows.take(places), rows.nbytes)]
        self._rows, self._small = table.num_rows, 0


def check(table: pa.Table) -> None:
    """Refuse a table that is not one of origins."""
    found = {name: table.schema.field(name).type for name in table.schema.names}
    wrong = {name: kind for name, kind in SCHEMA.items() if found.get(name) != kind}
    if wrong or "row" not in found or not pa.types.is_struct(found["row"]) or table.column("number").null_count:
        raise CheckpointError("the origins of a checkpoint must have numbers, addresses and rows; use another one")


def origin_of(table: pa.Table, number: int) -> Origin | None:
    """Return the origin of a row from a checkpoint's table, or None."""
    check(table)
    places = np.flatnonzero(table.column("number").to_numpy() == number)
    if not len(places):
        return None
    found = table.slice(int(places[-1]), 1).to_pylist()[0]
    return Origin(found["origin"], found["key"], found["slice"], found["row"] or {})


def remembering_part(model: Any) -> Any | None:
    """Return the part of a model that remembers rows and can show the hardest, or None.

    A model that earns a certificate learns only some rows, and which is not known here: it counts as none.
    """
    if certified_part(model) is not None:
        return None
    inner = inner_model(model)
    last = inner._last_step if hasattr(inner, "_last_step") else inner
    return last if hasattr(last, "hardest") else None


def plain_rows(records: pa.RecordBatch) -> pa.StructArray:
    """Return rows as one column; dictionaries differ from batch to batch, so their values take their place."""
    columns = [column.dictionary_decode() if pa.types.is_dictionary(column.type) else column for column in records]
    return pa.RecordBatch.from_arrays(columns, names=records.schema.names).to_struct_array()


def as_text(value: Any) -> str | None:
    """Return a slice as text."""
    return None if value is None else str(value)
