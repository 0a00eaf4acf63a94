"""Rows in transactions, on Apache Kafka itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import pyarrow as pa
import pytest

from kafka_rows import read_rows, source_of
from stream_maxloss.errors import SourceError
from stream_maxloss_connectors import open_sink
from stream_maxloss_connectors.contract import check_sink
from stream_maxloss_connectors.kafka import KafkaSink, TransactionalKafkaSink
from stream_maxloss_connectors.kafka.outage import TopicWarning

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("kafka")]


def rows_of(first: int, last: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"i": i} for i in range(first, last)])


def numbers(broker, topic):
    """What a reader of committed records sees."""
    broker.settle(topic)
    return sorted(int(row["i"]) for rows in read_rows(source_of(broker, topic)).values() for row in rows)


def test_the_contract_of_exactly_once_is_kept(kafka_broker):
    topics = {}

    def topic_of(name):
        if name not in topics:
            topics[name] = kafka_broker.create_topic(1)
        return topics[name]

    def read(name):
        kafka_broker.settle(topics[name])
        return read_rows(source_of(kafka_broker, topics[name])).get("0", [])

    batches = [pa.RecordBatch.from_pylist([{"id": float(i), "p": i / 4}]) for i in range(2)]
    check_sink(lambda name: TransactionalKafkaSink(kafka_broker.bootstrap, topic_of(name), key="id"), read, batches)


def test_nothing_is_seen_before_the_checkpoint_and_everything_after(kafka_broker):
    topic = kafka_broker.create_topic(2)
    with TransactionalKafkaSink(kafka_broker.bootstrap, topic) as sink:
        sink.open()
        sink.write(rows_of(0, 50))
        position = sink.flush()
        assert numbers(kafka_broker, topic) == []
        sink.commit(position)
        assert numbers(kafka_broker, topic) == list(range(50))
        sink.write(rows_of(50, 60))
    assert numbers(kafka_broker, topic) == list(range(50)), "rows that no checkpoint holds would come again"


def test_rows_of_an_older_checkpoint_are_not_written_again(kafka_broker):
    topic = kafka_broker.create_topic(1)
    sink = TransactionalKafkaSink(kafka_broker.bootstrap, topic)
    sink.open()
    positions = []
    for first in (0, 10, 20):
        sink.write(rows_of(first, first + 10))
        positions.append(json.loads(json.dumps(sink.flush())))
        sink.commit(positions[-1])
    again = TransactionalKafkaSink(kafka_broker.bootstrap, topic)
    again.open(positions[0])
    again.write(rows_of(10, 35))
    again.commit(again.flush())
    again.close()
    assert numbers(kafka_broker, topic) == list(range(35))


def test_a_writer_that_was_replaced_can_write_no_more(kafka_broker):
    topic = kafka_broker.create_topic(1)
    old = TransactionalKafkaSink(kafka_broker.bootstrap, topic)
    old.open()
    old.write(rows_of(0, 5))
    position = old.flush()
    with TransactionalKafkaSink(kafka_broker.bootstrap, topic) as new:
        new.open(position)
        with pytest.raises(SourceError, match=r"a transaction failed .*; resume to send its rows again"):
            old.commit(position)
    assert numbers(kafka_broker, topic) == list(range(5))


def test_a_broker_killed_and_started_again_costs_time_and_no_rows(kafka_broker):
    if kafka_broker.local is None:
        pytest.skip("the broker is not ours to kill")
    topic = kafka_broker.create_topic(1)
    with (
        TransactionalKafkaSink(kafka_broker.bootstrap, topic, flush_timeout=30.0) as sink,
        warnings.catch_warnings(record=True) as said,
    ):
        warnings.simplefilter("always")
        sink.open()
        sink.write(rows_of(0, 5))
        sink.commit(sink.flush())
        os.kill(kafka_broker.local.pid, signal.SIGKILL)
        kafka_broker.local.stop()
        sink.write(rows_of(5, 10))
        waiting = threading.Thread(target=sink.commit, args=(sink.flush(),))
        waiting.start()
        deadline = time.monotonic() + 60
        while not said and time.monotonic() < deadline:
            time.sleep(0.1)
        # By this thread: a broker ends with the thread that started it.
        kafka_broker.local.start()
        waiting.join(90)
        assert not waiting.is_alive()
        sink.write(rows_of(10, 15))
        sink.commit(sink.flush())
    assert numbers(kafka_broker, topic) == list(range(15))
    messages = [str(warning.message) for warning in said if issubclass(warning.category, TopicWarning)]
    assert messages[0].startswith(f"{topic}: no broker has answered for ")
    assert "a broker answers again, after " in messages[-1]


def test_delivery_can_be_changed_between_two_runs(kafka_broker):
    topic = kafka_broker.create_topic(1)
    uri = f"kafka://{kafka_broker.bootstrap}/{topic}"
    with open_sink(uri) as sink:
        assert sink.exactly_once
        sink.open()
        sink.commit(sink.flush())
        sink.write(rows_of(0, 5))
        position = sink.flush()
    with open_sink(f"{uri}?delivery=at-least-once") as sink:
        assert not sink.exactly_once
        sink.open(position)
        sink.write(rows_of(5, 8))
        position = sink.flush()
    with open_sink(uri) as sink:
        sink.open(position)
        sink.write(rows_of(8, 9))
        sink.commit(sink.flush())
    assert numbers(kafka_broker, topic) == list(range(9))


def test_a_count_that_the_broker_forgot_is_reported(kafka_broker):
    topic = kafka_broker.create_topic(1)
    with TransactionalKafkaSink(kafka_broker.bootstrap, topic) as sink:
        sink.open()
        sink.commit(sink.flush())
        sink.write(rows_of(0, 5))
        position = {**sink.flush(), "committed": 3}
    with TransactionalKafkaSink(kafka_broker.bootstrap, topic) as sink, pytest.warns(TopicWarning, match="last 5 "):
        sink.open(position)


# Writes forty rows at a time: the position into a file in one step, then the transaction.
WRITER = """
import json, os, sys
import pyarrow as pa
from stream_maxloss_connectors.kafka import TransactionalKafkaSink

