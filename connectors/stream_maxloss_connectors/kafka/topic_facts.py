"""What a cluster says about a topic, and whether it still fits a saved position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stream_maxloss.errors import GapError, SourceError
from stream_maxloss_connectors.kafka.client import ClientErrors, client_logger, topic_metadata
from stream_maxloss_connectors.kafka.topic_watch import TopicWatch
from stream_maxloss_connectors.positions import check_entry, is_count, is_entries, is_text, or_none

__all__ = [
    "TopicFacts",
    "Watermarks",
    "check_identity",
    "check_offset",
    "check_position",
    "read_facts",
    "read_watermarks",
]


@dataclass(frozen=True)
class Watermarks:
    """First offset that a partition still holds, and the one that its next record will get."""

    low: int
    high: int


@dataclass(frozen=True)
class TopicFacts:
    """A topic as the cluster describes it.

    Parameters
    ----------
    cluster_id
        Identity of the cluster; None if it tells none.
    topic_id
        Identity of the topic, another one each time a topic of this name is created; None if it is not told.
    partitions
        Numbers of the partitions.

    """

    cluster_id: str | None
    topic_id: str | None
    partitions: list[int]


def read_facts(consumer: Any, servers: str, watch: TopicWatch, timeout: float, errors: ClientErrors) -> TopicFacts:
    """Ask the cluster about the topic that is watched; raises `SourceError` as `topic_metadata` does."""
    metadata = topic_metadata(consumer, servers, watch.topic, timeout, errors)
    # Without a controller, as in librdkafka's mock, the question for the id would wait in vain.
    topic_id = watch.read_id() if metadata.controller_id in metadata.brokers else None
    return TopicFacts(metadata.cluster_id, topic_id, sorted(metadata.topics[watch.topic].partitions))


def read_watermarks(consumer: Any, topic: str, partitions: Sequence[int], timeout: float) -> dict[int, Watermarks]:
    """Ask for the first and the next offset of each partition."""
    from confluent_kafka import KafkaException, TopicPartition

    found = {}
    for partition in partitions:
        try:
            low, high = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=timeout)
        except (KafkaException, TypeError) as error:
            # The client returns None, which cannot be unpacked, when the time is over.
            reason = error.args[0].str() if isinstance(error, KafkaException) else f"no answer within {timeout:g} s"
            raise SourceError(f"{topic}[{partition}]: its offsets could not be read ({reason})") from error
        found[partition] = Watermarks(low, high)
    return found


def check_position(topic: str, position: Mapping[str, Any]) -> None:
    """Raise `SourceError` unless a saved position can be one of a topic."""
    for name, place in position.items():
        if name == "_topic":
            check_entry(topic, place)
            optional = {"name": or_none(is_text), "schema": or_none(is_text), "gaps": is_entries}
            check_entry(topic, place, **{field: check for field, check in optional.items() if field in place})
        else:
            check_entry(topic, {"partition": name.isdecimal() and int(name)}, partition=is_count)
            check_entry(f"{topic}[{name}]", place, offset=is_count, **({"row": is_count} if "row" in place else {}))


def check_identity(topic: str, facts: TopicFacts, saved: Mapping[str, Any]) -> None:
    """Refuse a position that was taken from another topic of the same name.

    Raises
    ------
    GapError
        If the cluster, the topic, or a partition of it is not what it was.

    """
    if saved.get("name", topic) != topic:
        raise GapError(f"the position must be of topic {topic!r}, got one of {saved['name']!r}")
    for what, before, now in (
        ("cluster", saved.get("cluster_id"), facts.cluster_id),
        ("topic", saved.get("topic_id"), facts.topic_id),
    ):
        if before is not None and now is not None and before != now:
            told = "the topic was recreated or truncated" if what == "topic" else "this is another cluster"
            raise GapError(
                f"{topic}: {told}: its {what} id was {before!r} and is {now!r}; "
                "the saved position means nothing there, start without it"
            )


def check_offset(topic: str, partition: int, offset: int, marks: Watermarks, on_gap: str) -> int:
    """Return the offset to read from: the saved one, or what `on_gap` makes of one that is gone.

    Raises
    ------
    GapError
        If records are gone and `on_gap` is `"fail"`, or if the partition ends before the offset.

    """
    if offset > marks.high:
        raise GapError(
            f"{topic}[{partition}]@{offset}: the topic was recreated or truncated: the partition ends at {marks.high}; "
            "the saved position means nothing there, start without it"
        )
    if offset >= marks.low:
        return offset
    target = marks.high if on_gap == "latest" else marks.low
    told = f"records {offset}..{target - 1} of {topic}[{partition}] are gone"
    if on_gap == "fail":
        raise GapError(
            f"{told}: the saved offset is {offset} and the first one held is {marks.low}; "
            "go on without them with on_gap='earliest' or 'latest'"
        )
    client_logger().warning("%s; going on at %d", told.replace("are gone", "are passed over"), target)
    return target
