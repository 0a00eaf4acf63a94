"""Clients of confluent-kafka whose log and errors go where ours go."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from stream_maxloss.errors import MissingExtraError, SourceError
from stream_maxloss_connectors.kafka.outage import Outage
from stream_maxloss_connectors.kafka.settings import mask_settings, mask_text

__all__ = ["ClientErrors", "client_logger", "load_client", "make_client", "topic_metadata"]


def client_logger() -> logging.Logger:
    """Return the logger that takes librdkafka's lines; by itself it writes to stderr, 20 a second in an outage.

    Without a handler of the application's nothing is printed: Python's handler of last resort writes to stderr too.
    """
    logger = logging.getLogger("stream_maxloss_connectors.kafka")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return logger


def load_client(feature: str) -> ModuleType:
    """Import confluent-kafka.

    Raises
    ------
    MissingExtraError
        If it is not installed.

    """
    try:
        import confluent_kafka
        import confluent_kafka.admin
    except ImportError as error:
        raise MissingExtraError(feature, "kafka") from error
    module: ModuleType = confluent_kafka
    return module


class ClientErrors:
    """Remembers what librdkafka last said about its brokers.

    An outage is no exception there: calls come back empty, and the reason arrives by a callback.

    Parameters
    ----------
    settings
        The client's settings, whose secrets are kept out of the messages.

    Attributes
    ----------
    outage
        Told when no broker answers, if there is one.
    interrupted
        Whether a connection to a broker was lost or refused; whoever looks at it sets it back.

    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = settings
        self.last = ""
        self.fatal = ""
        self.interrupted = False
        self.outage: Outage | None = None

    def __call__(self, error: Any) -> None:
        """Take one error, as librdkafka's `error_cb` does."""
        text = mask_text(error.str(), self.settings)
        # "All brokers are down" follows the line that says why, and says less.
        if error.name() != "_ALL_BROKERS_DOWN" or not self.last:
            self.last = text
        if error.name() in ("_TRANSPORT", "_ALL_BROKERS_DOWN"):
            self.interrupted = True
        if error.name() == "_ALL_BROKERS_DOWN" and self.outage is not None:
            self.outage.begin(self.last)
        if error.fatal() or error.name() == "_AUTHENTICATION":
            self.fatal = text

    def __repr__(self) -> str:
        return f"ClientErrors({mask_settings(self.settings)})"


class _MaskedLog:
    """Takes librdkafka's lines, some of which repeat settings."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = settings

    def log(self, level: int, message: str, *values: Any) -> None:
        client_logger().log(level, "%s", mask_text(message % values if values else message, self._settings))


def make_client(kind: Any, settings: Mapping[str, Any], errors: ClientErrors) -> Any:
    """Make a `Consumer`, `Producer` or `AdminClient`.

    Raises
    ------
    SourceError
        If librdkafka refuses a setting.

    """
    from confluent_kafka import KafkaException

    try:
        return kind({**settings, "error_cb": errors}, logger=_MaskedLog(settings))
    except (KafkaException, ValueError, TypeError) as error:
        reason = error.args[0].str() if isinstance(error, KafkaException) else str(error)
        # `from None`: the original could carry a secret into a traceback.
        raise SourceError(f"the Kafka client refuses its settings: {mask_text(reason, settings)}") from None


def topic_metadata(
    client: Any, servers: str, topic: str, timeout: float, errors: ClientErrors, patience: float = 0.0
) -> Any:
    """Ask the cluster about a topic; one that is not there may still appear within `patience` seconds.

    Raises
    ------
    SourceError
        If no broker answers within `timeout` seconds, or the topic is not there.

    """
    from confluent_kafka import KafkaException

    try:
        metadata = client.list_topics(topic, timeout=timeout)
    except KafkaException as error:
        if hasattr(client, "poll"):
            client.poll(0)
        reason = errors.last or error.args[0].str()
        raise SourceError(
            f"kafka://{servers}/{topic}: no broker answered within {timeout:g} s ({reason}); "
            "check the address, the network and the security settings"
        ) from error
    deadline = time.monotonic() + patience
    while not is_there(metadata, topic) and time.monotonic() < deadline:
        time.sleep(0.1)
        metadata = client.list_topics(topic, timeout=timeout)
    if is_there(metadata, topic):
        return metadata
    known = sorted(name for name in client.list_topics(timeout=timeout).topics if not name.startswith("__"))
    found = metadata.topics.get(topic)
    detail = "" if found is None or found.error is None else f" ({found.error.str()})"
    raise SourceError(
        f"kafka://{servers}/{topic}: there is no topic {topic!r}{detail}; the cluster has {_shorten(known)}"
    )


def is_there(metadata: Any, topic: str) -> bool:
    """Return whether the cluster has the topic with its partitions."""
    found = metadata.topics.get(topic)
    return found is not None and bool(found.partitions) and found.error is None


def _shorten(names: list[str]) -> str:
    shown = ", ".join(names[:5]) or "none"
    return f"{shown} and {len(names) - 5} more" if len(names) > 5 else shown
