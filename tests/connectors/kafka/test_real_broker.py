"""The Kafka source and sink on Apache Kafka itself."""

from __future__ import annotations

import base64
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from kafka_rows import read_rows, source_of, wait_for
from stream_maxloss.errors import DecodeError
from stream_maxloss_connectors.bad_records import BadRecords
from stream_maxloss_connectors.contract import check_sink, check_source
from stream_maxloss_connectors.kafka import KafkaSink, iter_kafka

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("kafka")]

PROJECT = Path(__file__).parents[3]
MILLION = 1_000_000
PARTITIONS = 4


@pytest.fixture(scope="module")
def million(kafka_broker):
    """A topic of a million JSON rows: `i` counts within the partition, `v` is a whole number to be summed exactly."""
    topic = kafka_broker.create_topic(PARTITIONS)
    producer = kafka_broker.producer(**{"linger.ms": 50, "queue.buffering.max.messages": 1_000_000})
    for i in range(MILLION // PARTITIONS):
        for partition in range(PARTITIONS):
            producer.produce(topic, b'{"i":%d,"v":%d,"s":"k"}' % (i, i * 7 + partition), partition=partition)
        if i % 5000 == 0:
            producer.poll(0)
    assert producer.flush(120) == 0
    return topic


def expected_sum():
    each = MILLION // PARTITIONS
    return sum(7 * each * (each - 1) // 2 + partition * each for partition in range(PARTITIONS))


def test_a_million_rows_over_four_partitions_are_read_once_each(kafka_broker, million):
    following, total, count = dict.fromkeys(map(str, range(PARTITIONS)), 0), 0, 0
    with source_of(kafka_broker, million) as source:
        source.open()
        assert source.lag() == MILLION
        while not source.exhausted:
            batch = source.next_batch(4096, 5.0)
            if batch is None:
                continue
            numbers = batch.records.column("i").to_numpy()
            first = following[batch.partition]
            np.testing.assert_array_equal(numbers, np.arange(first, first + batch.num_rows))
            following[batch.partition] += batch.num_rows
            count += batch.num_rows
            total += int(batch.records.column("v").to_numpy().sum())
        assert source.lag() == 0
    assert (count, total) == (MILLION, expected_sum())


# Reads a topic, one batch for each line on stdin and freely after its end, and stores the position with what it made of
# the rows, in one atomic step, at every fifth batch. Answers each batch with a line.
READER = """
import json, os, sys
from stream_maxloss_connectors.kafka import KafkaSource

servers, topic, path = sys.argv[1:]
state = {"position": None, "count": 0, "sum": 0, "next": {}, "starts": 0}
if os.path.exists(path):
    state = json.load(open(path))
state["starts"] += 1
source = KafkaSource(servers, topic, until_eof=True)
source.open(state["position"])

def save():
    state["position"] = source.position()
    with open(path + ".new", "w") as file:
        json.dump(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.rename(path + ".new", path)

save()
batches = 0
while not source.exhausted:
    sys.stdin.readline()
    batch = None
    while batch is None and not source.exhausted:
        batch = source.next_batch(2000, 1.0)
    for i, v in zip(batch.records.column("i").to_pylist(), batch.records.column("v").to_pylist()):
        due = state["next"].get(batch.partition, 0)
        if i != due:
            sys.exit(f"{batch.address(0)}: row {i} where {due} was due")
        state["next"][batch.partition] = due + 1
        state["count"] += 1
        state["sum"] += int(v)
    batches += 1
    if batches % 5 == 0:
        save()
    print("batch", flush=True)
save()
"""


def start_reader(broker, topic, path):
    environment = {**os.environ, "PYTHONPATH": f"{PROJECT}:{PROJECT / 'connectors'}"}
    command = [sys.executable, "-c", READER, broker.bootstrap, topic, str(path)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True, bufsize=1)


def test_reader_killed_twenty_times_reads_every_row_once(kafka_broker, million, tmp_path):
    path = tmp_path / "state.json"
    generator = random.Random(20)
    for _ in range(20):
        reader = start_reader(kafka_broker, million, path)
        overdue = threading.Timer(120.0, reader.kill)
        overdue.start()
        # Twenty lives of at most 24 batches of 2000 rows do not reach the end.
        batches = generator.randint(3, 24)
        reader.stdin.write("\n" * batches)
        for _ in range(batches - 2):
            assert reader.stdout.readline() == "batch\n", reader.stderr.read()
        time.sleep(generator.uniform(0.0, 0.02))
        overdue.cancel()
        reader.kill()
        reader.communicate()
        assert reader.returncode == -signal.SIGKILL
    assert 0 < json.loads(path.read_text())["count"] < MILLION
    reader = start_reader(kafka_broker, million, path)
    _, errors = reader.communicate(timeout=300)
    assert reader.returncode == 0, errors
    state = json.loads(path.read_text())
    assert state["starts"] == 21
    assert (state["count"], state["sum"]) == (MILLION, expected_sum())
    assert state["next"] == dict.fromkeys(map(str, range(PARTITIONS)), MILLION // PARTITIONS)


def test_reading_continues_when_the_broker_was_stopped_and_started(kafka_broker, capfd):
    if kafka_broker.local is None:
        pytest.skip("a broker given by STREAM_MAXLOSS_TEST_KAFKA is not ours to stop")
    topic = kafka_broker.create_topic(2)
    rows = {"0": [], "1": []}

    def produce(first, last):
        for partition in range(2):
            kafka_broker.produce(topic, [b'{"i":%d}' % i for i in range(first, last)], partition)

    def read(until, seconds):
        deadline = time.monotonic() + seconds
        while min(map(len, rows.values())) < until and time.monotonic() < deadline:
            if (batch := source.next_batch(100, 0.2)) is not None:
                rows[batch.partition] += batch.records.column("i").to_pylist()

    produce(0, 500)
    with source_of(kafka_broker, topic, until_eof=False) as source:
        source.open()
        read(300, 60.0)
        kafka_broker.local.stop()
        read(1000, 2.0)
        kafka_broker.local.start()
        produce(500, 1000)
        read(1000, 120.0)
        assert not source.exhausted
        assert source.lag() == 0
    assert rows == {"0": list(range(1000)), "1": list(range(1000))}
    assert capfd.readouterr().err == ""


def test_bad_ones_of_two_formats_in_one_topic_go_to_the_dead_letter_file(kafka_broker, tmp_path):
    topic = kafka_broker.create_topic(2)
    for partition in range(2):
        mixed = [b"%d,text" % i if i % 10 == 3 else b'{"i":%d,"p":%d}' % (i, partition) for i in range(50)]
        kafka_broker.produce(topic, mixed, partition)
    bad = BadRecords("dlq", tmp_path / "dead.jsonl")
    rows = read_rows(source_of(kafka_broker, topic, bad_records=bad))
    assert bad.flush()["count"] == 10
    letters = [json.loads(line) for line in (tmp_path / "dead.jsonl").read_text().splitlines()]
    wanted = {f"{topic}[{p}]@{i}": b"%d,text" % i for p in range(2) for i in range(50) if i % 10 == 3}
    assert {letter["address"]: base64.b64decode(letter["raw"]) for letter in letters} == wanted
    assert all("one JSON object" in letter["reason"] for letter in letters)
    good = [i for i in range(50) if i % 10 != 3]
    assert {name: [row["i"] for row in found] for name, found in rows.items()} == {"0": good, "1": good}


def test_source_keeps_the_contract(kafka_broker):
    topic = kafka_broker.create_topic(2)
    kafka_broker.produce(topic, [b'{"i":%d,"s":"a"}' % i for i in range(4)] + [None], 0)
    kafka_broker.produce(topic, [b'{"i":7}'], 1)
    expected = {"0": [{"i": float(i), "s": "a"} for i in range(4)], "1": [{"i": 7.0, "s": None}]}
    check_source(lambda: source_of(kafka_broker, topic), expected, max_rows=(1, 3, 1000), timeout=5.0)


def test_aborted_transactions_are_not_read_and_their_markers_do_not_hold_up_the_end(kafka_broker):
    topic = kafka_broker.create_topic(1)
    producer = kafka_broker.producer(**{"transactional.id": f"id-{topic}"})
    producer.init_transactions(30)
    for name, end in (("kept", producer.commit_transaction), ("dropped", producer.abort_transaction)):
        producer.begin_transaction()
        for _ in range(3):
            producer.produce(topic, json.dumps({"name": name}).encode(), partition=0)
        producer.flush(30)
        end(30)
    source = source_of(kafka_broker, topic)
    assert read_rows(source) == {"0": [{"name": "kept"}] * 3}
    # Six records and two markers.
    assert source.position()["0"] == {"offset": 8}
    assert read_rows(source_of(kafka_broker, topic), source.position()) == {}


def test_new_partitions_are_read_from_their_first_record(kafka_broker):
    from confluent_kafka.admin import NewPartitions

    topic = kafka_broker.create_topic(1)
    kafka_broker.produce(topic, [b'{"i":0}'])
    source = source_of(kafka_broker, topic)
    assert read_rows(source) == {"0": [{"i": 0.0}]}
    kafka_broker.admin.create_partitions([NewPartitions(topic, 2)])[topic].result(timeout=30)
    wait_for(lambda: len(kafka_broker.admin.list_topics(topic, timeout=5).topics[topic].partitions) == 2)
    kafka_broker.produce(topic, [b'{"i":1}'], 1)
    assert read_rows(source_of(kafka_broker, topic, start="latest"), source.position()) == {"1": [{"i": 1.0}]}


def test_reading_starts_at_a_time(kafka_broker):
    topic = kafka_broker.create_topic(1)
    producer = kafka_broker.producer()
    for second in range(5):
        producer.produce(topic, b'{"i":%d}' % second, partition=0, timestamp=1_767_225_600_000 + second * 1000)
    producer.flush(30)
    rows = read_rows(source_of(kafka_broker, topic, start="@2026-01-01T00:00:03Z"))
    assert rows == {"0": [{"i": 3.0}, {"i": 4.0}]}
    assert read_rows(source_of(kafka_broker, topic, start="@2026-01-02")) == {}


def test_committed_offsets_are_those_of_the_position(kafka_broker):
    from confluent_kafka import Consumer, TopicPartition

    topic = kafka_broker.create_topic(1)
    kafka_broker.produce(topic, [b'{"i":0}'] * 8)
    with source_of(kafka_broker, topic, group=f"group-{topic}") as source:
        source.open()
        source.next_batch(5, 10.0)
        source.commit(source.position())
    consumer = Consumer({"bootstrap.servers": kafka_broker.bootstrap, "group.id": f"group-{topic}"})
    assert consumer.committed([TopicPartition(topic, 0)], timeout=10)[0].offset == 5
    consumer.close()


def test_sink_keeps_the_contract_of_at_least_once(kafka_broker):
    topics = {}

    def topic_of(name):
        if name not in topics:
            topics[name] = kafka_broker.create_topic(1)
        return topics[name]

    def read(name):
        return read_rows(source_of(kafka_broker, topics[name])).get("0", [])

    batches = [pa.RecordBatch.from_pylist([{"id": float(i), "p": i / 4}]) for i in range(2)]
    check_sink(lambda name: KafkaSink(kafka_broker.bootstrap, topic_of(name), key="id"), read, batches)


def test_iter_kafka_yields_rivers_pairs(kafka_broker):
    topic = kafka_broker.create_topic(1)
    kafka_broker.produce(topic, [b'{"x":1.5,"c":"red","y":true}', b'{"x":2,"y":false}'])
    pairs = list(iter_kafka(f"kafka://{kafka_broker.bootstrap}/{topic}", target="y", until_eof=True))
    assert pairs == [({"x": 1.5, "c": "red"}, True), ({"x": 2.0}, False)]


def test_bad_record_stops_exactly_before_itself_by_default(kafka_broker):
    topic = kafka_broker.create_topic(1)
    kafka_broker.produce(topic, [b'{"i":0}', b'{"i":1}', b'{"i":', b'{"i":3}'])
    with source_of(kafka_broker, topic) as source:
        source.open()
        assert source.next_batch(100, 10.0).num_rows == 2
        with pytest.raises(DecodeError, match=rf"{topic}\[0\]@2: a message must be one JSON object"):
            source.next_batch(100, 10.0)
        assert source.position()["0"] == {"offset": 2}
