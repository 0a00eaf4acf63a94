"""Rows that were decoded but not yet handed out."""

from __future__ import annotations

import pyarrow as pa

from stream_maxloss_connectors.bad_records import BadRecords
from stream_maxloss_connectors.text.lines import DecodedBlock

__all__ = ["PendingRows", "faults_to_look_for"]


def faults_to_look_for(bad: BadRecords) -> int | None:
    """Return after how many faults of a block reading stops for certain, or None if it never does."""
    if bad.policy == "fail":
        return 1
    if bad.limit is None or (isinstance(bad.limit, float) and bad.limit < 1):
        return None
    return max(int(bad.limit) - bad.count, 0) + 1


class PendingRows:
    r"""Hands out the rows of a decoded block, and reports each fault when it is passed.

    Rows before a fault that stops the reading are handed out first; the next call raises.

    Parameters
    ----------
    block
        What to hand out.
    bad
        Where faults are reported.
    offset
        Byte of the whole text that the block starts at.
    line
        Line number that the block starts in.

    Attributes
    ----------
    byte, line
        The next record that is neither handed out nor reported.
    first_row
        Row of the block that the last handed out batch starts with.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss_connectors.bad_records import BadRecords
    >>> from stream_maxloss_connectors.text.csv_lines import CsvDecoder
    >>> from stream_maxloss_connectors.text.pending_rows import PendingRows
    >>> schema = pa.schema([("amount", pa.float64())])
    >>> block = CsvDecoder(header=["amount"]).decode(b"3\nx\n5\n", schema, 2, "day.csv:{}".format)
    >>> bad = BadRecords("skip")
    >>> rows = PendingRows(block, bad, offset=7, line=2)
    >>> rows.take(1)["amount"].to_pylist(), rows.byte, bad.count
    ([3.0], 9, 0)
    >>> rows.take(1)["amount"].to_pylist(), rows.byte, bad.count
    ([5.0], 13, 1)

    """

    def __init__(self, block: DecodedBlock, bad: BadRecords, offset: int, line: int) -> None:
        self.block = block
        self.bad = bad
        self.offset = offset
        self.byte = offset
        self.line = line
        self.first_row = 0
        self._row = 0
        self._fault = 0
        self._failure: Exception | None = None

    @property
    def finished(self) -> bool:
        """True once every row is handed out and every fault reported."""
        return self.byte == self.offset + self.block.length

    def take(self, max_rows: int) -> pa.RecordBatch | None:
        """Return up to `max_rows` rows, or None if the block holds no more.

        Raises
        ------
        DecodeError, TooManyBadRecordsError
            If the fault that comes next is not to be passed.

        """
        if self._failure is not None:
            raise self._failure
        start = self._row
        stop = self._pass_faults(start, min(start + max_rows, self.block.records.num_rows))
        if stop > start:
            self._row = stop
            self.bad.saw(stop - start)
            self._move(int(self.block.ends[stop - 1]), int(self.block.lines_behind[stop - 1]))
        if self._row == self.block.records.num_rows and self._fault == len(self.block.faults):
            self._move(self.block.length, self.block.next_line)
        self.first_row = start
        return self.block.records.slice(start, stop - start) if stop > start else None

    def _pass_faults(self, start: int, stop: int) -> int:
        """Report the faults before row `stop`, and give the row to stop at if one of them ends the reading."""
        while self._fault < len(self.block.faults):
            fault = self.block.faults[self._fault]
            if fault.row > stop or (fault.row == stop and start < stop):
                break
            try:
                self.bad.saw(1)
                self.bad.handle(fault.error)
            except Exception as error:
                self._failure = error
                if fault.row == start:
                    raise
                return fault.row
            self._fault += 1
            if fault.row == start:
                self._move(fault.end, fault.line)
        return stop

    def _move(self, end: int, line: int) -> None:
        self.byte = self.offset + end
        self.line = line
