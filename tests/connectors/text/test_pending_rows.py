from __future__ import annotations

import pyarrow as pa
import pytest

from stream_maxloss.errors import DecodeError, TooManyBadRecordsError
from stream_maxloss_connectors.bad_records import BadRecords
from stream_maxloss_connectors.text.csv_lines import CsvDecoder
from stream_maxloss_connectors.text.pending_rows import PendingRows, faults_to_look_for

SCHEMA = pa.schema([("n", pa.float64())])
TEXT = b"1\nx\n2\n3\ny\nz\n4\nw\n\n"


def pending(bad: BadRecords) -> PendingRows:
    block = CsvDecoder(header=["n"]).decode(TEXT, SCHEMA, 5, "day.csv:{}".format)
    return PendingRows(block, bad, 100, 5)


def test_a_fault_is_reported_when_it_is_passed_and_not_before() -> None:
    bad = BadRecords("skip")
    rows = pending(bad)
    seen = []
    while not rows.finished:
        batch = rows.take(1)
        seen.append((None if batch is None else batch["n"].to_pylist(), bad.count, bad.seen, rows.byte, rows.line))
    assert seen == [
        ([1.0], 0, 1, 102, 6),
        ([2.0], 1, 3, 106, 8),
        ([3.0], 1, 4, 108, 9),
        ([4.0], 3, 7, 114, 12),
        (None, 4, 8, 117, 14),
    ]


def test_faults_do_not_cut_batches() -> None:
    rows = pending(BadRecords("skip"))
    batch = rows.take(100)
    assert batch is not None
    assert batch["n"].to_pylist() == [1.0, 2.0, 3.0, 4.0]
    assert rows.block.lines[rows.first_row + 3] == 11


def test_rows_before_the_fault_that_ends_the_reading_come_first() -> None:
    bad = BadRecords("skip", limit=1)
    rows = pending(bad)
    batch = rows.take(100)
    assert batch is not None
    assert batch["n"].to_pylist() == [1.0, 2.0, 3.0]
    for _ in range(2):
        with pytest.raises(TooManyBadRecordsError, match=r"day.csv:9: "):
            rows.take(100)
    assert bad.count == 2
    assert rows.byte == 108


@pytest.mark.parametrize(
    ("bad", "most"),
    [
        (BadRecords(), 1),
        (BadRecords("skip"), None),
        (BadRecords("skip", limit=0.5), None),
        (BadRecords("skip", limit=0), 1),
        (BadRecords("skip", limit=7), 8),
    ],
)
def test_faults_are_looked_for_only_as_long_as_reading_can_continue(bad: BadRecords, most: int | None) -> None:
    assert faults_to_look_for(bad) == most


def test_the_count_so_far_lowers_how_many_faults_are_looked_for() -> None:
    bad = BadRecords("skip", limit=3)
    bad.handle(DecodeError("day.csv:1", "bad"))
    assert faults_to_look_for(bad) == 3
