from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.contract import read_all
from stream_maxloss_connectors.kafka import KafkaSink, KafkaSource

PRODUCE, TOPIC_AUTHORIZATION_FAILED, NOT_LEADER = 0, 29, 6


def read(mock, topic="t"):
    with KafkaSource(mock.bootstrap, topic, until_eof=True, settings=mock.settings) as source:
        source.open()
        return [row for batch in read_all(source, timeout=5.0) for row in batch.records.to_pylist()]


def test_rows_arrive_in_order_as_json(mock_kafka):
    mock_kafka.create_topic("t")
    rows = [{"id": f"r{i}", "p": i / 4, "hit": i % 2 == 0} for i in range(10)]
    with KafkaSink(mock_kafka.bootstrap, "t", key="id") as sink:
        sink.open()
        sink.write(pa.RecordBatch.from_pylist(rows[:4]))
        sink.write(pa.RecordBatch.from_pylist(rows[4:]))
        assert sink.flush() == {"written": 10}
    assert read(mock_kafka) == rows


def test_count_continues_from_the_position(mock_kafka):
    mock_kafka.create_topic("t")
    with KafkaSink(mock_kafka.bootstrap, "t") as sink:
        sink.open({"written": 5})
        sink.write(pa.record_batch({"p": [1.0]}))
        assert sink.flush() == {"written": 6}


def test_values_that_json_has_no_form_for_are_text(mock_kafka):
    mock_kafka.create_topic("t")
    row = {
        "at": datetime(2026, 1, 2, tzinfo=UTC),
        "sum": Decimal("1.50"),
        "raw": b"ab",
        "nan": float("nan"),
        "none": None,
    }
    with KafkaSink(mock_kafka.bootstrap, "t") as sink:
        sink.open()
        sink.write(pa.RecordBatch.from_pylist([row]))
    assert read(mock_kafka) == [
        {"at": "2026-01-02T00:00:00+00:00", "sum": "1.50", "raw": "ab", "nan": None, "none": None}
    ]


def test_passing_failure_is_retried_without_repeating_rows(mock_kafka):
    mock_kafka.create_topic("t")
    mock_kafka.fail_next(PRODUCE, NOT_LEADER, NOT_LEADER)
    with KafkaSink(mock_kafka.bootstrap, "t") as sink:
        sink.open()
        sink.write(pa.record_batch({"i": [0.0, 1.0, 2.0]}))
    assert read(mock_kafka) == [{"i": 0.0}, {"i": 1.0}, {"i": 2.0}]


def test_refused_rows_are_an_error(mock_kafka):
    mock_kafka.create_topic("t")
    sink = KafkaSink(mock_kafka.bootstrap, "t")
    sink.open()
    mock_kafka.fail_next(PRODUCE, TOPIC_AUTHORIZATION_FAILED)
    sink.write(pa.record_batch({"i": [0, 1]}))
    with pytest.raises(SourceError, match=r"t: 2 rows were refused \(.*uthorization"):
        sink.flush()


def test_unconfirmed_rows_are_an_error(mock_kafka):
    mock_kafka.create_topic("t")
    sink = KafkaSink(mock_kafka.bootstrap, "t", flush_timeout=0.5)
    sink.open()
    mock_kafka.down()
    sink.write(pa.record_batch({"i": [0, 1]}))
    with pytest.raises(SourceError, match=r"t: 2 rows were not confirmed within 0.5 s"):
        sink.flush()
    with pytest.raises(SourceError, match="not confirmed"):
        sink.close()
    sink.close()


def test_events_of_the_client_are_not_taken_for_rows(mock_kafka):
    class Busy:
        """A producer that has an event to tell besides the rows."""

        def __init__(self, producer):
            self.producer = producer

        def __getattr__(self, name):
            return getattr(self.producer, name)

        def flush(self, timeout):
            return self.producer.flush(timeout) + 1

    mock_kafka.create_topic("t")
    with KafkaSink(mock_kafka.bootstrap, "t") as sink:
        sink.open()
        sink._producer = Busy(sink._producer)
        sink.write(pa.record_batch({"i": [0, 1]}))
        assert sink.flush() == {"written": 2}


def test_closing_without_opening_and_twice_is_allowed(mock_kafka):
    sink = KafkaSink(mock_kafka.bootstrap, "t")
    sink.close()
    with pytest.raises(SourceError, match="must be opened before it is written to"):
        sink.write(pa.record_batch({"i": [0]}))
    mock_kafka.create_topic("t")
    sink.open()
    sink.close()
    sink.close()


def test_key_must_be_a_column(mock_kafka):
    mock_kafka.create_topic("t")
    with KafkaSink(mock_kafka.bootstrap, "t", key="id") as sink:
        sink.open()
        with pytest.raises(ValueError, match=r"key must name a column of the rows, got 'id'; there are \['i'\]"):
            sink.write(pa.record_batch({"i": [0]}))


def test_unreachable_broker_is_an_error():
    with pytest.raises(SourceError, match=r"kafka://127\.0\.0\.1:1/t: no broker answered within 0.5 s"):
        KafkaSink("127.0.0.1:1", "t", connect_timeout=0.5).open()
