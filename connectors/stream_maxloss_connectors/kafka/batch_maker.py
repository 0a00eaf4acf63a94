"""Batches from lanes: decoding, bad records, and moving the position."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import pyarrow as pa

from stream_maxloss.errors import DecodeError, SourceError
from stream_maxloss_connectors.bad_records import BadRecords
from stream_maxloss_connectors.base import Batch
from stream_maxloss_connectors.kafka.lane import Lane, cut_rows
from stream_maxloss_connectors.payloads.base import Decoded, Decoder

__all__ = ["BatchMaker", "Taken"]

# Messages that tell the columns, of all partitions together.
_LOOKED_AT = 1000


@dataclass(frozen=True)
class Taken:
    """A batch, and by how many messages and rows its lane moves when it is handed on."""

    batch: Batch
    lane: Lane
    messages: int
    row: int


class BatchMaker:
    """Takes messages from the front of lanes, in turn, and makes batches of them.

    Nothing is decoded ahead of the position, so a bad record is reported in the same step in which it is passed.

    Parameters
    ----------
    decoder
        Turns messages into rows.
    bad_records
        Is told of those that are none.
    columns
        Names of the columns to keep; None for all.
    headers
        Names of record headers to add as columns.

    """

    def __init__(
        self, decoder: Decoder, bad_records: BadRecords, columns: Sequence[str] | None, headers: Sequence[str]
    ) -> None:
        self.decoder = decoder
        self.bad_records = bad_records
        self.columns = None if columns is None else list(columns)
        self.headers = tuple(headers)
        if decoder.schema is not None:
            decoder.schema = _select(decoder.schema, self.columns)
        self._given = decoder.schema
        self._turn = 0

    @property
    def schema(self) -> pa.Schema | None:
        """Columns of the messages, once they are known; those of headers come on top."""
        return self.decoder.schema

    @schema.setter
    def schema(self, schema: pa.Schema) -> None:
        self.decoder.schema = schema

    def reset(self) -> None:
        """Forget columns that were taken from messages."""
        self.decoder.schema = self._given
        self._turn = 0

    def next_of(self, lanes: Sequence[Lane], max_rows: int) -> Taken | None:
        """Return a batch of the next lane that has rows; the caller moves that lane as he hands it on."""
        if self.decoder.schema is None:
            self._infer(lanes)
        for turn in range(len(lanes)):
            place = (self._turn + turn) % len(lanes)
            while lanes[place].offsets:
                taken = self._take(lanes[place], max_rows)
                if taken is not None:
                    self._turn = place + 1
                    return taken
        return None

    def _infer(self, lanes: Sequence[Lane]) -> None:
        # What was fetched is looked at, not just what is returned now: the columns must not depend on max_rows.
        each = -(-_LOOKED_AT // max(1, len(lanes)))
        self.decoder.infer([value for lane in lanes for value in lane.values[:each] if value is not None])
        if self.decoder.schema is not None:
            try:
                self.decoder.schema = _select(self.decoder.schema, self.columns)
            except ValueError as error:
                # Unfixed, so that the next call meets the same error instead of all columns.
                self.decoder.schema = None
                raise SourceError(f"{lanes[0].topic}: {error}") from error

    def _take(self, lane: Lane, max_rows: int) -> Taken | None:
        """Make a batch of the lane's front; if that holds only malformed records, move behind it and return None."""
        payloads = _until_tombstone(lane.values[:max_rows])
        if not payloads:
            lane.move(1)
            return None
        decoded = self._decode(payloads, lane.row + max_rows)
        cut = cut_rows(decoded, lane.row, max_rows)
        self._report(lane, decoded.bad, cut.messages)
        offsets = lane.offsets[: decoded.messages]
        records = cut.records
        if records is not None and self.headers:
            rows = [lane.headers[cut.message_of(row)] for row in range(records.num_rows)]
            records = add_headers(records, self.headers, rows)
        if records is None or records.num_rows == 0:
            lane.move(cut.messages, cut.row)
            return None
        address = partial(_address, lane, offsets, cut.message_of)
        keys = lane.keys[: decoded.messages]
        places = partial(make_places, lane.partition, offsets, keys, cut.message_of, records.num_rows) if keys else None
        batch = Batch(records, str(lane.partition), address, places)
        return Taken(batch, lane, cut.messages, cut.row)

    def _decode(self, payloads: list[bytes], max_rows: int) -> Decoded:
        decoded = self.decoder.decode(payloads, max_rows)
        if decoded.bad and self.bad_records.policy == "fail" and min(decoded.bad) > 0:
            # The good rows before it are returned first, so that the position stands at the bad one when it is met.
            return self.decoder.decode(payloads[: min(decoded.bad)], max_rows)
        return decoded

    def _report(self, lane: Lane, bad: Mapping[int, str], passed: int) -> None:
        self.bad_records.saw(passed)
        for message, reason in bad.items():
            raw = lane.values[message] or b""
            self.bad_records.handle(DecodeError(lane.address(lane.offsets[message]), reason, raw))


