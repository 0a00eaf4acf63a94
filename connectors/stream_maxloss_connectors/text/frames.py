"""Where the records of a block of text lie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = [
    "BYTE_ORDER_MARK",
    "MAX_RECORD_BYTES",
    "Frames",
    "Positions",
    "mark_damage",
    "owners",
    "positions",
    "shorten",
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
