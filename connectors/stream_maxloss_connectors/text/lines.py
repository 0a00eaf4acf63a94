"""Text records to rows: what the decoders of CSV, JSON lines and svmlight share.

A decoder knows nothing of files and keeps no state between blocks. It says where records end, and turns a block of
whole records into rows and *faults*. A fault is a malformed record; it is kept beside the rows, in its place, and
reported only when the reader passes it. Reporting at once would be wrong twice over: a reader that is cut before the
fault and reopened there would meet and count it again, and under the policy `"fail"` good rows before it would be lost.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stream_maxloss.errors import DecodeError
from stream_maxloss_connectors.bad_records import BadRecords
from stream_maxloss_connectors.schemas import empty_batch

__all__ = [
    "DecodedBlock",
    "Fault",
    "Frames",
    "LineDecoder",
    "Positions",
    "mark_damage",
    "owners",
    "positions",
    "shorten",
    "too_long_reason",
]

Positions = npt.NDArray[np.int64]

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

MAX_RECORD_BYTES = 1 << 20
"""A longer record is bad: it comes of a quote that is never closed, or of a file that holds no lines at all."""


@dataclass(frozen=True)
class Frames:
    """Where the records of a block lie. Blank lines are in none of them.

    Parameters
    ----------
    starts, ends
        Bytes of each record in the block, its line end included.
    lines, lines_behind
        Line of the block, from 0, that each record starts in, and the one just behind it.
    broken
        Record -> why it is malformed, for those that must not reach the parser.
    alone
        Records that must be parsed by themselves, since they might make more or fewer rows than one.
    length
        Bytes of the block that are whole records or blank lines.
    newlines
        Line ends among those bytes.

    """

    starts: Positions
    ends: Positions
    lines: Positions
    lines_behind: Positions
    broken: dict[int, str]
    alone: frozenset[int]
    length: int
    newlines: int


def positions(block: bytes, byte: int, start: int, stop: int) -> Positions:
    """Return where a byte occurs in part of a block."""
    return np.flatnonzero(np.frombuffer(block, np.uint8, stop - start, start) == byte) + start


def mark_damage(block: bytes, starts: Positions, ends: Positions, length: int, broken: dict[int, str]) -> None:
    """Add the records that hold a NUL byte, or start with a byte order mark, to the broken ones."""
    if b"\0" in block:
        places = positions(block, 0, 0, length)
        # Behind the end of a record there may be a comment, which is none of it.
        inside = places < ends[np.searchsorted(starts, places, side="right") - 1] if len(ends) else places < 0
        for index in np.unique(owners(starts, places[inside])).tolist():
            broken.setdefault(index, "record must be text, got a NUL byte")
    # pyarrow drops the mark at the start of whatever it is given, that is: wherever a block happens to be cut.
    # The search for one byte is many times faster than that for three.
    place = block.find(BYTE_ORDER_MARK, 0, length) if BYTE_ORDER_MARK[:1] in block else -1
    while place >= 0:
        index = int(np.searchsorted(starts, place))
        if index < len(starts) and starts[index] == place:
            broken.setdefault(index, "record must not start with a byte order mark; were two files joined?")
        place = block.find(BYTE_ORDER_MARK, place + 1, length)


def owners(starts: Positions, places: Positions) -> Positions:
    """Return which record each place lies in, leaving out places before the first."""
    found = np.searchsorted(starts, places, side="right") - 1
    return found[found >= 0]


def too_long_reason(most: int) -> str:
    """Return what is wrong with a record of more than `most` bytes."""
    return f"record must be at most {most} bytes; is a quote left open? if not, raise max_record_bytes"


def shorten(record: bytes) -> str:
    """Return a record as text that fits into a message."""
    text = record.strip().decode(errors="replace")
    return repr(text if len(text) <= 80 else text[:77] + "...")


Address = Callable[[int], str]


@dataclass(frozen=True)
class Fault:
    """A malformed record.

    Parameters
    ----------
    row
        Number of good rows of the block before it.
    end
        Byte of the block just behind it.
    line
        Line number just behind it.
    error
        What is wrong, where.

    """

    row: int
    end: int
    line: int
    error: DecodeError


@dataclass(frozen=True)
class DecodedBlock:
    """The rows and faults of a block.

    Parameters
    ----------
    records
        The good rows.
    ends
        For each row, byte of the block just behind its record.
    lines, lines_behind
        For each row, the line number that its record starts in, and the one just behind it.
    faults
        Bad records in order.
    length
        Bytes of the block.
    next_line
        Line number of what follows the block.

    """

    records: pa.RecordBatch
    ends: Positions
    lines: Positions
    lines_behind: Positions
    faults: tuple[Fault, ...]
    length: int
    next_line: int


class LineDecoder(ABC):
    """Turns blocks of text records into rows.

    One bad value costs its row, not its block: the whole block is tried first, and only if that fails, or makes a
    number of rows that is not the number of records, is it halved until the culprits stand alone.
    """

    max_record_bytes: int = MAX_RECORD_BYTES

    def begin(self, block: bytes) -> tuple[LineDecoder, int]:
        """Read what stands before the first record of a file.

        Returns
        -------
        tuple
            A decoder that knows it (a CSV's header), and how many bytes it takes.

        """
        return self, len(BYTE_ORDER_MARK) if block.startswith(BYTE_ORDER_MARK) else 0

    @abstractmethod
    def infer(self, block: bytes) -> pa.Schema:
        """Return the types of the columns as the records of `block` show them, numbers as float64.

        A column of whole numbers is float64 too, so that a later 1.5 is no error; one without any value is float64.
        """

    @abstractmethod
    def frame(self, block: bytes, whole: bool) -> Frames:
        """Find the records of a block.

        Parameters
        ----------
        block
            Bytes that start at the start of a record.
        whole
            True if nothing follows: then a last line without its end is a record.

        """

    @abstractmethod
    def parse(self, piece: bytes, schema: pa.Schema) -> pa.RecordBatch:
        """Parse whole records, or raise `pa.ArrowInvalid` or `UnicodeError` if any of them is bad."""

    @abstractmethod
    def reason(self, record: bytes, schema: pa.Schema, error: Exception | None) -> str:
        """Describe what is wrong with one record, with the value; `error` is None if it made another number of rows."""

    def last_record_end(self, block: bytes) -> int:
        """Return how many bytes of `block`, which more may follow, are whole records."""
        return self.frame(block, whole=False).length

    def decode(
        self,
        block: bytes,
        schema: pa.Schema,
        first_line: int,
        address: Address,
        bad: BadRecords | None = None,
        stop_after: int | None = None,
    ) -> DecodedBlock:
        """Turn a block of whole records into rows.

        Parameters
        ----------
        block
            Whole records, as measured by `last_record_end`; the last may lack its line end.
        schema
            Names and types of the columns to return.
        first_line
            Line number of the first record.
        address
            Turns a line number into an address.
        bad
            If given, faults are reported to it at once instead of being left to the caller in `faults`.
        stop_after
            Look no further once so many faults were found. For a reader that will stop there anyway: finding
            every fault of a file in the wrong format is slow.

        """
        frames = self.frame(block, whole=True)
        rows = len(frames.starts)
        batch = None
        if rows and not frames.broken and not frames.alone:
            batch, _ = self.attempt(block, schema, rows)
        kept: Any = slice(None)
        faults: tuple[Fault, ...] = ()
        if batch is None:
            isolation = _Isolation(self, block, frames, schema, stop_after)
            isolation.run()
            batch, kept = isolation.records(), isolation.kept()
            faults = isolation.faults(first_line, address)
        if bad is not None:
            bad.saw(rows)
            for fault in faults:
                bad.handle(fault.error)
        return DecodedBlock(
            records=batch,
            ends=frames.ends[kept],
            lines=frames.lines[kept] + first_line,
            lines_behind=frames.lines_behind[kept] + first_line,
            faults=faults,
            length=len(block),
            next_line=first_line + frames.newlines,
        )

    def attempt(self, piece: bytes, schema: pa.Schema, rows: int) -> tuple[pa.RecordBatch | None, Exception | None]:
        """Parse records that should make `rows` rows; give None if they do not, with the error if there was one."""
        try:
            batch = self.parse(piece, schema)
        except (pa.ArrowInvalid, UnicodeError) as error:
            return None, error
        return (batch, None) if batch.num_rows == rows else (None, None)


class _Isolation:
    """Finds the bad records of a block by halving what cannot be parsed."""

    def __init__(
        self, decoder: LineDecoder, block: bytes, frames: Frames, schema: pa.Schema, stop_after: int | None
    ) -> None:
        self.decoder = decoder
        self.block = block
        self.frames = frames
        self.schema = schema
        self.stop_after = stop_after
        self.good: list[tuple[int, int, pa.RecordBatch]] = []
        self.reasons: dict[int, str] = {}

    def run(self) -> None:
        """Parse the runs of records between those that framing already set apart."""
        start = 0
        for index in sorted(self.frames.broken.keys() | self.frames.alone):
            self._halve(start, index)
            if self._enough():
                return
            if index in self.frames.broken:
                self.reasons[index] = self.frames.broken[index]
            else:
                self._halve(index, index + 1)
            start = index + 1
        self._halve(start, len(self.frames.starts))

    def records(self) -> pa.RecordBatch:
        """Return the good rows."""
        batches = [batch for _, _, batch in self.good]
        if len(batches) == 1:
            return batches[0]
        table = pa.Table.from_batches(batches, self.schema).combine_chunks()
        return table.to_batches()[0] if table.num_rows else empty_batch(self.schema)

    def kept(self) -> Positions:
        """Return which records became rows."""
        ranges = [np.arange(start, stop, dtype=np.int64) for start, stop, _ in self.good]
        return np.concatenate(ranges) if ranges else np.empty(0, np.int64)

    def faults(self, first_line: int, address: Address) -> tuple[Fault, ...]:
        """Return the bad records, each with its address."""
        kept = self.kept()
        return tuple(self._fault(index, kept, first_line, address) for index in sorted(self.reasons))

    def _fault(self, index: int, kept: Positions, first_line: int, address: Address) -> Fault:
        raw = self._bytes(index, index + 1)
        line = first_line + int(self.frames.lines[index])
        error = DecodeError(address(line), self.reasons[index], raw)
        row = int(np.searchsorted(kept, index))
        return Fault(row, int(self.frames.ends[index]), line + raw.count(b"\n"), error)

    def _enough(self) -> bool:
        return self.stop_after is not None and len(self.reasons) >= self.stop_after

    def _bytes(self, start: int, stop: int) -> bytes:
        return self.block[self.frames.starts[start] : self.frames.ends[stop - 1]]

    def _halve(self, start: int, stop: int) -> None:
        if start == stop or self._enough():
            return
        piece = self._bytes(start, stop)
        batch, error = self.decoder.attempt(piece, self.schema, stop - start)
        if batch is not None:
            self.good.append((start, stop, batch))
        elif stop - start == 1:
            self.reasons[start] = self.decoder.reason(piece, self.schema, error)
        else:
            middle = (start + stop) // 2
            self._halve(start, middle)
            self._halve(middle, stop)
