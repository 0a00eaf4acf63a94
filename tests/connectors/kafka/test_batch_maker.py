from __future__ import annotations

import pytest

from stream_maxloss.errors import DecodeError
from stream_maxloss_connectors.bad_records import BadRecords
from stream_maxloss_connectors.kafka.batch_maker import BatchMaker
from stream_maxloss_connectors.kafka.lane import Lane
from stream_maxloss_connectors.payloads.json_rows import JsonDecoder


def lane_of(partition, *values, first=0):
    lane = Lane("t", partition, first)
    lane.extend(range(first, first + len(values)), list(values))
    return lane


def maker(policy="fail", **options):
    return BatchMaker(JsonDecoder(), BadRecords(policy, **options), None, ())


def taken(batches, lanes, max_rows):
    """Everything, as (partition, addresses), moving the lanes as a source does."""
    found = []
    while (part := batches.next_of(lanes, max_rows)) is not None:
        part.lane.move(part.messages, part.row)
        found.append((part.batch.partition, [part.batch.address(row) for row in range(part.batch.num_rows)]))
    return found


def test_lanes_take_turns():
    lanes = [lane_of(0, *[b'{"i":1}'] * 3), lane_of(1, *[b'{"i":1}'] * 2, first=7)]
    assert taken(maker(), lanes, 2) == [
        ("0", ["t[0]@0", "t[0]@1"]),
        ("1", ["t[1]@7", "t[1]@8"]),
        ("0", ["t[0]@2"]),
    ]


def test_lane_does_not_move_before_its_batch_is_handed_on():
    lane = lane_of(0, b'{"i":1}', b'{"i":2}')
    batches = maker()
    first, again = batches.next_of([lane], 1), batches.next_of([lane], 1)
    assert first.batch.records == again.batch.records
    assert (lane.offset, len(lane.values)) == (0, 2)


def test_addresses_skip_records_that_were_not_rows():
    lane = lane_of(0, None, b'{"i":1}', b"bad", None, b'{"i":2}', b"bad", first=10)
    batches = maker("skip")
    assert taken(batches, [lane], 10) == [("0", ["t[0]@11"]), ("0", ["t[0]@14"])]
    assert (lane.offset, batches.bad_records.count, batches.bad_records.seen) == (16, 2, 4)


def test_a_message_without_bytes_is_bad_and_one_without_a_value_is_passed():
    lane = lane_of(0, b'{"i":1}', b"", b'{"i":2}', None, b'{"i":3}')
    batches = maker("skip")
    assert taken(batches, [lane], 10) == [("0", ["t[0]@0", "t[0]@2"]), ("0", ["t[0]@4"])]
    assert batches.bad_records.count == 1


def test_failing_policy_gives_the_rows_before_the_bad_record_first():
    lane = lane_of(0, b'{"i":1}', b"bad", b'{"i":2}')
    batches = maker()
    part = batches.next_of([lane], 10)
    part.lane.move(part.messages, part.row)
    assert part.batch.num_rows == 1
    for _ in range(2):
        with pytest.raises(DecodeError, match=r"t\[0\]@1: "):
            batches.next_of([lane], 10)
    assert lane.offset == 1


def test_columns_come_from_all_lanes_whatever_max_rows_is():
    lanes = [lane_of(0, b'{"a":1}', b'{"b":1}'), lane_of(1, b'{"c":"x"}')]
    assert maker().next_of(lanes, 1).batch.records.schema.names == ["a", "b", "c"]


def test_columns_learned_from_messages_are_forgotten_on_reset():
    batches = maker()
    batches.next_of([lane_of(0, b'{"a":1}')], 1)
    batches.reset()
    assert batches.schema is None
