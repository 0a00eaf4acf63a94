"""Where a reader begins that has no saved position."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.kafka.topic_facts import Watermarks

__all__ = ["Start", "parse_start", "start_offsets"]

Start = str | int | datetime


def parse_start(start: Start) -> Start:
    """Read `earliest`, `latest`, an offset, or a time as `@2026-05-01T12:00:00Z` or `@` and milliseconds since 1970.

    Examples
    --------
    >>> from stream_maxloss_connectors.kafka.start import parse_start
    >>> parse_start("1882"), parse_start("@1767225600000").isoformat()
    (1882, '2026-01-01T00:00:00+00:00')

    """
    parsed: Start = _parse_text(start) if isinstance(start, str) and start not in ("earliest", "latest") else start
    if isinstance(parsed, bool) or not isinstance(parsed, str | int | datetime):
        raise _refusal(start)
    if isinstance(parsed, int) and parsed < 0:
        raise _refusal(start)
    return parsed


def start_offsets(
    consumer: Any, topic: str, start: Start, marks: Mapping[int, Watermarks], timeout: float
) -> dict[int, int]:
    """Return the offset of each partition; the offset of a time is that of the first record at or after it."""
    if start == "earliest":
        return {partition: mark.low for partition, mark in marks.items()}
    if start == "latest":
        return {partition: mark.high for partition, mark in marks.items()}
    if isinstance(start, datetime):
        return _offsets_at(consumer, topic, start, marks, timeout)
    return dict.fromkeys(marks, int(start))


def _offsets_at(
    consumer: Any, topic: str, start: datetime, marks: Mapping[int, Watermarks], timeout: float
) -> dict[int, int]:
    from confluent_kafka import KafkaException, TopicPartition

    milliseconds = round(start.timestamp() * 1000)
    try:
        found = consumer.offsets_for_times(
            [TopicPartition(topic, part, milliseconds) for part in marks], timeout=timeout
        )
    except KafkaException as error:
        raise SourceError(f"{topic}: the offsets at {start} could not be read ({error.args[0].str()})") from error
    # A time behind the last record has no offset: it is the end.
    return {part.partition: part.offset if part.offset >= 0 else marks[part.partition].high for part in found}


def _parse_text(text: str) -> int | datetime:
    if text.isdigit():
        return int(text)
    try:
        if text.startswith("@"):
            moment = text[1:]
            if moment.isdigit():
                return datetime.fromtimestamp(int(moment) / 1000, UTC)
            found = datetime.fromisoformat(moment)
            return found if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise _refusal(text) from error
    raise _refusal(text)


def _refusal(start: object) -> ValueError:
    return ValueError(
        f"start must be 'earliest', 'latest', an offset or a time like '@2026-05-01T12:00:00Z', got {start!r}"
    )
