"""The Kafka source when signals, the broker or the client get in its way, on librdkafka's mock."""

from __future__ import annotations

import builtins
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from kafka_rows import numbers, read_rows, source_of, values
from stream_maxloss.errors import MissingExtraError, SourceError
from stream_maxloss_connectors.kafka import KafkaSource

PROJECT = Path(__file__).parents[3]
OFFSET_COMMIT, REBALANCE_IN_PROGRESS = 8, 27
FETCH, OFFSET_OUT_OF_RANGE, TOPIC_AUTHORIZATION_FAILED = 1, 1, 29


class InterruptedReadError(Exception):
    pass


def read_interrupted(source, generator):
    """Read everything while a handler raises at random moments; return the rows and how often it did."""
    found, interruptions, longest = {"0": [], "1": []}, 0, 0.004
    with source:
        source.open()
        while not source.exhausted:
            batch = None
            try:
                signal.setitimer(signal.ITIMER_REAL, generator.uniform(0.0001, longest))
                batch = source.next_batch(50, 5.0)
                signal.setitimer(signal.ITIMER_REAL, 0)
            except InterruptedReadError:
                interruptions += 1
                # However slow the machine, some call will get through.
                longest *= 1.05
            if batch is not None:
                found[batch.partition] += values(batch.records.to_pylist())
    return found, interruptions


# The handler may also hit while the interpreter frees an object, where Python can only warn of what it raises.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_nothing_is_lost_when_a_signal_handler_raises(mock_kafka):
    def interrupt(*_):
        raise InterruptedReadError

    mock_kafka.create_topic("t", 2)
    for partition in range(2):
        mock_kafka.produce("t", numbers(0, 3000), partition)
    generator, interruptions, deadline = random.Random(3), 0, time.monotonic() + 60
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        while interruptions < 20 and time.monotonic() < deadline:
            found, more = read_interrupted(source_of(mock_kafka, schema=pa.schema([("i", pa.float64())])), generator)
            interruptions += more
            assert {name: len(rows) for name, rows in found.items()} == {"0": 3000, "1": 3000}
            assert found == {"0": list(range(3000)), "1": list(range(3000))}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interruptions >= 20


def test_messages_that_an_interrupted_fetch_swallowed_are_fetched_again(mock_kafka, monkeypatch):
    mock_kafka.create_topic("t")
    mock_kafka.produce("t", numbers(0, 10))
    with source_of(mock_kafka) as source:
        source.open()
        fetcher = source._fetcher
        real = fetcher.consumer

        class Swallowing:
            """Delivers messages to nobody, as the client does when a handler raises inside of it."""

            def __getattr__(self, name):
                return getattr(real, name)

            def consume(self, *arguments):
                if real.consume(*arguments):
                    raise KeyboardInterrupt
                return []

            def poll(self, timeout):
                if real.poll(timeout) is not None:
                    raise KeyboardInterrupt

        monkeypatch.setattr(fetcher, "consumer", Swallowing())
        with pytest.raises(KeyboardInterrupt):
            source.next_batch(100, 10.0)
        monkeypatch.setattr(fetcher, "consumer", real)
        rows = []
        while not source.exhausted:
            if (batch := source.next_batch(100, 5.0)) is not None:
                rows += values(batch.records.to_pylist())
    assert rows == list(range(10))


def test_outage_makes_no_error_no_noise_and_no_loss(mock_kafka, capfd):
    mock_kafka.create_topic("t")
    mock_kafka.produce("t", numbers(0, 3))
    with source_of(mock_kafka, until_eof=False) as source:
        source.open()
        assert source.next_batch(10, 10.0).num_rows == 3
        mock_kafka.down()
        assert source.next_batch(10, 1.0) is None
        mock_kafka.up()
        mock_kafka.produce("t", numbers(3, 6))
        assert values(source.next_batch(10, 30.0).records.to_pylist()) == [3, 4, 5]
    assert capfd.readouterr().err == ""


def test_fetch_error_that_passes_is_got_over(mock_kafka):
    mock_kafka.create_topic("t")
    mock_kafka.produce("t", numbers(0, 3))
    mock_kafka.fail_next(FETCH, 6, 7)
    assert values(read_rows(source_of(mock_kafka))["0"]) == [0, 1, 2]


