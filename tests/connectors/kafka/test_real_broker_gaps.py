"""Records and topics that are gone, on Apache Kafka itself."""

from __future__ import annotations

import re
import time
import warnings

import pytest

from kafka_rows import read_rows, source_of, wait_for
from stream_maxloss.errors import GapError, SourceError
from stream_maxloss_connectors.kafka import KafkaSink
from stream_maxloss_connectors.kafka.outage import TopicWarning

pytestmark = [pytest.mark.kafka, pytest.mark.xdist_group("kafka")]


def test_records_deleted_under_the_saved_offset_are_named(kafka_broker):
    from confluent_kafka import TopicPartition

    topic = kafka_broker.create_topic(3)
    kafka_broker.produce(topic, [b'{"i":%d}' % i for i in range(200)], 2)
    with source_of(kafka_broker, topic) as source:
        source.open()
        while sum(place["offset"] for name, place in source.position().items() if name != "_topic") < 120:
            source.next_batch(120, 5.0)
        position = source.position()
    place = TopicPartition(topic, 2, 180)
    kafka_broker.admin.delete_records([place])[place].result(timeout=30)
    with pytest.raises(GapError, match=rf"records 120\.\.179 of {topic}\[2\] are gone.*on_gap"):
        source_of(kafka_broker, topic).open(position)
    source = source_of(kafka_broker, topic, on_gap="earliest")
    assert [row["i"] for row in read_rows(source, position)["2"]] == list(range(180, 200))
    assert source.position()["_topic"]["gaps"] == [{"partition": 2, "from": 120, "to": 180}]
    assert read_rows(source_of(kafka_broker, topic, on_gap="latest"), position) == {}


def test_recreated_topic_is_refused(kafka_broker):
    topic = kafka_broker.create_topic(1)
    kafka_broker.produce(topic, [b'{"i":1}'] * 10)
    source = source_of(kafka_broker, topic)
    read_rows(source)
    position = source.position()
    assert position["_topic"]["topic_id"]
    kafka_broker.delete_topic(topic)
    wait_for(lambda: recreated(kafka_broker, topic))
    # As many records as before: the offsets alone would not tell.
    kafka_broker.produce(topic, [b'{"i":2}'] * 20)
    with pytest.raises(GapError, match=rf"{topic}: the topic was recreated or truncated: its topic id was"):
        source_of(kafka_broker, topic).open(position)
    with pytest.raises(GapError, match="recreated or truncated"):
        source_of(kafka_broker, topic, on_gap="earliest").open(position)


def recreated(broker, topic):
    """A topic that is still being deleted cannot be created."""
    from confluent_kafka import KafkaException

    try:
        broker.create_topic(1, topic)
    except KafkaException:
        return False
    return True


def test_offset_behind_the_end_is_refused_although_no_topic_id_is_known(kafka_broker):
    topic = kafka_broker.create_topic(1)
    kafka_broker.produce(topic, [b'{"i":1}'] * 3)
    with pytest.raises(GapError, match=rf"{topic}\[0\]@50: the topic was recreated or truncated: .* ends at 3"):
        source_of(kafka_broker, topic).open({"0": {"offset": 50}})


def test_position_of_another_cluster_is_refused(kafka_broker):
    topic = kafka_broker.create_topic(1)
    with pytest.raises(GapError, match="another cluster: its cluster id was 'elsewhere'"):
        source_of(kafka_broker, topic).open({"0": {"offset": 0}, "_topic": {"cluster_id": "elsewhere"}})


