"""Kafka transactions that carry, beside their rows, how many rows there are by then."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.kafka.client import ClientErrors, load_client, make_client
from stream_maxloss_connectors.kafka.settings import mask_text

__all__ = ["TransactionError", "Transactions"]

# Seconds between two attempts at a step whose failure the client calls passing.
_PAUSE = 0.1

# Seconds for the courtesy of ending a transaction that failed: the next writer of its name ends it anyway.
_ABORT_TIMEOUT = 5.0

# Errors that say no more than that no broker answered in time.
_UNANSWERED = ("_TIMED_OUT", "_TIMED_OUT_QUEUE", "_MSG_TIMED_OUT", "_TRANSPORT", "_ALL_BROKERS_DOWN")

# Settings of which a consumer warns that it has no use for them.
_PRODUCER_ONLY = ("acks", "batch.", "compression.", "enable.idem", "linger.", "message.", "queue.", "transactional.")


class TransactionError(SourceError):
    """The brokers did not take a transaction, or left it open whether they did.

    Attributes
    ----------
    reason
        What the client said.
    passing
        Whether a new client may succeed where this one failed.

    """

    def __init__(self, topic: str, reason: str, passing: bool) -> None:
        super().__init__(
            f"{topic}: a transaction failed ({reason}); resume to send its rows again, or write with "
            "?delivery=at-least-once"
        )
        self.reason = reason
        self.passing = passing


class Transactions:
    """One writer's transactions, one after another.

    The count is committed as the offset of the topic's first partition for a group named like the writer: offsets of
    a group are the one thing that a Kafka transaction can hold beside records.

    Parameters
    ----------
    producer
        A producer with the transactional id.
    errors
        What the producer says about its brokers, with its settings, from which a consumer is made that reads the count.
    topic
        Where rows go.
    name
        The transactional id.
    timeout
        Seconds that beginning, asking for the count or sending may take.

    """

    def __init__(self, producer: Any, errors: ClientErrors, topic: str, name: str, timeout: float) -> None:
        self._kafka = load_client("writing to Kafka")
        self._producer = producer
        self._errors = errors
        self._topic = topic
        self._timeout = timeout
        self._deadline = 0.0
        settings: Mapping[str, Any] = errors.settings
        known = {key: value for key, value in settings.items() if not key.startswith(_PRODUCER_ONLY)}
        self._consumer = make_client(
            self._kafka.Consumer,
            {**known, "group.id": name, "enable.auto.commit": "false", "isolation.level": "read_committed"},
            ClientErrors(settings),
        )

    def begin(self) -> None:
        """Become the only writer of this name; a transaction that another has left open is ended."""
        self._start_clock()
        self._try(self._producer.init_transactions)
        self._forget_interruptions()

    def last_committed(self) -> int | None:
        """Return how many rows the last transaction that was committed brought it to; None if the broker knows none."""
        self._start_clock()
        found = self._try(lambda seconds: self._consumer.committed([self._place(0)], timeout=seconds))[0]
        return None if found.offset < 0 else int(found.offset)

    def send(self, rows: Iterable[tuple[bytes, bytes | None]], count: int, timeout: float) -> None:
        """Commit rows, and with them the count of rows, within so many seconds.

        Raises
        ------
        TransactionError
            If the brokers did not confirm it. They have taken all or nothing; `last_committed` tells which.

        """
        self._start_clock(timeout)
        try:
            self._try(lambda _: self._producer.begin_transaction())
            for value, key in rows:
                self._produce(value, key)
            self._send_count(count)
            self._try(self._producer.commit_transaction)
        except TransactionError as error:
            # A client that is given up because its brokers were away would wait for them once more.
            if not error.passing:
                self._abort()
            raise
        self._forget_interruptions()

    def close(self) -> None:
        """Disconnect."""
        self._producer.purge()
        self._consumer.close()

    def _start_clock(self, timeout: float | None = None) -> None:
        self._deadline = time.monotonic() + (self._timeout if timeout is None else timeout)

    def _produce(self, value: bytes, key: bytes | None) -> None:
        while True:
            try:
                self._producer.produce(self._topic, value, key)
                return
            except BufferError:
                if time.monotonic() > self._deadline:
                    raise TransactionError(self._topic, "its rows are not taken", passing=True) from None
                self._producer.poll(_PAUSE)
            except self._kafka.KafkaException as error:
                raise self._failure(error) from error

    def _send_count(self, count: int) -> None:
        group, place = self._consumer.consumer_group_metadata(), [self._place(count)]
        self._try(lambda seconds: self._producer.send_offsets_to_transaction(place, group, seconds))

    def _place(self, offset: int) -> Any:
        return self._kafka.TopicPartition(self._topic, 0, offset)

    def _abort(self) -> None:
        try:
            self._producer.abort_transaction(_ABORT_TIMEOUT)
        except self._kafka.KafkaException:
            # The next writer of this name ends it.
            return

    def _try(self, step: Callable[[float], Any]) -> Any:
        """Take a step, given the seconds that are left, again and again while the client calls its failure passing."""
        while True:
            try:
                return step(max(self._deadline - time.monotonic(), _PAUSE))
            except self._kafka.KafkaException as error:
                if not error.args[0].retriable() or time.monotonic() > self._deadline:
                    raise self._failure(error) from error
            time.sleep(_PAUSE)

    def _failure(self, error: Any) -> TransactionError:
        self._hear()
        found = error.args[0]
        passing = found.retriable() or found.name() in _UNANSWERED or self._errors.interrupted
        return TransactionError(self._topic, mask_text(found.str(), self._errors.settings), passing)

    def _forget_interruptions(self) -> None:
        self._hear()
        self._errors.interrupted = False

    def _hear(self) -> None:
        """Let the producer say what happened to its brokers, which it does when it is polled."""
        # An error that ends the client is raised here again, after what was said before it.
        with suppress(self._kafka.KafkaException):
            self._producer.poll(0)
