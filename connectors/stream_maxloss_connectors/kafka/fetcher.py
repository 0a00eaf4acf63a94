"""The consumer, and how messages get from it into lanes without one being lost."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.kafka.client import ClientErrors, client_logger, load_client, make_client
from stream_maxloss_connectors.kafka.lane import Lane
from stream_maxloss_connectors.kafka.outage import Outage
from stream_maxloss_connectors.kafka.topic_facts import TopicFacts, Watermarks, read_facts, read_watermarks
from stream_maxloss_connectors.kafka.topic_watch import TopicWatch

__all__ = ["Fetcher"]

# Messages for one call. Python looks for cycles of garbage each time that 700 more objects live, and a message is one
# that it has to look into: with a thousand at once that costs as much as the rest of the call.
_CHUNK = 500

# Messages that are waited for before their columns are looked at.
_ENOUGH = 1000

# The longest that one call may block: it runs no signal handler before it returns.
_WAIT = 0.2

# Messages held unread at most, apart from one chunk more.
_MOST_PENDING = 16_000

# Errors that librdkafka reports and then tries again by itself.
_PASSING = frozenset(
    (
        "_ALL_BROKERS_DOWN",
        "_RESOLVE",
        "_TIMED_OUT",
        "_TRANSPORT",
        "BROKER_NOT_AVAILABLE",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "COORDINATOR_NOT_AVAILABLE",
        "FENCED_LEADER_EPOCH",
        "FETCH_SESSION_ID_NOT_FOUND",
        "INVALID_FETCH_SESSION_EPOCH",
        "KAFKA_STORAGE_ERROR",
        "LEADER_NOT_AVAILABLE",
        "NETWORK_EXCEPTION",
        "NOT_COORDINATOR",
        "NOT_LEADER_FOR_PARTITION",
        "OFFSET_NOT_AVAILABLE",
        "REPLICA_NOT_AVAILABLE",
        "REQUEST_TIMED_OUT",
        "UNKNOWN_LEADER_EPOCH",
    )
)


class Fetcher:
    """A consumer with explicitly assigned partitions.

    Parameters
    ----------
    settings
        Settings of the consumer.
    topic
        The topic.
    timeout
        Seconds to wait for answers about the topic.
    with_headers, with_keys
        Keep the headers and the keys of messages.

    """

    def __init__(
        self, settings: Mapping[str, Any], topic: str, timeout: float, with_headers: bool, with_keys: bool = False
    ) -> None:
        self._kafka = load_client("reading from Kafka")
        self.topic = topic
        self.timeout = timeout
        self.with_headers = with_headers
        self.with_keys = with_keys
        self.servers = str(settings["bootstrap.servers"])
        self.errors = ClientErrors(settings)
        self.outage = self.errors.outage = Outage(topic)
        self.consumer = make_client(self._kafka.Consumer, {**settings, "on_commit": _log_commit}, self.errors)
        self.watch = TopicWatch(settings, topic, self.outage)
        self._high: dict[int, int] = {}
        self._torn = False
        self._assigned: set[int] = set()

    def read_facts(self) -> TopicFacts:
        """Ask what the topic is."""
        return read_facts(self.consumer, self.servers, self.watch, self.timeout, self.errors)

    def read_watermarks(self, partitions: Sequence[int]) -> dict[int, Watermarks]:
        """Ask which offsets the partitions hold."""
        marks = read_watermarks(self.consumer, self.topic, partitions, self.timeout)
        self._high.update((partition, mark.high) for partition, mark in marks.items())
        return marks

    def read_partitions(self) -> set[int]:
        """Ask which partitions there are, so that the consumer knows new ones; none if nobody answers in time."""
        try:
            metadata = self.consumer.list_topics(self.topic, timeout=self.timeout)
        except self._kafka.KafkaException:
            return set()
        return set(metadata.topics[self.topic].partitions)

    def assign(self, lanes: Iterable[Lane]) -> None:
        """Fetch every lane from where it stands; those at their end are left out."""
        wanted = [(lane.partition, lane.fetched) for lane in lanes if lane.fetched < lane.end]
        self.consumer.assign([self._kafka.TopicPartition(self.topic, *place) for place in wanted])
        self._assigned = {partition for partition, _ in wanted}

    def fill(self, lanes: Mapping[int, Lane], max_rows: int, deadline: float, patiently: bool = False) -> None:
        """Move what has arrived into the lanes, waiting until the deadline only if all of them are empty.

        Parameters
        ----------
        lanes
            The lanes by partition.
        max_rows
            How many messages will be taken from a lane.
        deadline
            When to stop waiting, by `time.monotonic()`.
        patiently
            Wait also if some are not empty, until a thousand messages are there or all partitions are at their end.

        Raises
        ------
        SourceError
            If a partition cannot be read any more, or the topic is not there any more.

        """
        self.watch.check()
        self.outage.tell()
        if self._torn:
            for lane in lanes.values():
                lane.forget()
            self.assign(lanes.values())
        # Until it is cleared, a raising signal handler may swallow messages that the client counts as delivered.
        self._torn = True
        most = min(max(_ENOUGH, max_rows * len(lanes)), _MOST_PENDING)
        while (pending := _pending(lanes)) < most and not _settled(lanes):
            messages = self.consumer.consume(_CHUNK, 0.0)
            if not messages:
                if time.monotonic() >= deadline or (pending and not (patiently and _incomplete(lanes, pending))):
                    break
                messages = self._wait(deadline)
            if messages:
                self._sort(messages, lanes)
            # Before the next ones come; see _CHUNK.
            del messages
            self._leave_finished(lanes)
        if self.errors.fatal:
            raise SourceError(f"{self.topic}: reading failed ({self.errors.fatal})")
        self._torn = False

    def high(self, partition: int) -> int:
        """Return the end of a partition as last heard; known without asking."""
        place = self._kafka.TopicPartition(self.topic, partition)
        marks = self.consumer.get_watermark_offsets(place, cached=True)
        return max(self._high.get(partition, 0), marks[1] if marks else 0)

    def commit(self, offsets: Mapping[int, int]) -> None:
        """Send offsets to the group without waiting."""
        places = [self._kafka.TopicPartition(self.topic, *item) for item in offsets.items()]
        try:
            self.consumer.commit(offsets=places, asynchronous=True)
        except self._kafka.KafkaException as error:
            _log_commit(error.args[0], places)

    def close(self) -> None:
        """Disconnect."""
        self.consumer.close()

    def _wait(self, deadline: float) -> list[Any]:
        first = self.consumer.poll(max(0.0, min(_WAIT, deadline - time.monotonic())))
        return [] if first is None else [first]

    def _leave_finished(self, lanes: Mapping[int, Lane]) -> None:
        """Stop fetching what lies behind the end of a bounded lane.

        Pausing would not do: a paused partition stays so when it is assigned again after an interruption.
        """
        for number in [number for number in self._assigned if lanes[number].fetched >= lanes[number].end]:
            self.consumer.incremental_unassign([self._kafka.TopicPartition(self.topic, number)])
            self._assigned.discard(number)

    def _sort(self, messages: Sequence[Any], lanes: Mapping[int, Lane]) -> None:
        """Hand messages to their lanes; run by run, for this is done for every message there is."""
        error_of = self._kafka.Message.error
        if not any(map(error_of, messages)):
            self.outage.end()
            self._hand_over(messages, lanes)
            return
        begin = 0
        for end, message in enumerate(messages):
            error = error_of(message)
            if error is not None:
                self._hand_over(messages[begin:end], lanes)
                self._handle(error, message, lanes)
                begin = end + 1
        self._hand_over(messages[begin:], lanes)

    def _hand_over(self, messages: Sequence[Any], lanes: Mapping[int, Lane]) -> None:
        kind = self._kafka.Message
        if len(lanes) == 1:
            # The consumer was never given any other.
            partitions = [messages[0].partition()] * len(messages) if messages else []
        else:
            partitions = list(map(kind.partition, messages))
        begin = 0
        while begin < len(partitions):
            partition = partitions[begin]
            end = begin + run_length(partitions, begin)
            run = messages[begin:end]
            begin = end
            offsets = offsets_of(run)
            if partition not in lanes:
                raise SourceError(f"{self.topic}[{partition}]@{offsets[0]}: a record came that nobody asked for")
            headers = list(map(kind.headers, run)) if self.with_headers else ()
            keys = list(map(kind.key, run)) if self.with_keys else ()
            lanes[partition].extend(offsets, list(map(kind.value, run)), headers, keys)

    def _handle(self, error: Any, message: Any, lanes: Mapping[int, Lane]) -> None:
        code = error.code()
        if code == self._kafka.KafkaError._PARTITION_EOF:
            lanes[message.partition()].reached(message.offset())
            lanes[message.partition()].at_end = True
        elif code == self._kafka.KafkaError._AUTO_OFFSET_RESET:
            lanes[message.partition()].refused = True
        elif error.name() in _PASSING:
            client_logger().info("%s: %s", self.topic, error.str())
        else:
            raise SourceError(f"{self.topic}[{message.partition()}]: reading failed ({error.str()})")


def run_length(values: Sequence[int], begin: int) -> int:
    """Return how many equal values stand in a row from a place on.

    Examples
    --------
    >>> from stream_maxloss_connectors.kafka.fetcher import run_length
    >>> run_length([3, 3, 1, 1, 1], 2)
    3

    """
    value = values[begin]
    if begin == 0 and values.count(value) == len(values):
        return len(values)
    return next((i for i in range(begin, len(values)) if values[i] != value), len(values)) - begin


def offsets_of(messages: Sequence[Any]) -> Sequence[int]:
    """Return the offsets of messages that came from one partition.

    The client hands them out in the partition's order, so where the last is as far from the first as there are
    messages, each is the next, and the others need not be looked at.
    """
    first, last = messages[0].offset(), messages[-1].offset()
    if last - first == len(messages) - 1:
        return range(first, last + 1)
    return [message.offset() for message in messages]


def _pending(lanes: Mapping[int, Lane]) -> int:
    return sum(len(lane.offsets) for lane in lanes.values())


def _settled(lanes: Mapping[int, Lane]) -> bool:
    """Return whether the caller has something to do first: all is read, or the broker refused an offset."""
    return all(lane.done for lane in lanes.values()) or any(lane.refused for lane in lanes.values())


def _incomplete(lanes: Mapping[int, Lane], pending: int) -> bool:
    return pending < _ENOUGH and not all(lane.at_end or lane.fetched >= lane.end for lane in lanes.values())


def _log_commit(error: Any, places: Sequence[Any]) -> None:
    if error is not None:
        client_logger().warning("offsets of %d partitions were not committed: %s", len(places), error.str())
