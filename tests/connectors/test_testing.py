from __future__ import annotations

import pyarrow as pa
import pytest

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.testing import Abort, AbortError, Fail, MemorySink, MemorySource, Pause

ROWS = [{"x": i, "y": i % 2 == 0} for i in range(5)]


def read(source, max_rows=10):
    rows = []
    while (batch := source.next_batch(max_rows, 0.0)) is not None:
        rows += batch.records.to_pylist()
    return rows


def test_items_are_dealt_to_partitions_in_turn():
    source = MemorySource(ROWS, partitions=2)
    source.open()
    found = {name: [] for name in source.partitions()}
    while not source.exhausted:
        batch = source.next_batch(1, 0.0)
        found[batch.partition] += batch.records.column("x").to_pylist()
    assert found == {"0": [0, 2, 4], "1": [1, 3]}


def test_interleaving_of_partitions_follows_from_the_position():
    straight = MemorySource(ROWS, partitions=2)
    straight.open()
    order = [straight.next_batch(1, 0.0).partition for _ in range(5)]
    for cut in range(5):
        first = MemorySource(ROWS, partitions=2)
        first.open()
        head = [first.next_batch(1, 0.0).partition for _ in range(cut)]
        second = MemorySource(ROWS, partitions=2)
        second.open(first.position())
        assert head + [second.next_batch(1, 0.0).partition for _ in range(5 - cut)] == order


def test_pause_returns_nothing_without_being_exhausted():
    source = MemorySource([ROWS[0], Pause(times=2), ROWS[1]])
    source.open()
    assert source.next_batch(10, 0.0).num_rows == 1
    assert source.next_batch(10, 0.0) is None
    assert source.next_batch(10, 0.0) is None
    assert not source.exhausted
    assert source.next_batch(10, 0.0).records.to_pylist() == [ROWS[1]]
    assert source.exhausted


def test_fail_raises_once_and_loses_no_row():
    source = MemorySource([ROWS[0], Fail("broker is down"), ROWS[1]])
    source.open()
    source.next_batch(10, 0.0)
    with pytest.raises(SourceError, match="broker is down"):
        source.next_batch(10, 0.0)
    assert source.next_batch(10, 0.0).records.to_pylist() == [ROWS[1]]


def test_abort_is_spent_for_the_source_that_resumes():
    items = [ROWS[0], Abort(), ROWS[1]]
    source = MemorySource(items)
    source.open()
    source.next_batch(10, 0.0)
    with pytest.raises(AbortError):
        source.next_batch(10, 0.0)
    resumed = MemorySource(items)
    resumed.open(source.position())
    assert read(resumed) == [ROWS[1]]


def test_waiting_source_takes_rows_appended_later():
    source = MemorySource(ROWS[:1], end="wait")
    source.open()
    assert read(source) == ROWS[:1]
    assert not source.exhausted
    source.append(ROWS[1:3])
    assert source.lag() == 2
    assert read(source) == ROWS[1:3]


def test_repeating_source_begins_again_and_has_no_lag():
    source = MemorySource(ROWS[:2], end="repeat")
    source.open({"0": {"row": 3}})
    assert source.next_batch(10, 0.0).records.to_pylist() == [ROWS[1]]
    assert source.next_batch(1, 0.0).records.to_pylist() == [ROWS[0]]
    assert source.lag() is None
    assert not source.exhausted


def test_address_names_partition_and_row():
    source = MemorySource({"orders": ROWS})
    source.open({"orders": {"row": 3}})
    assert source.next_batch(10, 0.0).address(1) == "orders[4]"


def test_rows_without_a_key_get_nulls_of_one_common_schema():
    source = MemorySource([{"a": 1}, Pause(), {"b": "x"}])
    source.open()
    assert source.next_batch(10, 0.0).records.to_pylist() == [{"a": 1, "b": None}]
    assert source.next_batch(10, 0.0) is None
    assert source.next_batch(10, 0.0).records.to_pylist() == [{"a": None, "b": "x"}]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"partitions": 0}, "partitions must be at least 1, got 0"),
        ({"end": "never"}, "end must be 'stop', 'wait' or 'repeat', got 'never'"),
        ({"items": {"a": []}, "partitions": 2}, "partitions must not be given with items by partition name"),
        ({"items": [pa.record_batch({"a": [1]}), pa.record_batch({"a": ["x"]})]}, "items must have one schema"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        MemorySource(**{"items": ROWS, **arguments})


def test_reading_an_unopened_source_is_an_error():
    with pytest.raises(SourceError, match="must be opened"):
        MemorySource(ROWS).next_batch(1, 0.0)


def test_sink_forgets_what_was_not_flushed():
    sink = MemorySink()
    sink.open()
    sink.write(pa.RecordBatch.from_pylist(ROWS[:2]))
    sink.flush()
    sink.write(pa.RecordBatch.from_pylist(ROWS[2:]))
    assert sink.rows == ROWS
    assert sink.stored == ROWS[:2]
