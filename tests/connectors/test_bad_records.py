from __future__ import annotations

from pathlib import Path

import pytest

from stream_maxloss.errors import DecodeError, SourceError
from stream_maxloss_connectors import BadRecords, open_source


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full is Linux's")
def test_a_full_disk_is_one_line_and_said_at_once() -> None:
    bad = BadRecords("dlq", "/dev/full")
    with pytest.raises(SourceError, match=r"^/dev/full: dead-letter file must be writable, got No space left"):
        bad.handle(DecodeError("day.csv:2", "no number", b"x"))
    bad.close()


def test_a_directory_that_is_gone_is_one_line(tmp_path: Path) -> None:
    bad = BadRecords("dlq", tmp_path / "gone" / "dead.jsonl")
    with pytest.raises(SourceError, match="dead-letter file must be writable, got No such file or directory"):
        bad.handle(DecodeError("day.csv:2", "no number", b"x"))


@pytest.mark.parametrize("follow", [False, True])
def test_a_csv_of_carriage_returns_alone_is_one_line_with_the_remedy(follow: bool, tmp_path: Path) -> None:
    path = tmp_path / "old.csv"
    path.write_bytes(b"x,y\r1,0\r2,1\r" if not follow else b"x,y\r1,0\r2,1\n")
    with open_source(path, **({"follow": True, "until_eof": True} if follow else {})) as source:
        source.open()
        with pytest.raises(SourceError, match=r"its lines must end in a line feed; .* tr "):
            source.next_batch(10, 1.0)
