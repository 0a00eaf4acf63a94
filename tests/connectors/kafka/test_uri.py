from __future__ import annotations

import pytest

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
        ("kafka://a/t?colour=red", r"must be one of \['format', .*\], got 'colour'"),
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