def test_offset_that_the_broker_refuses_although_it_holds_it_is_fetched_again(mock_kafka):
    mock_kafka.create_topic("t")
    mock_kafka.produce("t", numbers(0, 3))
    mock_kafka.fail_next(FETCH, OFFSET_OUT_OF_RANGE)
    assert values(read_rows(source_of(mock_kafka))["0"]) == [0, 1, 2]


def test_partition_that_may_not_be_read_is_an_error(mock_kafka):
    mock_kafka.create_topic("t")
    mock_kafka.produce("t", numbers(0, 3))
    mock_kafka.fail_next(FETCH, *[TOPIC_AUTHORIZATION_FAILED] * 5)
    with source_of(mock_kafka) as source:
        source.open()
        with pytest.raises(SourceError, match=r"t\[0\]: reading failed \(.*uthorization"):
            source.next_batch(10, 10.0)


def test_failed_commit_is_a_warning_and_another_one_gets_through(mock_kafka, caplog):
    from confluent_kafka import Consumer, TopicPartition

    mock_kafka.create_topic("t")
    mock_kafka.produce("t", numbers(0, 5))
    with source_of(mock_kafka, group="g", until_eof=False) as source:
        source.open()
        assert source.next_batch(2, 5.0).num_rows == 2
        mock_kafka.fail_next(OFFSET_COMMIT, REBALANCE_IN_PROGRESS)
        source.commit(source.position())
        deadline = time.monotonic() + 30
        while "were not committed" not in caplog.text and time.monotonic() < deadline:
            source.next_batch(1, 0.1)
        assert "offsets of 1 partitions were not committed" in caplog.text
        source.commit({"0": {"offset": 4}, "_topic": {}})
    consumer = Consumer({"bootstrap.servers": mock_kafka.bootstrap, "group.id": "g"})
    assert consumer.committed([TopicPartition("t", 0)], timeout=10)[0].offset == 4
    consumer.close()


def test_unreachable_broker_is_one_line_and_nothing_on_stderr():
    program = (
        "from stream_maxloss_connectors.kafka import KafkaSource\n"
        "from stream_maxloss.errors import SourceError\n"
        "try:\n"
        "    KafkaSource('127.0.0.1:1', 't', connect_timeout=1.0).open()\n"
        "except SourceError as error:\n"
        "    print(error)\n"
    )
    environment = {**os.environ, "PYTHONPATH": f"{PROJECT}:{PROJECT / 'connectors'}"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert done.stdout.startswith("kafka://127.0.0.1:1/t: no broker answered within 1 s (")
    assert "Connection refused" in done.stdout
    assert len(done.stdout.splitlines()) == 1


def test_unknown_topic_is_an_error(mock_kafka):
    mock_kafka.create_topic("orders")
    with pytest.raises(SourceError, match=r"there is no topic 'order' \(.*\); the cluster has orders"):
        source_of(mock_kafka, "order").open()


def test_missing_client_names_the_extra(monkeypatch):
    real = builtins.__import__

    def without_client(name, *arguments, **keywords):
        if name.startswith("confluent_kafka"):
            raise ImportError(name)
        return real(name, *arguments, **keywords)

    monkeypatch.setattr(builtins, "__import__", without_client)
    with pytest.raises(MissingExtraError, match=r"reading from Kafka needs the 'kafka' extra; run: pip install"):
        KafkaSource("127.0.0.1:1", "t").open()


def test_lane_that_was_fetched_to_its_end_is_fetched_again_after_an_interruption(mock_kafka):
    mock_kafka.create_topic("t", 2)
    for partition in range(2):
        mock_kafka.produce("t", numbers(0, 100), partition)
    found = {"0": [], "1": []}
    with source_of(mock_kafka) as source:
        source.open()
        while not source.exhausted:
            # Everything is in the lanes after the first call; each interruption throws it away.
            source._fetcher._torn = True
            batch = source.next_batch(30, 10.0)
            assert batch is not None
            found[batch.partition] += values(batch.records.to_pylist())
    assert found == {"0": list(range(100)), "1": list(range(100))}
