"""The contract suite: over every source, and over sources that are broken on purpose."""

from __future__ import annotations

import pyarrow as pa
import pytest

from stream_maxloss_connectors.contract import check_sink, check_source
from stream_maxloss_connectors.testing import MemorySink, MemorySource, Pause

ROWS = [{"x": i, "s": "abc"[i % 3], "f": None if i == 4 else i / 2} for i in range(9)]
BATCHES = [pa.RecordBatch.from_pylist(ROWS[i : i + 3]) for i in range(0, 9, 3)]


@pytest.mark.parametrize("partitions", [1, 3])
def test_memory_source_keeps_the_contract(partitions):
    expected = {str(i): ROWS[i::partitions] for i in range(partitions)}
    check_source(lambda: MemorySource(ROWS, partitions=partitions), expected)


def test_memory_source_of_batches_and_pauses_keeps_the_contract():
    check_source(lambda: MemorySource([BATCHES[0], Pause(), BATCHES[1], BATCHES[2]]), ROWS)


def test_waiting_memory_source_keeps_the_contract():
    check_source(lambda: MemorySource(ROWS, end="wait"), ROWS, bounded=False, timeout=0.0)


def test_empty_source_keeps_the_contract():
    check_source(lambda: MemorySource([], schema=BATCHES[0].schema), [])


class OffByOne(MemorySource):
    def position(self):
        return {name: {"row": max(0, at["row"] - 1)} for name, at in super().position().items()}


class ReadsAhead(MemorySource):
    def position(self):
        return {name: {"row": at["row"] + 1 if at["row"] else 0} for name, at in super().position().items()}


class Reverses(MemorySource):
    def open(self, position=None):
        super().open(position)
        if position is not None:
            self._parts = {name: list(reversed(part)) for name, part in self._parts.items()}


class Reinfers(MemorySource):
    def open(self, position=None):
        super().open(position)
        if position is not None:
            narrow = pa.schema([("x", pa.float64()), ("s", pa.string()), ("f", pa.float64())])
            self._parts = {name: [batch.cast(narrow) for batch in part] for name, part in self._parts.items()}


class Overfills(MemorySource):
    def next_batch(self, max_rows, timeout):
        return super().next_batch(max_rows + 1, timeout)


class NotJson(MemorySource):
    def position(self):
        return {name: {"row": at["row"], "seen": {1}} for name, at in super().position().items()}


class IntegerKeys(MemorySource):
    def position(self):
        return {**super().position(), 7: 1}


class NeverEnds(MemorySource):
    @property
    def exhausted(self):
        return False


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (OffByOne, "must hold 9 rows, got 10"),
        (ReadsAhead, "must hold 9 rows, got 8"),
        (Reverses, "first difference is at row"),
        (Reinfers, "first difference|schema must be"),
        (Overfills, "a batch must hold 1 to 1 rows, got 2"),
        (NotJson, "must be JSON-able"),
        (IntegerKeys, "must survive JSON"),
        (NeverEnds, "must give rows or be exhausted, got 50 times None"),
    ],
)
def test_broken_source_is_found_out(broken, message):
    with pytest.raises(AssertionError, match=message):
        check_source(lambda: broken(BATCHES), ROWS)


def test_source_that_says_it_is_bounded_must_end():
    with pytest.raises(AssertionError, match="exhausted must be False at the end, got True"):
        check_source(lambda: MemorySource(ROWS), ROWS, bounded=False)


def test_memory_sink_keeps_the_contract():
    places = {}
    check_sink(lambda name: MemorySink(places.setdefault(name, [])), places.get, BATCHES)


class KeepsEverything(MemorySink):
    def open(self, position=None):
        pass


class AtLeastOnce(KeepsEverything):
    exactly_once = False


class Loses(MemorySink):
    exactly_once = False

    def open(self, position=None):
        self.stored.clear()


@pytest.mark.parametrize(("broken", "message"), [(KeepsEverything, "the sink must hold"), (Loses, "rows are missing")])
def test_broken_sink_is_found_out(broken, message):
    places = {}
    with pytest.raises(AssertionError, match=message):
        check_sink(lambda name: broken(places.setdefault(name, [])), places.get, BATCHES)


def test_sink_that_repeats_rows_passes_when_it_says_so():
    places = {}
    check_sink(lambda name: AtLeastOnce(places.setdefault(name, [])), places.get, BATCHES)
