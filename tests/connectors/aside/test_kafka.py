"""A topic read in another process: rows, offsets, places, and a position in the middle of a batch."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stream_maxloss_connectors import BadRecords
from stream_maxloss_connectors.aside import AsideSource
from stream_maxloss_connectors.kafka import KafkaSource


def read(source: Any, cuts: list[int], position: Any = None) -> list[Any]:
    found = []
    with source:
        source.with_keys = True
        source.open(position)
        for cut in cuts:
            rows: list[Any] = []
            while len(rows) < cut and not source.exhausted:
                batch = source.next_batch(cut - len(rows), 5.0)
                if batch is not None:
                    places = batch.places().to_pylist() if batch.places is not None else []
                    values = batch.records.column("x").to_pylist()
                    rows += [(value, batch.address(row), places[row]) for row, value in enumerate(values)]
            found.append((rows, source.position()))
    return found


def test_a_topic_is_read_with_its_offsets_and_gone_on_from_the_middle_of_a_batch(mock_kafka: Any) -> None:
    topic = mock_kafka.create_topic("aside")
    mock_kafka.produce(topic, [json.dumps({"x": row}).encode() for row in range(500)])
    bad = BadRecords("skip")

    def make() -> KafkaSource:
        return KafkaSource(mock_kafka.bootstrap, topic, until_eof=True, bad_records=bad, settings=mock_kafka.settings)

    expected = read(make(), [7, 200, 1000])
    found = read(AsideSource(make(), bad, 150), [7, 200, 1000])
    assert found == expected
    assert [value for rows, _ in found for value, *_ in rows] == list(range(500))
    assert read(AsideSource(make(), bad), [1000], found[1][1]) == [expected[2]]


def test_a_position_in_the_middle_of_a_batch_needs_no_second_reading(
    mock_kafka: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = mock_kafka.create_topic("aside-middle")
    mock_kafka.produce(topic, [json.dumps({"x": row}).encode() for row in range(500)])
    bad = BadRecords("skip")

    def make() -> KafkaSource:
        return KafkaSource(mock_kafka.bootstrap, topic, until_eof=True, bad_records=bad, settings=mock_kafka.settings)

    expected = read(make(), [7, 200, 1000])
    opened: list[Any] = []
    monkeypatch.setattr(KafkaSource, "open", lambda self, position=None: opened.append(position))
    assert read(AsideSource(make(), bad), [7, 200, 1000]) == expected
    assert opened == []
