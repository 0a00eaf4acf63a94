from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from stream_maxloss_connectors.files.byte_streams import open_bytes
from stream_maxloss_connectors.files.text_blocks import TextBlocks
from stream_maxloss_connectors.text.csv_lines import CsvDecoder


@pytest.fixture
def pipe() -> Iterator[tuple[TextBlocks, int]]:
    source, sink = os.pipe()
    yield TextBlocks("-", open_bytes("-", None, source), CsvDecoder(max_record_bytes=50), 1 << 20, None), sink
    os.close(source)


def test_records_of_a_pipe_come_as_soon_as_they_are_whole(pipe: tuple[TextBlocks, int]) -> None:
    blocks, sink = pipe
    assert blocks.next_block(0.01) is None
    os.write(sink, b'\xef\xbb\xbf"a\n')
    assert blocks.next_block(0.01) is None
    os.write(sink, b'b",c\n1,')
    assert blocks.next_block(0.01) is None
    assert isinstance(blocks.decoder, CsvDecoder)
    assert blocks.decoder.header == ["a\nb", "c"]
    os.write(sink, b"2\n3,")
    block = blocks.next_block(5.0)
    assert block is not None
    assert (block.offset, block.line, block.data) == (11, 3, b"1,2\n")
    assert not blocks.ended
    os.close(sink)
    last = blocks.next_block(5.0)
    assert last is not None
    assert (last.offset, last.line, last.data, blocks.ended) == (15, 4, b"3,", True)
    assert blocks.next_block(5.0) is None


def test_a_record_without_an_end_is_dropped_piece_by_piece(pipe: tuple[TextBlocks, int]) -> None:
    blocks, sink = pipe
    os.write(sink, b"a,b\n")
    for _ in range(5):
        os.write(sink, b"x" * 40)
        assert blocks.next_block(0.01) is None
        assert blocks.waiting <= 50
    os.write(sink, b"\n1,2\n")
    os.close(sink)
    dropped = blocks.next_block(5.0)
    assert dropped is not None
    assert (dropped.offset, dropped.line, dropped.dropped, len(dropped.data)) == (4, 2, 201, 50)
    following = blocks.next_block(5.0)
    assert following is not None
    assert (following.offset, following.line, following.data) == (205, 3, b"1,2\n")
