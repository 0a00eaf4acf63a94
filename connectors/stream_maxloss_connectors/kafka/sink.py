"""Predictions to a Kafka topic."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import orjson
import pyarrow as pa

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.base import Position, Sink
from stream_maxloss_connectors.kafka.client import ClientErrors, load_client, make_client, topic_metadata
from stream_maxloss_connectors.kafka.settings import merge_settings, producer_settings
from stream_maxloss_connectors.kafka.uri import parse_uri

__all__ = ["KafkaSink"]


class KafkaSink(Sink):
    """Writes each row as a JSON object, at least once.

    The producer is idempotent: its own retries neither repeat nor reorder a row. But what was sent cannot be taken
    back: rows written after the last checkpoint are written again by a reader that resumes from it. Give rows an id, or
    use a file sink, where that matters.

    Parameters
    ----------
    servers
        Brokers to ask first, `host:port` separated by commas.
    topic
        The topic, which must exist.
    key
        Column whose value, as text, becomes the key of the message; rows of one key stay in one partition, in order.
    settings
        Further settings of librdkafka. They win over those of the file.
    settings_file
        A properties file with such settings.
    connect_timeout
        Seconds to wait for an answer when opening.
    flush_timeout
        Seconds that `flush` waits for the brokers to confirm.

    Examples
    --------
    >>> from stream_maxloss_connectors.kafka import KafkaSink
    >>> KafkaSink.from_uri("kafka://localhost:9092/predictions?key=id").exactly_once
    False

    """

    exactly_once = False

    def __init__(
        self,
        servers: str,
        topic: str,
        *,
        key: str | None = None,
        settings: Mapping[str, Any] | None = None,
        settings_file: str | os.PathLike[str] | None = None,
        connect_timeout: float = 10.0,
        flush_timeout: float = 60.0,
    ) -> None:
        self.topic = topic
        self.key = key
        self.connect_timeout = connect_timeout
        self.flush_timeout = flush_timeout
        self._settings = producer_settings(servers, merge_settings(settings_file, settings))
        self._errors = ClientErrors(self._settings)
        self._producer: Any = None
        self._written = 0
        self._unanswered = 0
        self._refused: list[str] = []

    @classmethod
    def from_uri(cls, uri: str, **options: Any) -> KafkaSink:
        """Make a sink from `kafka://host:port[,host:port]/topic?key=column`; a keyword given here wins."""
        address = parse_uri(uri, ("key",))
        return cls(address.servers, address.topic, **{**address.options, **options})

    def open(self, position: Mapping[str, Any] | None = None) -> None:
        """Connect. The position only carries the count of rows on.

        Raises
        ------
        SourceError
            If no broker answers or the topic is not there.

        """
        self.close()
        kafka = load_client("writing to Kafka")
        self._errors = ClientErrors(self._settings)
        producer = make_client(kafka.Producer, self._settings, self._errors)
        topic_metadata(producer, self._settings["bootstrap.servers"], self.topic, self.connect_timeout, self._errors)
        self._producer = producer
        self._written = int((position or {}).get("written", 0))
        self._unanswered = 0
        self._refused = []

    def write(self, records: pa.RecordBatch) -> None:
        """Hand rows to the producer; it sends them in the background.

        Raises
        ------
        SourceError
            If the sink is not open, or the brokers refused an earlier row.

        """
        if self._producer is None:
            raise SourceError(f"{self.topic}: a sink must be opened before it is written to; call open()")
        if self.key is not None and self.key not in records.schema.names:
            raise ValueError(f"key must name a column of the rows, got {self.key!r}; there are {records.schema.names}")
        for row in records.to_pylist():
            key = None if self.key is None or row[self.key] is None else str(row[self.key]).encode()
            self._send(orjson.dumps(row, default=_plain), key)
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
            # What it returns counts events of the client, too, such as a lost connection that nobody has asked about.
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

    def __repr__(self) -> str:
        return f"KafkaSink({self._settings['bootstrap.servers']!r}, {self.topic!r})"


def _plain(value: Any) -> Any:
    """Write what JSON has no form for as text: bytes, decimals, durations."""
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else str(value)
