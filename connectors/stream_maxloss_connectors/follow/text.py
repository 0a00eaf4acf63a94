"""CSV and JSON lines files that grow."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pyarrow as pa

from stream_maxloss.errors import DecodeError, SourceError
from stream_maxloss_connectors.bad_records import BadRecords
from stream_maxloss_connectors.follow.file_identity import OpenedFile
from stream_maxloss_connectors.follow.reader import GrowingReader, Rows
from stream_maxloss_connectors.schemas import require_columns, select
from stream_maxloss_connectors.text.csv_lines import CsvDecoder
from stream_maxloss_connectors.text.lines import LineDecoder, Positions
from stream_maxloss_connectors.text.pending_rows import PendingRows, faults_to_look_for

__all__ = ["GrowingText"]

_BLOCK_BYTES = 1 << 20


class GrowingText(GrowingReader):
    """Reads a text file block by block up to its last line end.

    Only bytes up to a line end reach the parser: a torn line `3,14.159` parses as 14.1 without complaint.

    Parameters
    ----------
    file, name, schema
        As for `GrowingReader`.
    decoder
        How records become rows.
    bad
        Where bad records are reported.
    saved
        Where to go on, as `position` gave it; None for the start of the file.
    known_header
        Names of the columns in the file before this one. A file whose first line does not name them again (a CSV that
        was copied and truncated under its writer) has no header, and is read with this one.
    columns
        The columns to return, when there is no schema yet.

    """

    def __init__(
        self,
        file: OpenedFile,
        name: str,
        schema: pa.Schema | None,
        decoder: LineDecoder,
        bad: BadRecords,
        saved: Mapping[str, Any] | None = None,
        known_header: list[str] | None = None,
        columns: list[str] | None = None,
    ) -> None:
        super().__init__(file, name, schema)
        self.bad = bad
        self.columns = columns
        self.header: list[str] | None = None
        self._known_header = known_header
        self._decoder = decoder
        self._start = 0
        self._offset = 0
        self._line = 1
        self._begun = False
        self._pending: PendingRows | None = None
        self._scanned = 0
        self._dry_at: int | None = None
        if saved is not None and saved["offset"]:
            self._resume(saved)

    def take(self, max_rows: int) -> Rows | None:
        """Return rows; see `GrowingReader.take`."""
        while True:
            if self._pending is None and not self._read_block():
                return None
            pending = self._pending
            if pending is None:
                continue
            rows = pending.take(max_rows)
            self._offset, self._line = pending.byte, pending.line
            if pending.finished:
                self._pending = None
            if rows is not None:
                lines = pending.block.lines[pending.first_row : pending.first_row + rows.num_rows]
                return rows, partial(self._address_in, lines)

    def finish(self) -> None:
        """Report what stands behind the last line end."""
        rest = self.file.size - self.offset
        if rest <= 0:
            return
        raw = self.file.read_at(self.offset, min(rest, self._decoder.max_record_bytes))
        if raw.strip(b"\r\n"):
            reason = "the last line must be finished, got none of its end before the file was replaced"
            self.bad.saw(1)
            self.bad.handle(DecodeError(self._address(self._line), reason, raw))
        self._offset += rest

    @property
    def offset(self) -> int:
        """Byte of the next unread record."""
        return self._offset

    def position(self) -> dict[str, Any]:
        """Return byte and line of the next unread record, and the names of the columns."""
        position = {"offset": self._offset, "line": self._line, "start": self._start, "header": self.header}
        if isinstance(self._decoder, CsvDecoder) and self._decoder.dialect is not None:
            position |= self._decoder.position()
        return position

    def _resume(self, saved: Mapping[str, Any]) -> None:
        self._offset, self._line = saved["offset"], saved["line"]
        self._start, self.header = saved["start"], saved["header"]
        if isinstance(self._decoder, CsvDecoder):
            self._decoder = self._decoder.resumed(saved)
        self._begun = True

    def _read_block(self) -> bool:
        """Decode what has come since; False if that is no whole record, or nothing."""
        size = self.file.size
        if size == self._dry_at:
            # The same unfinished line as before: look only whether the file is still the same.
            self.file.read_at(size, 0)
            return False
        length = _BLOCK_BYTES
        while True:
            block = self.file.read_at(self._offset, length)
            end = self._decoder.last_record_end(block) if block else 0
            if end or len(block) < length:
                break
            if b"\n" not in block and length > self._decoder.max_record_bytes:
                return self._pass_long_line(block)
            length *= 2
        if not end:
            self._dry_at = size
            return False
        self._dry_at = None
        if self._begun:
            self._decode(block[:end])
        else:
            self._begin(block[:end])
        return True

    def _pass_long_line(self, block: bytes) -> bool:
        """Look for the end of a line that is too long to keep, and report it; False if the end is not there yet."""
        place = max(self._scanned, self._offset + len(block))
        while (found := (piece := self.file.read_at(place, _BLOCK_BYTES)).find(b"\n")) < 0:
            place += len(piece)
            self._scanned = place
            if len(piece) < _BLOCK_BYTES:
                self._dry_at = place
                return False
        end = place + found + 1
        most = self._decoder.max_record_bytes
        if not self._begun:
            self._begin_with_long_line(block)
        self.bad.saw(1)
        reason = f"record must be at most {most} bytes, got {end - self._offset}"
        self.bad.handle(DecodeError(self._address(self._line), reason, block[:most]))
        self._offset = end
        self._line += 1
        self._scanned = 0
        return True

    def _begin_with_long_line(self, block: bytes) -> None:
        if isinstance(self._decoder, CsvDecoder) and self._decoder.header is None:
            most = self._decoder.max_record_bytes
            raise SourceError(f"{self.name}: the header must be at most {most} bytes; is this a CSV file?")
        self.file.remember_start(0, block)
        self._begun = True

    def _begin(self, block: bytes) -> None:
        try:
            decoder, start = self._decoder.begin(block)
            if isinstance(decoder, CsvDecoder):
                decoder, start = self._with_known_header(decoder, start, block)
                self.header = decoder.header
        except SourceError as error:
            raise SourceError(f"{self.name}: {error}") from error
        self._decoder = decoder
        self.file.remember_start(start, block)
        self._line += block[:start].count(b"\n")
        self._offset = self._start = start
        self._begun = True

    def _with_known_header(self, decoder: CsvDecoder, start: int, block: bytes) -> tuple[CsvDecoder, int]:
        names = decoder.header or []
        wanted = self.schema.names if self.schema is not None else []
        if self._known_header is not None and set(names) != set(self._known_header) and not set(wanted) <= set(names):
            return decoder.with_header(self._known_header), 3 if block.startswith(b"\xef\xbb\xbf") else 0
        require_columns(wanted, names, "the header")
        return decoder, start

    def _decode(self, block: bytes) -> None:
        if self.schema is None:
            self.schema = select(self._decoder.infer(block), self.columns, self.name)
        if self._offset == self._start:
            # At the time of the header there may have been no first line to know the file by.
            self.file.remember_start(self._start, self.file.read_at(0, self._start) + block)
        decoded = self._decoder.decode(
            block, self.schema, self._line, self._address, stop_after=faults_to_look_for(self.bad)
        )
        self._pending = PendingRows(decoded, self.bad, self._offset, self._line)

    def _address_in(self, lines: Positions, row: int) -> str:
        return self._address(int(lines[row]))

    def _address(self, line: int) -> str:
        return f"{self.name}:{line}"
