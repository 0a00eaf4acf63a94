"""How messages get into lanes, given as the client gives them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import KafkaError, Message

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.kafka.fetcher import Fetcher, offsets_of
from stream_maxloss_connectors.kafka.lane import Lane
from stream_maxloss_connectors.kafka.settings import consumer_settings


@pytest.fixture
def fetcher() -> Iterator[Fetcher]:
    made = Fetcher(consumer_settings("localhost:1", {}), "t", timeout=1.0, with_headers=False)
    yield made
    made.close()


def record(partition: int, offset: int, value: bytes | None = b"{}") -> Message:
    return Message(topic="t", partition=partition, offset=offset, value=value)


def end_of(partition: int, offset: int) -> Message:
    error = KafkaError(KafkaError._PARTITION_EOF)
    return Message(topic="t", partition=partition, offset=offset, value=b"no more", error=error)


def lanes_of(*partitions: int) -> dict[int, Lane]:
    return {partition: Lane("t", partition, 0) for partition in partitions}


@pytest.mark.parametrize("partitions", [(0,), (0, 1)], ids=["one lane", "two lanes"])
def test_an_error_among_messages_is_no_message_and_loses_none(fetcher: Fetcher, partitions: tuple[int, ...]) -> None:
    lanes = lanes_of(*partitions)
    fetcher._sort([record(0, 3, b"a"), record(0, 5, None), end_of(0, 9), record(0, 9, b""), end_of(0, 11)], lanes)
    assert (lanes[0].offsets, lanes[0].values) == ([3, 5, 9], [b"a", None, b""])
    assert (lanes[0].fetched, lanes[0].at_end) == (11, True)


def test_messages_go_to_the_lanes_of_their_partitions_in_order(fetcher: Fetcher) -> None:
    lanes = lanes_of(0, 1)
    fetcher._sort([record(1, 4), record(0, 0), record(0, 2), record(1, 5)], lanes)
    assert (lanes[0].offsets, lanes[1].offsets) == ([0, 2], [4, 5])


@pytest.mark.parametrize("partitions", [(0,), (0, 1)], ids=["one lane", "two lanes"])
def test_an_unexpected_record_is_refused(fetcher: Fetcher, partitions: tuple[int, ...]) -> None:
    with pytest.raises(SourceError, match=r"t\[7\]@4: a record came that nobody asked for"):
        fetcher._sort([record(7, 4)], lanes_of(*partitions))


def test_no_messages_change_nothing(fetcher: Fetcher) -> None:
    lanes = lanes_of(0)
    fetcher._sort([], lanes)
    assert (lanes[0].offsets, lanes[0].fetched) == ([], 0)


@pytest.mark.parametrize("offsets", [[4], [4, 5, 6], [4, 6, 7], [4, 5, 9]], ids=str)
def test_offsets_of_messages_are_theirs_with_and_without_gaps(offsets: list[int]) -> None:
    assert list(offsets_of([record(0, offset) for offset in offsets])) == offsets


def test_messages_that_come_back_are_refused(fetcher: Fetcher) -> None:
    lanes = lanes_of(0)
    fetcher._sort([record(0, 0), record(0, 1), record(0, 2)], lanes)
    with pytest.raises(SourceError, match=r"t\[0\]@1: offsets must increase .* got 1 to 2 where 3 or more was due"):
        fetcher._sort([record(0, 1), record(0, 2)], lanes)