def _select(schema: pa.Schema, columns: Sequence[str] | None) -> pa.Schema:
    if columns is None:
        return schema
    known = set(schema.names)
    if missing := [name for name in columns if name not in known]:
        raise ValueError(f"columns must be among {schema.names}, got {missing}")
    return pa.schema([schema.field(name) for name in columns])


def _until_tombstone(values: list[bytes | None]) -> list[bytes]:
    # To look for None would compare it with every message; nearly always none is even empty.
    if not all(values) and None in values:
        values = values[: values.index(None)]
    return cast("list[bytes]", values)


def _address(lane: Lane, offsets: Sequence[int], message_of: Callable[[int], int], row: int) -> str:
    return lane.address(offsets[message_of(row)])


def add_headers(records: pa.RecordBatch, names: Sequence[str], rows: Sequence[Any]) -> pa.RecordBatch:
    """Append a text column `header.<name>` for each name.

    Kafka allows a header to come more than once: the last one counts. Bytes that are no UTF-8 are replaced.

    Parameters
    ----------
    records
        The rows.
    names
        Names of the headers.
    rows
        For each row the headers of its message: a list of `(name, bytes)`, or None.

    """
    found = [dict(headers or ()) for headers in rows]
    for name in names:
        values = [_text(headers.get(name)) for headers in found]
        records = records.append_column(f"header.{name}", pa.array(values, pa.string()))
    return records


def _text(value: bytes | str | None) -> str | None:
    return value.decode("utf-8", errors="replace") if isinstance(value, bytes) else value


def make_places(
    partition: int,
    offsets: Sequence[int],
    keys: Sequence[bytes | None],
    message_of: Callable[[int], int],
    rows: int,
) -> pa.RecordBatch:
    """Return partition, offset and key of the message that each row came from.

    A key that is no UTF-8 is given as base64: predictions are JSON, which has no bytes.

    Parameters
    ----------
    partition
        The partition.
    offsets, keys
        Of the messages.
    message_of
        Gives the index of the message that a row came from.
    rows
        Number of rows.

    Examples
    --------
    >>> from stream_maxloss_connectors.kafka.batch_maker import make_places
    >>> make_places(3, [1882, 1883], [b"o-7", None], range(2).__getitem__, 2).to_pylist()
    [{'partition': 3, 'offset': 1882, 'key': 'o-7'}, {'partition': 3, 'offset': 1883, 'key': None}]

    """
    messages = [message_of(row) for row in range(rows)]
    columns = {
        "partition": pa.array([partition] * rows, pa.int32()),
        "offset": pa.array([offsets[message] for message in messages], pa.int64()),
        "key": pa.array([as_text(keys[message]) for message in messages], pa.string()),
    }
    return pa.RecordBatch.from_pydict(columns)


def as_text(key: bytes | None) -> str | None:
    """Return a key as text."""
    if key is None:
        return None
    try:
        return key.decode()
    except UnicodeDecodeError:
        return base64.b64encode(key).decode("ascii")
