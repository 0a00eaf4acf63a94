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
    lane.extend([10], [b"a"])
    for offsets in ([10], [11, 11], [12, 11]):
        with pytest.raises(SourceError, match=r"t\[2\]@1\d: offsets must increase within a partition, got .* where 11"):
            lane.extend(offsets, [b"a"] * len(offsets))


def test_gaps_between_offsets_are_legal():
    lane = Lane("t", 0, 0)
    lane.extend([3, 9], [b"a", b"b"])
    lane.move(1)
    assert lane.offset == 9
    lane.move(1)
    assert lane.offset == 10


def test_end_without_a_record_before_it_is_reached_only_behind_what_is_unread():
    lane = Lane("t", 0, 0, end=5)
    lane.extend([0], [b"a"])
    lane.reached(5)
    assert (lane.offset, lane.done) == (0, False)
    lane.move(1)
    assert (lane.offset, lane.done) == (5, True)


@pytest.mark.parametrize(("offsets", "kept"), [([7], []), ([0, 1, 2], [0, 1]), ([0, 7], [0]), ([2, 3], [])])
def test_records_behind_the_end_are_not_taken(offsets, kept):
    lane = Lane("t", 0, 0, end=2)
    lane.extend(offsets, [b"a"] * len(offsets), [None] * len(offsets))
    assert (lane.offsets, len(lane.values), len(lane.headers)) == (kept, len(kept), len(kept))
    lane.move(len(kept))
    assert (lane.offset, lane.done) == (2, True)


def test_forgetting_leaves_the_position_and_the_row():
    lane = Lane("t", 0, 4, row=2)
    lane.extend([4], [b"a"])
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
