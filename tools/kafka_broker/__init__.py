"""A single Apache Kafka node on this machine, for tests and experiments.

`python -m tools.kafka_broker` runs one until Ctrl-C. It needs Java 17 or later and, the first time, Maven. It listens
on the loopback interface only, keeps its data in a temporary folder, and ends with the process that started it.
"""

from __future__ import annotations

from tools.kafka_broker.broker import LocalBroker
from tools.kafka_broker.download import fetch_kafka

__all__ = ["LocalBroker", "fetch_kafka"]
