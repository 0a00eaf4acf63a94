"""Where CSV records end: line ends inside quoted values do not count."""

from __future__ import annotations

import re

import numpy as np

from stream_maxloss_connectors.text.lines import Frames, Positions, mark_damage, owners, positions, too_long_reason

__all__ = ["CsvFraming"]

_NEWLINE, _RETURN = 10, 13


class CsvFraming:
    r"""Finds the records of a block of CSV.

    A quote opens a quoted value only where a value starts; inside, a doubled quote stands for one. If every quote
    that comes in an odd place (the first, the third, ...) stands at the start of a value or right behind another
    quote, then exactly the line ends behind an odd number of quotes are quoted, which numpy counts at once. Otherwise
    some quotes are plain characters, and a regular expression goes through the records one by one.

    Parameters
    ----------
    delimiter, quote
        As for `CsvDecoder`.
    max_record_bytes
        A record that is longer is broken, and so is one whose quote is still open at the end of the text: its first
        line is set apart, and the next record starts behind that line.

    Examples
    --------
    >>> from stream_maxloss_connectors.text.csv_framing import CsvFraming
    >>> frames = CsvFraming(",", '"', 1000).frame(b'1,"a\nb"\n2,5" pipe\n3,"to', whole=False)
    >>> frames.ends.tolist(), frames.lines.tolist(), frames.length
    ([8, 18], [0, 2], 18)

    """

    def __init__(self, delimiter: str, quote: str | None, max_record_bytes: int) -> None:
        self.delimiter = delimiter
        self.quote = quote
        self.max_record_bytes = max_record_bytes
        self._record, self._unfinished = _patterns(delimiter, quote or '"')

    def frame(self, block: bytes, whole: bool) -> Frames:
        """Find the records; see `LineDecoder.frame`."""
        starts, ends, broken, length = self._split(block, whole)
        lines, behind, newlines = self._lines(block, starts, ends, length)
        short = np.flatnonzero(ends - starts <= 2).tolist()
        blank = [index for index in short if not block[starts[index] : ends[index]].strip(b"\r\n")]
        if blank:
            kept = np.delete(np.arange(len(starts)), blank)
            starts, ends, lines, behind = starts[kept], ends[kept], lines[kept], behind[kept]
            broken = {int(np.searchsorted(kept, index)): reason for index, reason in broken.items()}
        mark_damage(block, starts, ends, length, broken)
        alone = self._with_bare_returns(block, starts, length) - broken.keys()
        return Frames(starts, ends, lines, behind, broken, frozenset(alone), length, newlines)

    def _lines(self, block: bytes, starts: Positions, ends: Positions, length: int) -> tuple[Positions, Positions, int]:
        behind = np.arange(1, len(ends) + 1)
        if not self._quotes(block, 0):
            return behind - 1, behind, len(ends) - (length > 0 and not block.endswith(b"\n", 0, length))
        newlines = positions(block, _NEWLINE, 0, length)
        return np.searchsorted(newlines, starts), np.searchsorted(newlines, ends), len(newlines)

    def _quotes(self, block: bytes, place: int) -> bool:
        return self.quote is not None and block.find(self.quote.encode(), place) >= 0

    def ends(self, block: bytes, place: int) -> tuple[Positions, bool]:
        """Return where the records from `place` on end, and whether the block ends inside quotes."""
        newlines = positions(block, _NEWLINE, place, len(block))
        if self.quote is None or not self._quotes(block, place):
            return newlines + 1, False
        quotes = positions(block, ord(self.quote), place, len(block))
        opening = quotes[0::2]
        before = np.frombuffer(block, np.uint8)[opening - 1]
        regular = (before == ord(self.delimiter)) | (before == _NEWLINE) | (before == ord(self.quote))
        regular[0] |= opening[0] == place
        if not regular.all():
            return self._ends_one_by_one(block, place)
        quoted = np.searchsorted(quotes, newlines) % 2 == 1
        return newlines[~quoted] + 1, len(quotes) % 2 == 1

    def _ends_one_by_one(self, block: bytes, place: int) -> tuple[Positions, bool]:
        ends = []
        while match := self._record.match(block, place):
            place = match.end()
            ends.append(place)
        return np.array(ends, np.int64), self._unfinished.match(block, place) is None

    def _split(self, block: bytes, whole: bool) -> tuple[Positions, Positions, dict[int, str], int]:
        pieces: list[Positions] = []
        broken: dict[int, str] = {}
        place = 0
        while True:
            found, quoted = self.ends(block, place)
            long = np.flatnonzero(np.diff(found, prepend=place) > self.max_record_bytes)
            if len(long):
                found = found[: long[0]]
            pieces.append(found)
            place = int(found[-1]) if len(found) else place
            stop, reason = self._irregular_end(block, place, whole, bool(len(long)), quoted)
            if stop == place:
                break
            if reason:
                broken[sum(map(len, pieces))] = reason
            pieces.append(np.array([stop], np.int64))
            place = stop
        ends = np.concatenate(pieces)
        return np.concatenate(([0], ends[:-1])) if len(ends) else ends, ends, broken, place

    def _irregular_end(self, block: bytes, place: int, whole: bool, too_long: bool, quoted: bool) -> tuple[int, str]:
        """Return where to cut a record that does not end as it should, and what is wrong; `place` if it may yet end."""
        rest = len(block) - place
        line_end = block.find(b"\n", place) + 1 or (len(block) if whole else place)
        if rest and (too_long or rest > self.max_record_bytes):
            return line_end, too_long_reason(self.max_record_bytes)
        if not (rest and whole):
            return place, ""
        return (line_end, "a quote is opened and never closed") if quoted else (len(block), "")

    def _with_bare_returns(self, block: bytes, starts: Positions, length: int) -> frozenset[int]:
        # A carriage return by itself ends a line for pyarrow, but not for us: such a record may make two rows.
        if b"\r" not in block:
            return frozenset()
        returns = positions(block, _RETURN, 0, length)
        returns = returns[returns + 1 < length]
        bare = returns[np.frombuffer(block, np.uint8)[returns + 1] != _NEWLINE]
        return frozenset(np.unique(owners(starts, bare)).tolist())


def _patterns(delimiter: str, quote: str) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Return patterns of a whole record, and of the unfinished last one that is not inside quotes."""
    d, q = re.escape(delimiter), re.escape(quote)
    value = rf"(?:{q}(?:[^{q}]++|{q}{q})*+{q}[^{d}\n]*+|[^{d}{q}\n][^{d}\n]*+|)"
    record = rf"{value}(?:{d}{value})*+"
    return re.compile(rf"{record}\n".encode()), re.compile(rf"{record}\Z".encode())
