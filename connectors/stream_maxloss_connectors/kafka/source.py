"""Rows from the partitions of a Kafka topic."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.bad_records import BadRecords
from stream_maxloss_connectors.base import Batch, Position, Source, SourceTraits
from stream_maxloss_connectors.kafka.batch_maker import BatchMaker
from stream_maxloss_connectors.kafka.fetcher import Fetcher
from stream_maxloss_connectors.kafka.lane import Lane
from stream_maxloss_connectors.kafka.outage import TopicWarning
from stream_maxloss_connectors.kafka.settings import consumer_settings, merge_settings
from stream_maxloss_connectors.kafka.start import Start, parse_start, start_offsets
from stream_maxloss_connectors.kafka.topic_facts import TopicFacts, check_identity, check_offset, check_position
from stream_maxloss_connectors.kafka.uri import parse_partitions, parse_uri
from stream_maxloss_connectors.payloads.formats import make_decoder
from stream_maxloss_connectors.schemas import decode_schema, encode_schema

__all__ = ["KafkaSource"]

_URI_OPTIONS = (
    "avro_schema",
    "column_names",
    "format",
    "group",
    "headers",
    "on_gap",
    "partitions",
    "start",
    "until_eof",
)


class KafkaSource(Source):
    """Reads a topic from saved offsets, each record once.

    Offsets are kept by the reader, in its checkpoint, not by the broker: partitions are assigned, no group is joined,
    and nothing is committed unless `commit` is called. `position()` is `{"0": {"offset": 1882}, ..., "_topic": {...}}`;
    the last entry holds what tells this topic from another of its name, the columns, and the gaps that were passed.
    Where a message holds many rows, `"row"` counts those already read of it.

    Within a partition rows come in order and in the same order each time. How partitions interleave depends on the
    brokers: a resumed reader reads every row once, but a model that depends on the order across partitions may differ.
    Read one partition where that matters.

    A topic that is deleted or recreated while it is read ends the reading within about a second; what was read
    meanwhile of another topic of the same name may then have been returned. Partitions that are added while all are
    read are read from their first record on, and a `TopicWarning` says so. While no broker answers a `TopicWarning`
    says since when; the reader waits, and goes on where it was.

    Records without a value (tombstones) are passed over. Without a schema the columns are those of the first messages
    that arrive, up to a thousand; fields that only turn up later are ignored.

    Parameters
    ----------
    servers
        Brokers to ask first, `host:port` separated by commas.
    topic
        The topic.
    partitions
        Numbers of the partitions to read; None for all that there are when the source is opened.
    format
        What a message is: `json`, `csv`, `avro` or `arrow`.
    schema
        The columns; None to take them from the first messages.
    columns
        Names of the columns to keep, in this order; None for all.
    column_names
        Names of the cells of CSV messages.
    avro_schema
        Schema of bare Avro messages, as parsed JSON or text.
    registry_schemas
        Schemas by number for Avro messages in the wire format of a registry, instead of the setting
        `schema.registry.url`.
    headers
        Names of record headers to add as text columns; a record without one has null.
    start
        Where to begin without a position: `earliest`, `latest`, an offset, or a time (`@2026-05-01T12:00:00Z`).
    until_eof
        Stop at the end that each partition had when the source was opened, instead of waiting for more.
    on_gap
        What to do when records from the position on are no longer held: `fail`, or go on at the `earliest` record or at
        the `latest`. A topic that was recreated always fails.
    group
        Name of a consumer group to which `commit` writes offsets, for tools that show lag.
    bad_records
        What to do with messages that cannot be read; fails at the first by default.
    settings
        Further settings of librdkafka, such as `sasl.password`. They win over those of the file.
    settings_file
        A properties file with such settings.
    connect_timeout
        Seconds to wait for an answer when opening.

    Examples
    --------
    >>> from stream_maxloss_connectors.kafka import KafkaSource
    >>> source = KafkaSource.from_uri("kafka://localhost:9092/orders?partitions=0-1", until_eof=True)
    >>> source.partitions()
    ['0', '1']

    """

    traits = SourceTraits(
        follows=True,
        partitioned=True,
        options=frozenset(_URI_OPTIONS)
        | {"bad_records", "columns", "connect_timeout", "registry_schemas", "schema", "settings", "settings_file"},
        gap_policies=("fail", "earliest", "latest"),
    )

    def __init__(
        self,
        servers: str,
        topic: str,
        *,
        partitions: Sequence[int] | None = None,
        format: str = "json",
        schema: pa.Schema | None = None,
        columns: Sequence[str] | None = None,
        column_names: Sequence[str] | None = None,
        avro_schema: Any | None = None,
        registry_schemas: Mapping[int, Any] | None = None,
        headers: Sequence[str] = (),
        start: Start = "earliest",
        until_eof: bool = False,
        on_gap: str = "fail",
        group: str | None = None,
        bad_records: BadRecords | None = None,
        settings: Mapping[str, Any] | None = None,
        settings_file: str | os.PathLike[str] | None = None,
        connect_timeout: float = 10.0,
    ) -> None:
        if on_gap not in self.traits.gap_policies:
            raise ValueError(f"on_gap must be 'fail', 'earliest' or 'latest', got {on_gap!r}")
        merged = merge_settings(settings_file, settings)
        registry = {name: merged.pop(name) for name in list(merged) if name.startswith("schema.registry.")}
        if group is not None:
            merged["group.id"] = group
        self.topic = topic
        self.start = parse_start(start)
        self.until_eof = until_eof
        self.on_gap = on_gap
        self.group = merged.get("group.id")
        self.bad_records = BadRecords() if bad_records is None else bad_records
        self.connect_timeout = connect_timeout
        self._wanted = None if partitions is None else sorted(set(partitions))
        decoder = make_decoder(
            format,
            schema=schema,
            column_names=column_names,
            avro_schema=avro_schema,
            registry_schemas=registry_schemas,
            registry_settings=registry,
        )
        self._batches = BatchMaker(decoder, self.bad_records, columns, headers)
        self._settings = consumer_settings(servers, merged)
        self._fetcher: Fetcher | None = None
        self._facts = TopicFacts(None, None, [])
        self._lanes: dict[int, Lane] = {}
        self._gaps: list[dict[str, int]] = []

    @classmethod
    def from_uri(cls, uri: str, **options: Any) -> KafkaSource:
        """Make a source from `kafka://host:port[,host:port]/topic?partitions=0-3&format=json`.

        The address may also carry `start`, `until_eof`, `on_gap` and `group`, `column_names` and `headers` separated by
        commas, and in `avro_schema` the path of a schema file. A keyword given here wins.

        Raises
        ------
        ValueError
            If the address or an option is malformed.
        SourceError
            If the schema file cannot be read.

        """
        address = parse_uri(uri, _URI_OPTIONS)
        found: dict[str, Any] = dict(address.options)
        if "partitions" in found:
            found["partitions"] = parse_partitions(found["partitions"])
        if "until_eof" in found:
            found["until_eof"] = found["until_eof"].lower() in ("", "1", "true", "yes")
        for name in ("column_names", "headers"):
            if name in found:
                found[name] = found[name].split(",")
        if "avro_schema" in found:
            found["avro_schema"] = _read_schema(found["avro_schema"])
        return cls(address.servers, address.topic, **{**found, **options})

    def partitions(self) -> list[str]:
        """Numbers of the partitions that are read, as text."""
        return [str(number) for number in self._lanes or self._wanted or []]

    def open(self, position: Position | None = None) -> None:
        """Connect, compare the topic with the position, and place every partition.

        A partition that the position does not know is new, and is read from its first record.

        Raises
        ------
        SourceError
            If no broker answers or the topic or a partition is not there.
        GapError
            If records from the position on are gone, or the topic is not the one that it was.

        """
        self.close()
        self._batches.reset()
        self._gaps = []
        self._lanes = {}
        self._fetcher = Fetcher(
            self._settings, self.topic, self.connect_timeout, bool(self._batches.headers), self.with_keys
        )
        try:
            self._place(self._fetcher, position)
        except BaseException:
            self.close()
            raise

    def next_batch(self, max_rows: int, timeout: float) -> Batch | None:
        """Return up to `max_rows` rows of one partition, taking the partitions in turn.

        It waits only while nothing at all is there. If it is interrupted by an exception of a signal handler, what was
        being fetched is fetched again by the next call.
        """
        if self._fetcher is None:
            raise SourceError(f"{self.topic}: a source must be opened before it is read; call open()")
        if max_rows < 1:
            raise ValueError(f"max_rows must be at least 1, got {max_rows!r}")
        deadline = time.monotonic() + timeout
        while not self.exhausted:
            self._fetcher.fill(self._lanes, max_rows, deadline, patiently=self._batches.schema is None)
            self._add_new_partitions(self._fetcher)
            for lane in self._lanes.values():
                # What was fetched before the refusal is read first: the broker may not have it any more.
                if lane.refused and not lane.offsets:
                    self._reset(self._fetcher, lane)
            if (taken := self._batches.next_of(list(self._lanes.values()), max_rows)) is not None:
                # Last of all: a signal handler that raises before this leaves the rows unread, to come again.
                taken.lane.move(taken.messages, taken.row)
                return taken.batch
            if time.monotonic() >= deadline:
                break
        return None

    @property
    def exhausted(self) -> bool:
        """True once a bounded reader has returned all rows of all partitions."""
        return self.until_eof and bool(self._lanes) and all(lane.done for lane in self._lanes.values())

    def position(self) -> Position:
        """Return the next unread record of each partition, and what the topic is known by."""
        state: Position = {}
        for number, lane in self._lanes.items():
            state[str(number)] = {"offset": lane.offset, "row": lane.row} if lane.row else {"offset": lane.offset}
        schema = self._batches.schema
        state["_topic"] = {
            "name": self.topic,
            "cluster_id": self._facts.cluster_id,
            "topic_id": self._facts.topic_id,
            "schema": None if schema is None else encode_schema(schema),
            "gaps": list(self._gaps),
        }
        return state

    def position_at(self, behind: Position, partition: str, address: str, before: str) -> Position | None:
        """Return where a row stands: at its offset, unless its message has rows before it."""
        offset = int(address.rpartition("@")[2])
        return None if offset == int(before.rpartition("@")[2]) else {**behind, partition: {"offset": offset}}

    def lag(self) -> int | None:
        """Records between the position and the end of the partitions, as last heard from the brokers."""
        if self._fetcher is None:
            return None
        return sum(max(0, self._fetcher.high(number) - lane.offset) for number, lane in self._lanes.items())

    @property
    def lag_unit(self) -> str:
        """`records`."""
        return "records"

    def commit(self, position: Position) -> None:
        """Commit a position to the broker, for tools that show lag; nothing here reads it back.

        Does nothing without a group. It does not wait, and a failure is only logged: the checkpoint is what counts.
        """
        if self.group is not None and self._fetcher is not None:
            offsets = {int(name): int(state["offset"]) for name, state in position.items() if name != "_topic"}
            self._fetcher.commit(offsets)

    def close(self) -> None:
        """Disconnect."""
        if self._fetcher is not None:
            self._fetcher.close()
            self._fetcher = None

    def _place(self, fetcher: Fetcher, position: Position | None) -> None:
        self._facts = fetcher.read_facts()
        numbers = self._chosen(self._facts.partitions)
        marks = fetcher.read_watermarks(numbers)
        if position is None:
            begin = start_offsets(fetcher.consumer, self.topic, self.start, marks, self.connect_timeout)
            places = {number: {"offset": begin[number]} for number in numbers}
        else:
            saved = self._restore(position)
            places = {number: saved.get(number, {"offset": marks[number].low}) for number in numbers}
        self._lanes = {}
        for number, place in places.items():
            offset = check_offset(self.topic, number, int(place["offset"]), marks[number], self.on_gap)
            row = int(place.get("row", 0)) if offset == place["offset"] else 0
            self._note_gap(number, int(place["offset"]), offset)
            end = marks[number].high if self.until_eof else math.inf
            self._lanes[number] = Lane(self.topic, number, offset, row, end)
        fetcher.assign(self._lanes.values())

    def _add_new_partitions(self, fetcher: Fetcher) -> None:
        """Read partitions that the topic has gained, unless certain ones, or an end, were chosen."""
        if self._wanted is not None or self.until_eof or fetcher.watch.partitions is None:
            return
        new = sorted(set(fetcher.watch.partitions) - set(self._lanes))
        if not new or not set(new) <= fetcher.read_partitions():
            return
        self._lanes.update((number, Lane(self.topic, number, 0)) for number in new)
        # Others keep what was fetched of them.
        fetcher.assign(self._lanes.values())
        listed = ", ".join(map(str, new))
        warnings.warn(f"{self.topic}: partition {listed} is new and read from its start", TopicWarning, stacklevel=3)

    def _restore(self, position: Position) -> dict[int, dict[str, int]]:
        check_position(self.topic, position)
        about = position.get("_topic", {})
        check_identity(self.topic, self._facts, about)
        if about.get("schema"):
            self._batches.schema = decode_schema(about["schema"])
        self._gaps = list(about.get("gaps", []))
        saved = {int(name): place for name, place in position.items() if name != "_topic"}
        if unread := sorted(set(saved) - set(self._chosen(self._facts.partitions))):
            raise SourceError(
                f"{self.topic}: the position must hold only partitions that are read, got {unread} besides; "
                "read them too, or start without the position"
            )
        return saved

    def _chosen(self, existing: list[int]) -> list[int]:
        if self._wanted is None:
            return existing
        if missing := sorted(set(self._wanted) - set(existing)):
            raise SourceError(f"{self.topic}: partitions must be among {existing}, got {missing}")
        return self._wanted

    def _reset(self, fetcher: Fetcher, lane: Lane) -> None:
        """Deal with an offset that the broker no longer has, while reading."""
        marks = fetcher.read_watermarks([lane.partition])[lane.partition]
        offset = check_offset(self.topic, lane.partition, lane.offset, marks, self.on_gap)
        self._note_gap(lane.partition, lane.offset, offset)
        lane.restart(offset)
        fetcher.assign(self._lanes.values())

    def _note_gap(self, partition: int, wanted: int, found: int) -> None:
        if wanted != found:
            self._gaps.append({"partition": partition, "from": wanted, "to": found})

    def __repr__(self) -> str:
        return f"KafkaSource({self._settings['bootstrap.servers']!r}, {self.topic!r})"


def _read_schema(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{path}: the Avro schema cannot be read ({error})") from error
