"""What the tests of the Kafka source ask of it, at the mock cluster as at a real broker."""

from __future__ import annotations

import time

from stream_maxloss_connectors.kafka import KafkaSource


def source_of(broker, topic="t", **options):
    """A source that ends where the topic does now."""
    return KafkaSource(broker.bootstrap, topic, **{"until_eof": True, "settings": broker.settings, **options})


def read_rows(source, position=None, max_rows=1000):
    """All rows by partition."""
    rows = {}
    with source:
        source.open(position)
        while not source.exhausted:
            if (batch := source.next_batch(max_rows, 5.0)) is not None:
                rows.setdefault(batch.partition, []).extend(batch.records.to_pylist())
    return rows


def numbers(first, last):
    return [b'{"i":%d}' % i for i in range(first, last)]


def values(rows, name="i"):
    return [row[name] for row in rows]


def wait_for(condition, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "gave up waiting"
        time.sleep(0.05)
