from __future__ import annotations

import pytest

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.kafka import KafkaSink, KafkaSource
from stream_maxloss_connectors.kafka.uri import parse_partitions, parse_uri


@pytest.mark.parametrize(
    ("uri", "servers", "topic"),
    [
        ("kafka://a:1/t", "a:1", "t"),
        ("kafka://a/t", "a:9092", "t"),
        ("kafka://a:1,b,c:3/my.topic_x-1", "a:1,b:9092,c:3", "my.topic_x-1"),
        ("kafka://[::1]:9/t", "[::1]:9", "t"),
        ("kafka://[::1]/t/", "[::1]:9092", "t"),
    ],
)
def test_brokers_and_topic_are_read(uri, servers, topic):
    address = parse_uri(uri, [])
    assert (address.servers, address.topic) == (servers, topic)


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("http://a/t", "must have the form kafka://host:port/topic"),
        ("kafka:///t", "must have the form"),
        ("kafka://a/", "must name one topic"),
        ("kafka://a/t/u", "must name one topic"),
        ("kafka://a/t%20u", "must name one topic"),
        ("kafka://a:port/t", "must be host:port, got 'a:port'"),
        ("kafka://a:0/t", "must be host:port"),
        ("kafka://:9092/t", "must be host:port"),
        ("kafka://a/t#x", "must have the form"),
        ("kafka://a/t?colour=red", r"must be one of \['avro_schema', .*\], got 'colour'"),
        ("kafka://a/t?format=json&format=csv", "must be given once, got 'format' twice"),
        ("kafka://a/t?partitions=3-1", "partitions must be numbers and ranges like '0-3,7', got '3-1'"),
        ("kafka://a/t?partitions=", "partitions must be numbers"),
        ("kafka://a/t?format=xml", "format must be one of json, csv, avro, arrow, got 'xml'"),
        ("kafka://a/t?on_gap=ignore", "on_gap must be 'fail', 'earliest' or 'latest', got 'ignore'"),
        ("kafka://a/t?start=middle", "start must be 'earliest', 'latest', an offset or a time"),
    ],
)
def test_malformed_address_is_refused(uri, message):
    with pytest.raises(ValueError, match=message):
        KafkaSource.from_uri(uri)


def test_password_in_an_address_is_refused_and_not_repeated():
    with pytest.raises(ValueError, match="must not carry a user or password") as caught:
        KafkaSource.from_uri("kafka://user:hunter2@a/t")
    assert "hunter2" not in str(caught.value)


def test_ranges_of_partitions_are_joined_and_sorted():
    assert parse_partitions("7,0-3, 2") == [0, 1, 2, 3, 7]


def test_options_of_the_address_reach_the_source_and_keywords_win():
    source = KafkaSource.from_uri("kafka://a/t?partitions=1,3&start=7&on_gap=latest&until_eof=true&group=g", start=9)
    assert source.partitions() == ["1", "3"]
    assert (source.start, source.on_gap, source.until_eof, source.group) == (9, "latest", True, "g")
    assert KafkaSink.from_uri("kafka://a/t?key=id").key == "id"


def test_names_of_an_address_are_split_and_its_schema_file_is_read(tmp_path, mock_kafka):
    source = KafkaSource.from_uri("kafka://a/t?format=csv&column_names=x,y&headers=trace,span")
    assert source._batches.decoder.column_names == ["x", "y"]
    assert source._batches.headers == ("trace", "span")
    path = tmp_path / "order.avsc"
    path.write_text('{"type": "record", "name": "r", "fields": [{"name": "n", "type": "long"}]}')
    mock_kafka.create_topic("t")
    mock_kafka.produce("t", [b"\x02"])
    address = f"kafka://{mock_kafka.bootstrap}/t?format=avro&avro_schema={path}&until_eof"
    with KafkaSource.from_uri(address, settings=mock_kafka.settings) as source:
        source.open()
        assert source.next_batch(1, 5.0).records.to_pylist() == [{"n": 1}]
    with pytest.raises(SourceError, match=r"nowhere\.avsc: the Avro schema cannot be read"):
        KafkaSource.from_uri("kafka://a/t?format=avro&avro_schema=nowhere.avsc")
    path.write_text('"long"')
    with pytest.raises(ValueError, match="an Avro schema must be a record"):
        KafkaSource.from_uri(address)
