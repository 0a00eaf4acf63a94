"""Apache Kafka as a source of rows and a sink for predictions; needs the extra `kafka`."""

from __future__ import annotations

from stream_maxloss_connectors.kafka.source import KafkaSource

__all__ = ["KafkaSource"]