def read_until_it_fails(source, seconds=60.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        source.next_batch(10, 0.2)


@pytest.mark.parametrize("again", [False, True], ids=["deleted", "recreated"])
def test_topic_that_goes_away_while_it_is_read_is_noticed(kafka_broker, again):
    topic = kafka_broker.create_topic(1)
    kafka_broker.produce(topic, [b'{"i":0}'] * 5)
    with source_of(kafka_broker, topic, until_eof=False) as source:
        source.open()
        assert source.next_batch(10, 10.0).num_rows == 5
        kafka_broker.delete_topic(topic)
        if again:
            wait_for(lambda: recreated(kafka_broker, topic))
            kafka_broker.produce(topic, [b'{"i":0}'] * 8)
        kind, message = (GapError, "was recreated while") if again else (SourceError, "was deleted while")
        with pytest.raises(kind, match=message):
            read_until_it_fails(source)


def test_unknown_topic_names_those_that_there_are(kafka_broker):
    known = kafka_broker.create_topic(1)
    with pytest.raises(SourceError, match=r"there is no topic 'nope'.*; the cluster has ") as caught:
        source_of(kafka_broker, "nope").open()
    assert known in str(caught.value) or "more" in str(caught.value)
    with pytest.raises(SourceError, match="there is no topic 'nope'"):
        KafkaSink(kafka_broker.bootstrap, "nope").open()


def slow_topic(broker):
    """A topic of 20,000 records in small batches, and settings by which a reader fetches only a few ahead."""
    topic = broker.create_topic(1)
    producer = broker.producer(**{"batch.num.messages": 100, "linger.ms": 5})
    for i in range(20_000):
        producer.produce(topic, b'{"i":%d}' % i, partition=0)
        if i % 100 == 99:
            producer.flush(30)
    settings = {"queued.min.messages": 1, "queued.max.messages.kbytes": 1, "fetch.message.max.bytes": 1000}
    return topic, settings


def read_with_records_deleted_ahead(broker, topic, source, numbers):
    """Begin to read, delete what lies ahead of the reader, and read on."""
    from confluent_kafka import TopicPartition

    numbers += source.next_batch(10, 10.0).records.column("i").to_pylist()
    place = TopicPartition(topic, 0, 19_000)
    broker.admin.delete_records([place])[place].result(timeout=30)
    while not source.exhausted:
        if (batch := source.next_batch(1000, 5.0)) is not None:
            numbers += batch.records.column("i").to_pylist()


def test_records_deleted_ahead_of_a_running_reader_stop_it_when_it_gets_there(kafka_broker):
    topic, settings = slow_topic(kafka_broker)
    numbers = []
    with source_of(kafka_broker, topic, settings=settings) as source:
        source.open()
        with pytest.raises(GapError) as caught:
            read_with_records_deleted_ahead(kafka_broker, topic, source, numbers)
        # What was fetched before the deletion was still returned.
        assert numbers == list(range(len(numbers)))
        assert f"records {len(numbers)}..18999 of {topic}[0] are gone" in str(caught.value)
        assert source.position()["0"] == {"offset": len(numbers)}


def test_records_deleted_ahead_of_a_running_reader_can_be_passed_over(kafka_broker):
    topic, settings = slow_topic(kafka_broker)
    numbers = []
    with source_of(kafka_broker, topic, settings=settings, on_gap="earliest") as source:
        source.open()
        read_with_records_deleted_ahead(kafka_broker, topic, source, numbers)
        gap = source.position()["_topic"]["gaps"]
    first = gap[0]["from"]
    assert gap == [{"partition": 0, "from": first, "to": 19_000}]
    assert numbers == [*range(first), *range(19_000, 20_000)]


def test_partitions_that_are_added_while_reading_are_read_from_their_start(kafka_broker):
    from confluent_kafka.admin import NewPartitions

    topic = kafka_broker.create_topic(1)
    kafka_broker.produce(topic, [b'{"i":%d}' % i for i in range(5)])
    rows: dict[str, list[int]] = {}
    with source_of(kafka_broker, topic, until_eof=False) as source, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        source.open()
        take(source, rows, 5)
        kafka_broker.admin.create_partitions([NewPartitions(topic, 3)])[topic].result(timeout=30)
        wait_for(lambda: len(kafka_broker.admin.list_topics(topic, timeout=10).topics[topic].partitions) == 3)
        for partition in (0, 1, 2):
            kafka_broker.produce(topic, [b'{"i":%d}' % i for i in range(100, 110)], partition)
        take(source, rows, 35)
        position = source.position()
    later = list(range(100, 110))
    assert rows == {"0": [*range(5), *later], "1": later, "2": later}
    assert [(one.category, str(one.message)) for one in said] == [
        (TopicWarning, f"{topic}: partition 1, 2 is new and read from its start")
    ]
    assert read_rows(source_of(kafka_broker, topic), position) == {}


def take(source, rows, total):
    deadline = time.monotonic() + 60
    while sum(map(len, rows.values())) < total:
        assert time.monotonic() < deadline, rows
        if (batch := source.next_batch(100, 0.5)) is not None:
            rows.setdefault(batch.partition, []).extend(int(i) for i in batch.records["i"].to_pylist())


def test_an_outage_is_reported_with_its_length_and_loses_nothing(kafka_broker):
    if kafka_broker.local is None:
        pytest.skip("the broker is not ours to stop")
    topic = kafka_broker.create_topic(1)
    kafka_broker.produce(topic, [b'{"i":%d}' % i for i in range(5)])
    rows: dict[str, list[int]] = {}
    with source_of(kafka_broker, topic, until_eof=False) as source, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        source.open()
        take(source, rows, 5)
        kafka_broker.local.stop()
        wait_for(lambda: source.next_batch(10, 0.2) is None and any("waiting" in str(w.message) for w in said))
        kafka_broker.local.start()
        kafka_broker.produce(topic, [b'{"i":%d}' % i for i in range(5, 10)])
        take(source, rows, 10)
        wait_for(lambda: source.next_batch(10, 0.2) is None and any("again, after" in str(w.message) for w in said))
    assert rows == {"0": list(range(10))}
    assert re.search(rf"^{topic}: no broker has answered for \d+ s \(.+\); waiting for one", str(said[0].message))


DAMAGED = {
    "no offset": {"0": {"row": 1}},
    "a negative offset": {"0": {"offset": -1}},
    "a huge offset": {"0": {"offset": 10**400}},
    "a partition that is no number": {"x": {"offset": 0}},
    "a list": {"0": [1]},
    "a topic that is no mapping": {"0": {"offset": 0}, "_topic": 5},
    "gaps that are no list": {"0": {"offset": 0}, "_topic": {"gaps": 7}},
}


@pytest.mark.parametrize("position", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_position_is_one_line(kafka_broker, position):
    topic = kafka_broker.create_topic(1)
    with pytest.raises(SourceError, match=r"the saved position must .*; resume from another checkpoint$"):
        source_of(kafka_broker, topic).open(position)
