"""What sinks that write to a Kafka topic share: parameters and the connection."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.base import Sink
from stream_maxloss_connectors.kafka.client import ClientErrors, load_client, make_client, topic_metadata
from stream_maxloss_connectors.kafka.settings import merge_settings, producer_settings

__all__ = ["TopicSink"]

# Brokers that create topics on demand begin when a producer first asks, and answer before they are done.
CREATION_SECONDS = 3.0


class TopicSink(Sink):
    """Base of the sinks that write each row as a JSON object.

    Parameters
    ----------
    servers
        Brokers to connect to first, `host:port` separated by commas.
    topic
        The topic, which must exist unless the brokers create topics on demand.
    key
        Column whose value, as text, becomes the key of the message; rows of one key stay in one partition, in order.
    settings
        Further settings of librdkafka. They win over those of the file.
    settings_file
        A properties file with such settings.
    connect_timeout
        Seconds to wait for an answer when opening.
    flush_timeout
        Seconds to wait for the brokers to confirm rows.

    """

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
        self._written = 0
        self._begin()

    @abstractmethod
    def _begin(self) -> None:
        """Set up what a kind of sink holds besides."""

    def _connect(self, **settings: str) -> Any:
        """Return a producer that has found the topic."""
        kafka = load_client("writing to Kafka")
        self._errors = ClientErrors(self._settings)
        producer = make_client(kafka.Producer, {**self._settings, **settings}, self._errors)
        servers = self._settings["bootstrap.servers"]
        topic_metadata(producer, servers, self.topic, self.connect_timeout, self._errors, CREATION_SECONDS)
        return producer

    def _not_open(self) -> SourceError:
        return SourceError(f"{self.topic}: a sink must be opened before it is written to; call open()")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._settings['bootstrap.servers']!r}, {self.topic!r})"
