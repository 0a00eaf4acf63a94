"""Rows from a Kafka topic into the matrix that the learners take, beside the bare client."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from benchmarks.point import OURS, Point, claim

TITLE = "Reading from Kafka"
INCLUDED = (
    "A topic of one partition, filled beforehand with JSON objects of 8 numbers, on a real broker on this machine "
    "(Apache Kafka, or the one that `STREAM_MAXLOSS_TEST_KAFKA` names). Ours: `KafkaSource` from connecting to the "
    "last row, each message parsed and checked, and the rows as the matrix that the learners take. `confluent-kafka` "
    "is `Consumer.consume` in a loop that asks for each message's error and the length of its value and does nothing "
    "else. Both consumers have the same settings and are asked for 500 messages at a time, at which the client is "
    "fastest: with a thousand Python looks for garbage among them while it reads, and the bare client takes up to half "
    "as long again. Its own threads count as processor time; the rate is on the wall."
)
AXIS = None
BARE = "confluent-kafka"
TOPIC = "benchmark-rows"
FIELDS = 8
SERVERS = "STREAM_MAXLOSS_BENCH_KAFKA"
REASON = "STREAM_MAXLOSS_BENCH_NO_KAFKA"
BATCH, AT_ONCE, REPEATS = 16_384, 500, 9


def points(quick: bool) -> list[Point]:
    """Return the one point."""
    rows = 20_000 if quick else 1_000_000
    label = f"JSON of {FIELDS} fields, {rows:,} messages"
    return [Point("json", label, (OURS, BARE), {"rows": rows}, repeats=None if quick else REPEATS)]


@contextmanager
def surroundings(quick: bool) -> Iterator[None]:
    """Hold a broker with the filled topic; where there is none, remember why."""
    from stream_maxloss.errors import StreamMaxlossError

    os.environ.pop(REASON, None)
    try:
        broker = start_broker()
    except StreamMaxlossError as error:
        os.environ[REASON] = str(error)
        yield
        return
    with broker as address:
        os.environ[SERVERS] = address
        topic = f"{TOPIC}-{os.getpid()}"
        os.environ[SERVERS + "_TOPIC"] = topic
        [point] = points(quick)
        try:
            fill(address, topic, point.settings["rows"])
            yield
        finally:
            remove(address, topic)


@contextmanager
def own_broker(address: str) -> Iterator[str]:
    """Hold the address of the user's broker."""
    yield address


@contextmanager
def local_broker(jars: Any) -> Iterator[str]:
    """Hold a broker that is started here."""
    from tools.kafka_broker import LocalBroker

    with LocalBroker(jars) as broker:
        yield broker.bootstrap


def start_broker() -> Any:
    """Return a context with the address of a broker, or raise what is missing."""
    address = os.environ.get("STREAM_MAXLOSS_TEST_KAFKA")
    if address:
        return own_broker(address)
    from tools.kafka_broker import fetch_kafka

    return local_broker(fetch_kafka())


def fill(address: str, topic: str, rows: int, labelled: bool = False) -> None:
    """Make the topic and write seeded messages to it, with a label y if they are to be learned."""
    import json

    import numpy as np
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient, NewTopic

    # Held in a variable: with the client its requests would be gone, too.
    client = AdminClient({"bootstrap.servers": address})
    client.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)
    producer = Producer({"bootstrap.servers": address, "linger.ms": 50, "queue.buffering.max.messages": 2 * rows})
    values = np.round(np.random.default_rng(7).standard_normal((10_000, FIELDS)), 4).tolist()
    objects: list[dict[str, Any]] = [{f"field_{j}": value for j, value in enumerate(row)} for row in values]
    if labelled:
        objects = [{**fields, "y": sum(row) > 0.0} for fields, row in zip(objects, values, strict=True)]
    messages = [json.dumps(fields).encode() for fields in objects]
    for row in range(rows):
        producer.produce(topic, messages[row % len(messages)])
        if row % 10_000 == 0:
            producer.poll(0)
    if producer.flush(120):
        raise RuntimeError(f"{address} must take the messages within two minutes")


def remove(address: str, topic: str) -> None:
    """Delete the topic: the broker may be the user's."""
    from confluent_kafka.admin import AdminClient

    client = AdminClient({"bootstrap.servers": address})
    client.delete_topics([topic])[topic].exception(30)


def prepare(system: str, settings: dict[str, Any]) -> Callable[[], int]:
    """Return one pass over the topic."""
    if REASON in os.environ:
        raise ImportError(os.environ[REASON])
    address, topic, rows = os.environ[SERVERS], os.environ[SERVERS + "_TOPIC"], settings["rows"]
    return read_as_ours(address, topic) if system == OURS else consume(address, topic, rows)


def read_as_ours(address: str, topic: str) -> Callable[[], int]:
    """Return a pass through our source to the learners' rows."""
    from stream_maxloss.features import FeatureMap
    from stream_maxloss.rows.frame import read_frame
    from stream_maxloss_connectors.kafka import KafkaSource

    def work() -> int:
        features, rows = FeatureMap(), 0
        with KafkaSource(address, topic, until_eof=True) as source:
            source.open()
            while not source.exhausted:
                batch = source.next_batch(BATCH, 0.2)
                if batch is not None:
                    rows += sum(map(len, read_frame(batch.records, features, learn=True)))
        return rows

    return work


def consume(address: str, topic: str, rows: int) -> Callable[[], int]:
    """Return a pass of the bare client."""
    from confluent_kafka import Consumer, TopicPartition

    from stream_maxloss_connectors.kafka.client import client_logger
    from stream_maxloss_connectors.kafka.settings import consumer_settings

    def work() -> int:
        consumer = Consumer(consumer_settings(address, {}), logger=client_logger())
        consumer.assign([TopicPartition(topic, 0, 0)])
        seen = length = 0
        try:
            while seen < rows:
                for message in consumer.consume(min(AT_ONCE, rows - seen), 0.2):
                    if message.error() is None:
                        length += len(message.value())
                        seen += 1
        finally:
            consumer.close()
        return seen

    return work


def conclude(measured: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return our rate over the bare client's, on the wall and by processor time."""
    [(name, point)] = measured.items()
    if OURS not in point["seconds_per_unit"] or BARE not in point["seconds_per_unit"]:
        return []
    ratio, clock = point["ratios"][BARE], point["wall_over_processor_time"]
    on_wall = clock[BARE] / clock[OURS]
    spread = {part: ratio[part] * on_wall for part in ("lower", "upper")}
    what = "JSON to the matrix, our rate over the bare client's"
    return [
        claim(name, what, ratio["median"] * on_wall, target=0.5, **spread),
        claim(name, f"{what}, by processor time", ratio["median"], lower=ratio["lower"], upper=ratio["upper"]),
    ]


def tables(measured: dict[str, dict[str, Any]]) -> list[tuple[list[str], list[list[str]]]]:
    """Return messages a second on the wall."""
    rows = []
    for point in measured.values():
        for system, cost in point["seconds_per_unit"].items():
            rate = 1.0 / (cost["median"] * point["wall_over_processor_time"][system])
            rows.append([point["label"], system, f"{rate:,.0f}"])
    return [(["topic", "system", "messages/s on the wall"], rows)] if rows else []
