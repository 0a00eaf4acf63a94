"""Find a real Kafka broker for the tests, or say what is missing."""

from __future__ import annotations

import os
import time
import uuid
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import IsolationLevel, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.kafka.client import client_logger
from tools.kafka_broker import LocalBroker, fetch_kafka

PROJECT = Path(__file__).parents[2]


class TestBroker:
    """A broker's address with what the tests do to it; `local` is None when it is the user's own."""

    __test__ = False

    def __init__(self, bootstrap: str, local: LocalBroker | None) -> None:
        self.bootstrap = bootstrap
        self.local = local
        self.settings: dict[str, str] = {}
        self.admin = AdminClient({"bootstrap.servers": bootstrap}, logger=client_logger())
        self._topics: list[str] = []

    def create_topic(self, partitions: int = 1, name: str | None = None, config: dict[str, str] | None = None) -> str:
        name = name or f"test-{uuid.uuid4().hex[:12]}"
        topic = NewTopic(name, num_partitions=partitions, replication_factor=1, config=config or {})
        self.admin.create_topics([topic])[name].result(timeout=30)
        self._topics.append(name)
        return name

    def delete_topic(self, name: str) -> None:
        self.admin.delete_topics([name], operation_timeout=30)[name].result(timeout=60)
        deadline = time.monotonic() + 30
        while name in self.admin.list_topics(timeout=10).topics and time.monotonic() < deadline:
            time.sleep(0.1)

    def producer(self, **settings: object) -> Producer:
        # Without idempotence a batch that is sent again, as on a slow machine, may land behind later ones.
        safe = {"bootstrap.servers": self.bootstrap, "linger.ms": 20, "enable.idempotence": True}
        return Producer({**safe, **settings}, logger=client_logger())

    def produce(self, topic: str, values, partition: int = 0, headers=None) -> None:
        """Append values to one partition, in order, and wait until the broker has them."""
        producer = self.producer()
        for value in values:
            while True:
                try:
                    producer.produce(topic, value, partition=partition, headers=headers)
                    break
                except BufferError:
                    producer.poll(0.1)
        assert producer.flush(60) == 0

    def settle(self, topic: str, seconds: float = 30.0) -> None:
        """Wait until the ends of the topic's transactions are in its partitions.

        A broker answers `commit_transaction` when the decision is durable and writes it into the partitions a moment
        later: until then a reader of committed records stops in front of rows that are committed.
        """
        deadline = time.monotonic() + seconds
        partitions = self.admin.list_topics(topic, timeout=10).topics[topic].partitions
        places = [TopicPartition(topic, partition) for partition in partitions]
        while self._ends(places, IsolationLevel.READ_COMMITTED) != self._ends(places, IsolationLevel.READ_UNCOMMITTED):
            assert time.monotonic() < deadline, f"{topic} still has an open transaction after {seconds} s"
            time.sleep(0.02)

    def _ends(self, places: list[TopicPartition], isolation: IsolationLevel) -> list[int]:
        latest = {place: OffsetSpec.latest() for place in places}
        found = self.admin.list_offsets(latest, isolation_level=isolation, request_timeout=10)
        return [found[place].result(timeout=15).offset for place in places]

    def clean(self) -> None:
        for name in self._topics:
            self.admin.delete_topics([name])
        self._topics.clear()


@contextmanager
def find_broker():
    """Yield the broker of `STREAM_MAXLOSS_TEST_KAFKA`, else one started here.

    Raises
    ------
    SourceError
        With the reason why there is none.

    """
    if address := os.environ.get("STREAM_MAXLOSS_TEST_KAFKA"):
        broker = TestBroker(address, None)
        broker.admin.list_topics(timeout=10)
        yield broker
        broker.clean()
        return
    with start_broker(fetch_jars()) as local:
        yield TestBroker(local.bootstrap, local)


def fetch_jars() -> Path:
    """Return the folder of the server's jars, downloaded once."""
    return fetch_kafka(None if os.environ.get("STREAM_MAXLOSS_CACHE") else PROJECT / ".cache")


@contextmanager
def start_broker(jars: Path, prepare=lambda local: None):
    """Start a node; once more on other ports if another process took ours in the meantime."""
    for attempt in (1, 2, 3):
        local = LocalBroker(jars)
        prepare(local)
        try:
            local.start()
            break
        except SourceError:
            local.close()
            if attempt == 3:
                raise
    try:
        yield local
    finally:
        local.close()
