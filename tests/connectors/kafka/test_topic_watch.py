"""What the real broker answers is tested there; here is what must not stop a reader."""

from __future__ import annotations

from concurrent.futures import Future

import pytest
from confluent_kafka import KafkaError, KafkaException

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.kafka.topic_watch import TopicWatch


def answered(error):
    watch = TopicWatch({"bootstrap.servers": "127.0.0.1:1"}, "orders", interval=0.0)
    watch.topic_id = "id-1"
    watch._question = Future()
    watch._question.set_exception(error)
    return watch


@pytest.mark.parametrize("code", [KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError.TOPIC_AUTHORIZATION_FAILED])
def test_broker_that_does_not_answer_says_nothing_about_the_topic(code):
    answered(KafkaException(KafkaError(code))).check()
    answered(TimeoutError()).check()


def test_deleted_topic_is_an_error():
    with pytest.raises(SourceError, match="orders: the topic was deleted while it was read"):
        answered(KafkaException(KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART))).check()


def test_topic_without_a_known_id_is_not_looked_up():
    watch = TopicWatch({"bootstrap.servers": "127.0.0.1:1"}, "orders", interval=0.0)
    watch.check()
    assert watch._question is None
