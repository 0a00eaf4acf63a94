"""The memory of where rows came from, beside a plain dict."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from stream_maxloss.errors import CheckpointError
from stream_maxloss.evaluate import RowBatch
from stream_maxloss.run import Columns
from stream_maxloss.run.origins import Origins


class Holder:
    """A model that holds which rows it is told to."""

    window = 20

    def __init__(self):
        self.held = []

    def held_rows(self):
        return np.array(self.held, dtype=np.int64)


def batch_of(first, count, text="v"):
    rows = pa.RecordBatch.from_pydict({"x": [float(i) for i in range(first, first + count)], "t": [text] * count})
    return RowBatch(rows.select(["x"]), records=rows, address=lambda row: f"f:{first + row}")


def test_what_is_held_is_found_however_batches_come():
    generator = np.random.default_rng(3)
    holder = Holder()
    origins = Origins(holder, Columns("y"))
    first = 0
    for step in range(200):
        count = int(generator.integers(1, 60))
        origins.add(batch_of(first, count), first)
        first += count
        kept = [n for n in holder.held if generator.random() < 0.7]
        holder.held = sorted({*kept, *generator.integers(first - count, first, 8).tolist()})[-20:]
        if step % 50 == 49:
            fresh = Origins(holder, Columns("y"))
            fresh.load(origins.table())
            origins = fresh
        for number in holder.held:
            found = origins.find(number)
            assert found.address == f"f:{number}"
            assert found.row["x"] == float(number)
    assert sum(len(chunk.numbers) for chunk in origins._chunks) <= 20


def test_memory_is_bounded_by_bytes_and_the_newest_stay():
    holder = Holder()
    origins = Origins(holder, Columns("y"), most_bytes=20_000)
    for first in range(0, 20, 5):
        origins.add(batch_of(first, 5, "long " * 400), first)
    holder.held = list(range(20))
    origins.trim()
    assert origins.find(19).address == "f:19"
    assert origins.find(0) is None
    assert origins.table().nbytes < 40_000


def test_a_table_of_something_else_is_refused():
    with pytest.raises(CheckpointError, match="origins of a checkpoint must have"):
        Origins(Holder(), Columns("y")).load(pa.table({"number": ["a"]}))
