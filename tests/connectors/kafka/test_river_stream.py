from __future__ import annotations

import pytest

from stream_maxloss_connectors.kafka import iter_kafka


def test_rows_become_rivers_pairs(mock_kafka):
    mock_kafka.create_topic("t")
    mock_kafka.produce("t", [b'{"x":1.5,"c":"red","id":7,"y":true}', b'{"x":2,"y":false}'])
    uri = f"kafka://{mock_kafka.bootstrap}/t?until_eof=true"
    rows = iter_kafka(uri, target="y", drop=["id"], converters={"x": lambda x: -x}, settings=mock_kafka.settings)
    assert list(rows) == [({"x": -1.5, "c": "red"}, True), ({"x": -2.0}, False)]


def test_stream_that_follows_ends_when_it_is_idle(mock_kafka):
    mock_kafka.create_topic("t")
    mock_kafka.produce("t", [b'{"x":1}'])
    rows = iter_kafka(f"kafka://{mock_kafka.bootstrap}/t", settings=mock_kafka.settings, idle_exit=1.0)
    assert list(rows) == [({"x": 1.0}, None)]


def test_malformed_address_is_refused_before_the_first_row():
    with pytest.raises(ValueError, match="must name one topic"):
        iter_kafka("kafka://localhost/")
