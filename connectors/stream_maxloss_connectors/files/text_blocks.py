"""A stream of bytes, cut into blocks of whole text records."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stream_maxloss.errors import SourceError
from stream_maxloss_connectors.files.byte_streams import ByteStream
from stream_maxloss_connectors.text.csv_lines import CsvDecoder
from stream_maxloss_connectors.text.lines import BYTE_ORDER_MARK, LineDecoder

__all__ = ["TextBlock", "TextBlocks"]

_OTHER_CONTENTS = {
    b"\xff\xfe": "UTF-16; convert it to UTF-8: iconv -f UTF-16 -t UTF-8",
    b"\xfe\xff": "UTF-16; convert it to UTF-8: iconv -f UTF-16 -t UTF-8",
    b"\x1f\x8b": "gzip data; let its name end in .gz, or pipe it through zcat",
    b"\x28\xb5": "zstd data; let its name end in .zst, or pipe it through zstdcat",
    b"PK": "a zip archive, or a spreadsheet; unpack it, or save it as CSV",
    b"PA": "Parquet; let its name end in .parquet, or add --format parquet",
}


@dataclass(frozen=True)
class TextBlock:
    """Whole records, or one that is too long to be kept.

    Parameters
    ----------
    offset
        Byte of the stream that the block starts at.
    line
        Line number that it starts in.
    data
        The records; of one that is too long, its beginning.
    dropped
        Length of a record that is too long, else 0.

    """

    offset: int
    line: int
    data: bytes
    dropped: int = 0


class TextBlocks:
    r"""Cuts a stream into blocks of whole records.

    Parameters
    ----------
    name
        What addresses call the stream.
    stream
        Where the bytes come from.
    decoder
        Knows where records end.
    block_bytes
        Bytes to read at once.
    saved
        A saved position to go on from: `byte`, `line`, and `header` for CSV.

    Attributes
    ----------
    decoder
        The decoder that knows the header, once the first block was read.
    offset, line
        Where the next block starts.
    ended
        True once the last block was returned.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from stream_maxloss_connectors.files.byte_streams import open_bytes
    >>> from stream_maxloss_connectors.text.csv_lines import CsvDecoder
    >>> from stream_maxloss_connectors.files.text_blocks import TextBlocks
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = pathlib.Path(file.name).write_bytes(b"amount\n12\n345\n6789\n")
    ...     blocks = TextBlocks("day.csv", open_bytes(file.name, None), CsvDecoder(), 10, None)
    ...     blocks.next_block(timeout=1).data, blocks.next_block(timeout=1).data
    (b'12\n', b'345\n6789\n')

    """

    def __init__(
        self, name: str, stream: ByteStream, decoder: LineDecoder, block_bytes: int, saved: Mapping[str, Any] | None
    ) -> None:
        self.name = name
        self.stream = stream
        self.decoder = decoder
        self.block_bytes = block_bytes
        self.offset = 0
        self.line = 1
        self.ended = False
        self.begun = False
        self._rest = b""
        self._dropped = 0
        self._dropped_start = b""
        if saved is not None and saved["byte"]:
            self._resume(saved)

    def next_block(self, timeout: float) -> TextBlock | None:
        """Return the next block, or None at the end, or if none was complete within `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while not self.ended:
            data = self.stream.read_on(self._rest, self.block_bytes, deadline - time.monotonic())
            if data is None:
                return None
            at_end = len(data) == len(self._rest)
            self._rest = data
            if not self.begun and not self._begin(at_end):
                continue
            block = self._cut(at_end)
            # Only now: a failing read or cut must not look like an end.
            self.ended = at_end
            if block is not None:
                return block
        return None

    @property
    def waiting(self) -> int:
        """Bytes that were read but are in no block yet."""
        return len(self._rest)

    def _resume(self, saved: Mapping[str, Any]) -> None:
        self.stream.skip(saved["byte"], saved.get("head"))
        self.offset = saved["byte"]
        self.line = saved["line"]
        if isinstance(self.decoder, CsvDecoder):
            self.decoder = self.decoder.resumed(saved)
        self.begun = True

    def _begin(self, at_end: bool) -> bool:
        """Pass what stands before the first record; False if more bytes are needed to see it."""
        kind = _OTHER_CONTENTS.get(self._rest[:2])
        if kind is not None:
            raise SourceError(f"{self.name}: file must be text, got {kind}")
        whole = self.decoder.last_record_end(self._rest.removeprefix(BYTE_ORDER_MARK)) > 0
        if not (at_end or whole or len(self._rest) > self.decoder.max_record_bytes):
            return False
        self.begun = True
        if not self._rest:
            return True
        try:
            self.decoder, start = self.decoder.begin(self._rest)
        except SourceError as error:
            raise SourceError(f"{self.name}:1: {error}") from error
        self._advance(start)
        return True

    def _cut(self, at_end: bool) -> TextBlock | None:
        if self._dropped:
            return self._drop(at_end)
        end = len(self._rest) if at_end else self.decoder.last_record_end(self._rest)
        if not end:
            if len(self._rest) > self.decoder.max_record_bytes:
                self._dropped_start = self._rest[: self.decoder.max_record_bytes]
                self._drop(at_end)
            return None
        line, offset, data = self.line, self.offset, self._rest[:end]
        self._advance(end)
        return TextBlock(offset, line, data)

    def _drop(self, at_end: bool) -> TextBlock | None:
        """Forget bytes of a record that is too long, and return it when its end is reached."""
        end = self._rest.find(b"\n") + 1
        self._dropped += end or len(self._rest)
        self._rest = self._rest[end:] if end else b""
        if not end and not at_end:
            return None
        block = TextBlock(self.offset, self.line, self._dropped_start, self._dropped)
        self.offset += self._dropped
        self.line += 1
        self._dropped = 0
        return block

    def _advance(self, end: int) -> None:
        self.line += int(np.count_nonzero(np.frombuffer(self._rest, np.uint8, end) == ord("\n"))) if end else 0
        self.offset += end
        self._rest = self._rest[end:]