servers, topic, path = sys.argv[1:]
saved = json.load(open(path)) if os.path.exists(path) else None
sink = TransactionalKafkaSink(servers, topic)
sink.open(saved)
first = 0 if saved is None else saved["written"]
print("ready", flush=True)
while first < 4000:
    sink.write(pa.RecordBatch.from_pylist([{"i": i} for i in range(first, first + 40)]))
    first += 40
    position = sink.flush()
    with open(path + ".new", "w") as file:
        json.dump(position, file)
    os.replace(path + ".new", path)
    print("saved", flush=True)
    sink.commit(position)
    print("sent", flush=True)
"""


def test_a_writer_killed_again_and_again_writes_every_row_once(kafka_broker, tmp_path):
    topic = kafka_broker.create_topic(4)
    arguments = [sys.executable, "-c", WRITER, kafka_broker.bootstrap, topic, str(tmp_path / "position.json")]
    for lines in (1, 2, 3, 4, 2, 7, 2, 5):
        writer = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
        for _ in range(lines):
            writer.stdout.readline()
        writer.kill()
        writer.wait(30)
        writer.stdout.close()
    subprocess.run(arguments, check=True, timeout=120, capture_output=True)
    assert numbers(kafka_broker, topic) == list(range(4000))


@pytest.mark.parametrize("field", ["written", "rows", "pending", "committed", "id"])
def test_a_damaged_position_is_one_line(kafka_broker, field):
    topic = kafka_broker.create_topic(1)
    position = {"id": "maxloss-x", "written": 1, "committed": 0, "rows": 1, "pending": "eJw=", field: -1}
    with pytest.raises(SourceError, match=r"the saved position must .*; resume from another checkpoint$"):
        TransactionalKafkaSink(kafka_broker.bootstrap, topic).open(position)


def test_delivery_is_one_of_two():
    with pytest.raises(ValueError, match="delivery must be 'exactly-once' or 'at-least-once', got 'maybe'"):
        KafkaSink.from_uri("kafka://localhost:9092/t?delivery=maybe")
