"""Notice a topic that is deleted, replaced by another of its name, or gains partitions while it is read."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from stream_maxloss.errors import GapError, SourceError
from stream_maxloss_connectors.kafka.client import ClientErrors, make_client
from stream_maxloss_connectors.kafka.outage import Outage

__all__ = ["TopicWatch"]

# Settings of which an admin client warns that it has no use for them.
_CONSUMER_ONLY = ("enable.auto", "auto.offset", "isolation", "enable.partition", "queued.", "fetch.", "group.")

# Seconds to wait for the topic's id, which an old broker or missing rights may withhold.
_TIMEOUT = 5.0


class TopicWatch:
    """Asks for a topic's id and partitions again and again, without waiting for the answer.

    A consumer with assigned partitions is not told when its topic is deleted: nothing comes any more. If a topic of the
    same name is created, it goes on there at the old offset, and the records before that are lost without a word.

    Parameters
    ----------
    settings
        Settings of the consumer.
    topic
        The topic.
    outage
        Told that a broker answers.
    interval
        Seconds between questions.

    Attributes
    ----------
    partitions
        Numbers of the partitions as last answered; None before.

    """

    def __init__(
        self, settings: Mapping[str, Any], topic: str, outage: Outage | None = None, interval: float = 0.5
    ) -> None:
        from confluent_kafka.admin import AdminClient

        known = {name: value for name, value in settings.items() if not name.startswith(_CONSUMER_ONLY)}
        self.topic = topic
        self.interval = interval
        self.topic_id: str | None = None
        self.partitions: list[int] | None = None
        self._outage = outage
        self._admin = make_client(AdminClient, known, ClientErrors(settings))
        self._question: Future[Any] | None = None
        self._asked = time.monotonic()

    def read_id(self) -> str | None:
        """Wait for the topic's id; None if it is not told. Only a topic whose id is known is watched."""
        from confluent_kafka import KafkaException

        try:
            self.topic_id = str(self._ask().result(timeout=_TIMEOUT + 1.0).topic_id)
        except (KafkaException, TimeoutError):
            self.topic_id = None
        return self.topic_id

    def check(self) -> None:
        """Look at the last answer, and ask again when it is time.

        Raises
        ------
        SourceError
            If the topic was deleted.
        GapError
            If it is another topic.

        """
        if self.topic_id is None:
            return
        if self._question is None:
            if time.monotonic() - self._asked >= self.interval:
                self._question = self._ask()
        elif self._question.done():
            answer, self._question = self._question, None
            self._judge(answer)

    def _ask(self) -> Future[Any]:
        from confluent_kafka import TopicCollection

        self._asked = time.monotonic()
        future: Future[Any] = self._admin.describe_topics(TopicCollection([self.topic]), request_timeout=_TIMEOUT)[
            self.topic
        ]
        return future

    def _judge(self, answer: Future[Any]) -> None:
        from confluent_kafka import KafkaException

        error = answer.exception()
        if error is None:
            if self._outage is not None:
                self._outage.end()
            self.partitions = sorted(part.id for part in answer.result().partitions)
            found = str(answer.result().topic_id)
            if found != self.topic_id:
                raise GapError(
                    f"{self.topic}: the topic was recreated while it was read: its topic id was {self.topic_id!r} "
                    f"and is {found!r}; the position means nothing there, start without it"
                )
        # Any other error says nothing about the topic: the broker may be down for a while.
        elif isinstance(error, KafkaException) and error.args[0].name() == "UNKNOWN_TOPIC_OR_PART":
            raise SourceError(f"{self.topic}: the topic was deleted while it was read")
