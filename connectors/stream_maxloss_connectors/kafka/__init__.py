"""Apache Kafka as a source of rows and a sink for predictions; needs the extra `kafka`."""

from __future__ import annotations

from stream_maxloss_connectors.kafka.sink import KafkaSink
from stream_maxloss_connectors.kafka.source import KafkaSource
from stream_maxloss_connectors.kafka.transactional_sink import TransactionalKafkaSink
from stream_maxloss_connectors.river_streams import iter_kafka

__all__ = ["KafkaSink", "KafkaSource", "TransactionalKafkaSink", "iter_kafka"]
