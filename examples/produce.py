"""Send the rows of a CSV to a Kafka topic as JSON: `python -m examples.produce day.csv localhost:9092/flights flight`.

The third argument is the column that becomes the key of a message. Cells that are numbers are sent as numbers. If there
is no such topic, it is made with one partition.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic


def value_of(cell: str) -> Any:
    """Return a cell as a number where it is one."""
    try:
        return float(cell)
    except ValueError:
        return cell


def make_topic(broker: str, topic: str) -> None:
    """Make the topic unless it is there."""
    admin = AdminClient({"bootstrap.servers": broker})
    try:
        admin.create_topics([NewTopic(topic, num_partitions=1)])[topic].result(30)
    except KafkaException as error:
        if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
            raise


def main() -> None:
    """Send all rows and wait until the broker has them."""
    path, address, key = sys.argv[1:]
    broker, _, topic = address.rpartition("/")
    make_topic(broker, topic)
    producer = Producer({"bootstrap.servers": broker, "enable.idempotence": True, "queue.buffering.max.messages": 0})
    with Path(path).open(newline="", encoding="utf-8") as file:
        rows = 0
        for row in csv.DictReader(file):
            message = json.dumps({name: value_of(cell) for name, cell in row.items()})
            producer.produce(topic, message, key=row[key])
            rows += 1
    if producer.flush(60):
        sys.exit(f"the broker at {broker} did not take all rows within a minute")
    print(f"sent {rows:,} rows to {topic}")


if __name__ == "__main__":
    main()
