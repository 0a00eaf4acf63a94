"""A Kafka topic as a River stream."""

from __future__ import annotations

from typing import Any

from stream_maxloss_connectors.base import Position
from stream_maxloss_connectors.kafka.source import KafkaSource
from stream_maxloss_connectors.river_streams import Converters, Stream, Target, iter_batches

__all__ = ["iter_kafka"]


def iter_kafka(
    uri: str,
    target: Target = None,
    converters: Converters | None = None,
    drop: list[str] | None = None,
    fraction: float = 1.0,
    seed: int | None = None,
    *,
    position: Position | None = None,
    idle_exit: float | None = None,
    **kwargs: Any,
) -> Stream:
    """Iterate over the rows of a Kafka topic, in the argument style of `river.stream`.

    Parameters
    ----------
    uri
        `kafka://host:port/topic?partitions=0-3&format=json`.
    target, converters, drop, fraction, seed
        As for `iter_batches`.
    position
        Where to begin, as a source's `position()` gave it; None for where `start` says.
    idle_exit
        Seconds without a row after which the iteration ends; None waits for ever.
    kwargs
        Options of `KafkaSource`; `until_eof=True` ends at what is there now.

    Examples
    --------
    >>> from stream_maxloss_connectors.kafka import iter_kafka
    >>> rows = iter_kafka("kafka://localhost:9092/orders", target="fraud", until_eof=True)
    >>> for x, y in rows:  # doctest: +SKIP
    ...     model.learn_one(x, y)

    """
    source = KafkaSource.from_uri(uri, **kwargs)
    return iter_batches(source, target, converters, drop, fraction, seed, position=position, idle_exit=idle_exit)
