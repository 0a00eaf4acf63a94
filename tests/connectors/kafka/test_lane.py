from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.kafka.lane import Lane, cut_rows
from stream_maxloss_connectors.payloads.base import Decoded


def test_offsets_that_do_not_increase_are_an_error():
    lane = Lane("t", 2, 10)
    lane.push(10, b"a", None)
    with pytest.raises(SourceError, match=r"t\[2\]@10: offsets must increase within a partition, got 10 where 11"):
        lane.push(10, b"a", None)


def test_gaps_between_offsets_are_legal():
    lane = Lane("t", 0, 0)
    lane.push(3, b"a", None)
    lane.push(9, b"b", None)
    lane.move(1)
    assert lane.offset == 9
    lane.move(1)
    assert lane.offset == 10


def test_end_without_a_record_before_it_is_reached_only_behind_what_is_unread():
    lane = Lane("t", 0, 0, end=5)
    lane.push(0, b"a", None)
    lane.reached(5)
    assert (lane.offset, lane.done) == (0, False)
    lane.move(1)
    assert (lane.offset, lane.done) == (5, True)


def test_record_behind_the_end_is_not_taken():
    lane = Lane("t", 0, 0, end=2)
    lane.push(7, b"a", None)
    assert (lane.offset, lane.done, lane.values) == (2, True, [])


def test_forgetting_leaves_the_position_and_the_row():
    lane = Lane("t", 0, 4, row=2)
    lane.push(4, b"a", None)
    lane.values.append(b"torn")
    lane.forget()
    assert (lane.offset, lane.row, lane.fetched, lane.offsets, lane.values) == (4, 2, 4, [], [])


@settings(deadline=None, max_examples=150)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=6), st.integers(1, 7), st.data())
def test_rows_of_many_row_messages_are_cut_without_loss(counts, max_rows, data):
    """The oracle is the list of all rows; every cut is resumed by its own message and row."""
    rows = [f"{message}.{row}" for message, count in enumerate(counts) for row in range(count)]
    message = row = 0
    found = []
    for _ in range(len(rows) + len(counts) + 1):
        if message == len(counts):
            break
        left = counts[message:]
        records = pa.record_batch({"r": pa.array([r for r in rows if int(r.split(".")[0]) >= message], pa.string())})
        cut = cut_rows(Decoded(records, len(left), {}, left), row, max_rows)
        taken = cut.records.column("r").to_pylist()
        assert len(taken) <= max_rows
        assert [cut.message_of(i) + message for i in range(len(taken))] == [int(r.split(".")[0]) for r in taken]
        found += taken
        message, row = message + cut.messages, cut.row
    assert found == rows
    assert (message, row) == (len(counts), 0)
