"""Kafka transactions that carry, beside their rows, how many rows there are by then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.kafka.client import ClientErrors, load_client, make_client
from stream_maxloss_connectors.kafka.settings import mask_text

__all__ = ["Transactions"]

_ATTEMPTS = 3

# Settings of which a consumer warns that it has no use for them.
_PRODUCER_ONLY = ("acks", "batch.", "compression.", "enable.idem", "linger.", "message.", "queue.", "transactional.")


class Transactions:
    """One writer's transactions, one after another.

    The count is committed as the offset of the topic's first partition for a group named like the writer: offsets of
    a group are the one thing that a Kafka transaction can hold beside records.

    Parameters
    ----------
    producer
        A producer with the transactional id.
    settings
        Its settings, from which a consumer is made that reads the count.
    topic
        Where rows go.
    name
        The transactional id.
    timeout
        Seconds that a step may take.

    """

    def __init__(self, producer: Any, settings: Mapping[str, Any], topic: str, name: str, timeout: float) -> None:
        self._kafka = load_client("writing to Kafka")
        self._producer = producer
        self._topic = topic
        self._timeout = timeout
        self._settings = settings
        known = {key: value for key, value in settings.items() if not key.startswith(_PRODUCER_ONLY)}
        self._consumer = make_client(
            self._kafka.Consumer,
            {**known, "group.id": name, "enable.auto.commit": "false", "isolation.level": "read_committed"},
            ClientErrors(settings),
        )

    def begin(self) -> None:
        """Become the only writer of this name; a transaction that another has left open is ended."""
        self._try(lambda: self._producer.init_transactions(self._timeout))

    def last_committed(self) -> int | None:
        """Return how many rows the last transaction that was committed brought it to; None if the broker knows none."""
        found = self._try(lambda: self._consumer.committed([self._place(0)], timeout=self._timeout))[0]
        return None if found.offset < 0 else int(found.offset)

    def send(self, rows: Iterable[tuple[bytes, bytes | None]], count: int) -> None:
        """Commit rows, and with them the count of rows.

        Raises
        ------
        SourceError
            If the brokers did not take all of it; then they have taken nothing.

        """
        try:
            self._try(self._producer.begin_transaction)
            for value, key in rows:
                self._produce(value, key)
            self._send_count(count)
            self._try(lambda: self._producer.commit_transaction(self._timeout))
        except SourceError:
            self._abort()
            raise

    def close(self) -> None:
        """Disconnect."""
        self._producer.purge()
        self._consumer.close()

    def _produce(self, value: bytes, key: bytes | None) -> None:
        while True:
            try:
                self._producer.produce(self._topic, value, key)
                return
            except BufferError:
                self._producer.poll(0.1)
            except self._kafka.KafkaException as error:
                raise self._failure(error) from error

    def _send_count(self, count: int) -> None:
        group = self._consumer.consumer_group_metadata()
        self._try(lambda: self._producer.send_offsets_to_transaction([self._place(count)], group, self._timeout))

    def _place(self, offset: int) -> Any:
        return self._kafka.TopicPartition(self._topic, 0, offset)

    def _abort(self) -> None:
        try:
            self._producer.abort_transaction(self._timeout)
        except self._kafka.KafkaException:
            # The next writer of this name ends it.
            return

    def _try(self, step: Callable[[], Any]) -> Any:
        """Take a step again as long as the client calls its failure passing."""
        for attempt in range(_ATTEMPTS):
            try:
                return step()
            except self._kafka.KafkaException as error:
                if attempt + 1 == _ATTEMPTS or not error.args[0].retriable():
                    raise self._failure(error) from error
        return None

    def _failure(self, error: Any) -> SourceError:
        reason = mask_text(error.args[0].str(), self._settings)
        return SourceError(
            f"{self._topic}: a transaction failed ({reason}); resume to send its rows again, or write with "
            "?delivery=at-least-once"
        )
