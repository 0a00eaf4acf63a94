"""Predictions to a Kafka topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.base import Position, Sink
from stream_maxloss_connectors.kafka.rows import encode_rows, key_of, unpack_rows
from stream_maxloss_connectors.kafka.topic_sink import TopicSink
from stream_maxloss_connectors.kafka.transactional_sink import TransactionalKafkaSink
from stream_maxloss_connectors.kafka.uri import parse_uri

__all__ = ["KafkaSink"]


class KafkaSink(TopicSink):
    """Writes each row as a JSON object, at once and at least once.

    The producer is idempotent: its own retries neither repeat nor reorder a row. But what was sent cannot be taken
    back: rows written after the last checkpoint are written again by a reader that resumes from it. Where that matters,
    use `TransactionalKafkaSink`, which is what an address means unless it says `?delivery=at-least-once`.

    The parameters are those of `TopicSink`.

    Examples
    --------
    >>> from stream_maxloss_connectors.kafka import KafkaSink
    >>> KafkaSink.from_uri("kafka://localhost:9092/predictions?key=id").exactly_once
    True
    >>> KafkaSink.from_uri("kafka://localhost:9092/predictions?delivery=at-least-once").exactly_once
    False

    """

    exactly_once = False
    options = frozenset(["connect_timeout", "delivery", "flush_timeout", "key", "settings", "settings_file"])

    def _begin(self) -> None:
        self._producer: Any = None
        self._unanswered = 0
        self._refused: list[str] = []

    @classmethod
    def from_uri(cls, uri: str, **options: Any) -> Sink:
        """Make a sink from `kafka://host:port[,host:port]/topic?key=column`; a keyword given here wins.

        With `delivery=exactly-once`, the default, rows are written in transactions, once a checkpoint; with
        `delivery=at-least-once` they are written at once, and some of them again after a crash.
        """
        address = parse_uri(uri, ("delivery", "key"))
        given = {**address.options, **options}
        delivery = given.pop("delivery", "exactly-once")
        if delivery not in ("exactly-once", "at-least-once"):
            raise ValueError(f"delivery must be 'exactly-once' or 'at-least-once', got {delivery!r}")
        kind = TransactionalKafkaSink if delivery == "exactly-once" else cls
        return kind(address.servers, address.topic, **given)

    def open(self, position: Mapping[str, Any] | None = None) -> None:
        """Connect. The position carries the count of rows on, and rows that a `TransactionalKafkaSink` kept back.

        Raises
        ------
        SourceError
            If no broker answers or the topic is not there.

        """
        self.close()
        self._producer = self._connect()
        self._written = int((position or {}).get("written", 0))
        self._unanswered = 0
        self._refused = []
        for value in unpack_rows(position, self.topic) if position and "pending" in position else ():
            self._send(value, key_of(value, self.key))

    def write(self, records: pa.RecordBatch) -> None:
        """Hand rows to the producer; it sends them in the background.

        Raises
        ------
        SourceError
            If the sink is not open, or the brokers refused an earlier row.

        """
        if self._producer is None:
            raise self._not_open()
        for value, key in encode_rows(records, self.key):
            self._send(value, key)
            self._written += 1
        self._producer.poll(0)
        self._raise_refused()

    def flush(self) -> Position:
        """Wait until the brokers have confirmed every row, and return how many there were.

        Raises
        ------
        SourceError
            If a row was refused, or not confirmed in time.

        """
        if self._producer is not None:
            # What it returns counts events of the client, too, such as a lost connection.
            self._producer.flush(self.flush_timeout)
            self._raise_refused()
            if self._unanswered:
                rows, seconds, reason = self._unanswered, self.flush_timeout, self._errors.last or "no answer"
                raise SourceError(f"{self.topic}: {rows} rows were not confirmed within {seconds:g} s ({reason})")
        return {"written": self._written}

    def close(self) -> None:
        """Flush and disconnect."""
        if self._producer is None:
            return
        try:
            self.flush()
        finally:
            # What could not be sent would hold up the client's own end.
            self._producer.purge()
            self._producer = None

    def _send(self, value: bytes, key: bytes | None) -> None:
        while True:
            try:
                self._producer.produce(self.topic, value, key, on_delivery=self._confirm)
                self._unanswered += 1
                return
            except BufferError:
                # The local queue is full: wait for confirmations, and stop waiting if they turn out to be refusals.
                self._producer.poll(0.1)
                self._raise_refused()

    def _confirm(self, error: Any, _: Any) -> None:
        self._unanswered -= 1
        if error is not None:
            self._refused.append(error.str())

    def _raise_refused(self) -> None:
        if self._refused:
            raise SourceError(f"{self.topic}: {len(self._refused)} rows were refused ({self._refused[0]})")
