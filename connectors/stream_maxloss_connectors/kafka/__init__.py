"""Apache Kafka as a source of rows and a sink for predictions; needs the extra `kafka`."""

from __future__ import annotations

from stream_maxloss_connectors.kafka.river_stream import iter_kafka
from stream_maxloss_connectors.kafka.sink import KafkaSink
from stream_maxloss_connectors.kafka.source import KafkaSource
from stream_maxloss_connectors.kafka.transactional_sink import TransactionalKafkaSink

__all__ = ["KafkaSink", "KafkaSource", "TransactionalKafkaSink", "iter_kafka"]
