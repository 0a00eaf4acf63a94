from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stream_maxloss.errors import DecodeError, GapError, SourceError, TooManyBadRecordsError
from stream_maxloss_connectors.bad_records import BadRecords
from stream_maxloss_connectors.base import Position, Source
from stream_maxloss_connectors.open import open_source

MIXED = b"".join(b'%d,"a\nb%d",%s\n' % (i, i, b"true" if i % 3 else b"false") for i in range(40))
FILES = {
    "day.csv": b"\xef\xbb\xbfn,text,flag\r\n" + MIXED.replace(b"\n", b"\r\n") + b'40,"last",true',
    "day.tsv": b"n\ttext\n" + b"".join(b"%d\tx%d\n\n" % (i, i) for i in range(30)),
    "day.jsonl": b"".join(b'{"n": %d, "text": "t%d"}\n \n' % (i, i) for i in range(30)) + b'{"n": 0.5}',
    "day.ndjson": b'\xef\xbb\xbf{"n": 1}\r\n{"n": null, "m": [1, 2]}\r\n',
    "day.svm": b"# comment\n" + b"".join(b"%d 1:0.5  %d:2 # c\n" % (i % 2, i + 2) for i in range(30)) + b"1",
}


def drain(source: Source, max_rows: int = 7, position: Position | None = None) -> tuple[list[dict[str, Any]], Position]:
    with source:
        source.open(None if position is None else json.loads(json.dumps(position)))
        rows: list[dict[str, Any]] = []
        while not source.exhausted:
            batch = source.next_batch(max_rows, 1.0)
            rows += [] if batch is None else batch.records.to_pylist()
        return rows, source.position()


def compressed(text: bytes, compression: str) -> bytes:
    if compression == "gz":
        return gzip.compress(text)
    return pa.Codec("zstd").compress(text, asbytes=True)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("compression", ["", "gz", "zst"])
@pytest.mark.parametrize("block_bytes", [16, 100, 1 << 20])
def test_a_reader_reopened_at_any_row_continues_with_the_next(
    tmp_path: Path, name: str, compression: str, block_bytes: int
) -> None:
    path = tmp_path / (f"{name}.{compression}" if compression else name)
    path.write_bytes(compressed(FILES[name], compression) if compression else FILES[name])

    def make() -> Source:
        # Types come of the first block, which here may hold half a record: so they are given.
        return open_source(path, block_bytes=block_bytes, schema=schema)

    schema = None
    with open_source(path) as source:
        source.open()
        batch = source.next_batch(1000, 1.0)
        assert batch is not None
        schema = batch.records.schema
    straight, _ = drain(make(), 1000)
    assert len(straight) >= 2
    for cut in range(0, len(straight) + 1, 3):
        with make() as source:
            source.open()
            rows: list[dict[str, Any]] = []
            while len(rows) < cut:
                batch = source.next_batch(min(cut - len(rows), 5), 1.0)
                assert batch is not None
                rows += batch.records.to_pylist()
            position = source.position()
        rest, _ = drain(make(), 4, position)
        assert rows + rest == straight


CSV_TEXT = st.lists(
    st.sampled_from(
        ["1,a\n", '2,"b\nc"\n', "x,d\n", "\n", "3\n", '4,"e""f"\r\n', '5,"g\n', "6,h", "7,\0\n", '8,i"j\n']
    ),
    max_size=8,
).map("".join)
JSON_TEXT = st.lists(
    st.sampled_from(
        ['{"n":1}\n', '{"n":2,"text":"b"}\r\n', '{"n":"x"}\n', "\n", "{}{}\n", "null\n", "[1]\n", '{"n":', "{}\n"]
    ),
    max_size=8,
).map("".join)
SCHEMA = pa.schema([("n", pa.float64()), ("text", pa.string())])


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.tuples(st.just("csv"), CSV_TEXT), st.tuples(st.just("jsonl"), JSON_TEXT)), st.integers(1, 20))
def test_rows_faults_and_counts_do_not_depend_on_blocks_and_cuts(
    tmp_path: Path, text: tuple[str, str], block_bytes: int
) -> None:
    path = tmp_path / f"small.{text[0]}"
    path.write_bytes((b"n,text\n" if text[0] == "csv" else b"\n") + text[1].encode())

    def run(block_bytes: int, cut: int | None) -> tuple[list[dict[str, Any]], list[str]]:
        letters = tmp_path / "letters.jsonl"
        letters.unlink(missing_ok=True)
        bad = BadRecords("dlq", letters)
        rows: list[dict[str, Any]] = []
        source = open_source(path, schema=SCHEMA, bad_records=bad, block_bytes=block_bytes)
        source.open()
        for _ in range(cut or 0):
            batch = source.next_batch(1, 1.0)
            rows += [] if batch is None else batch.records.to_pylist()
        position, state = source.position(), bad.flush()
        # A batch too many, as a killed reader would have read it.
        source.next_batch(3, 1.0)
        source.close()
        again = BadRecords("dlq", letters)
        again.restore(state)
        more, _ = drain(open_source(path, schema=SCHEMA, bad_records=again, block_bytes=block_bytes), 3, position)
        again.close()
        lines = letters.read_text().splitlines() if letters.exists() else []
        assert again.count == len(lines)
        assert again.seen == len(lines) + len(rows + more)
        return rows + more, lines

    straight = run(1 << 20, None)
    for cut in (0, 1, 2, 5):
        assert run(block_bytes, cut) == straight
        assert run(1 << 20, cut) == straight


@pytest.mark.parametrize("name", ["torn.csv", "torn.jsonl"])
def test_a_file_torn_at_any_byte_gives_the_whole_rows_before(tmp_path: Path, name: str) -> None:
    text = FILES["day.csv" if name.endswith("csv") else "day.jsonl"][:160]
    path = tmp_path / name
    path.write_bytes(FILES["day.csv" if name.endswith("csv") else "day.jsonl"])
    whole, _ = drain(open_source(path, bad_records=BadRecords("skip")))
    for cut in range(30, len(text)):
        path.write_bytes(text[:cut])
        rows, _ = drain(open_source(path, bad_records=BadRecords("skip")))
        # The torn line is a record of a bounded file, and what it holds cannot be told from what was meant.
        assert [row["n"] for row in rows[:-1]] == [row["n"] for row in whole[: len(rows) - 1]]


def test_good_rows_before_a_bad_one_come_first_and_then_the_error(tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_bytes(b"n,text\n1,a\n2,b\nx,c\n4,d\n")
    with open_source(path, schema=SCHEMA) as source:
        source.open()
        batch = source.next_batch(10, 1.0)
        assert batch is not None
        assert batch.records["n"].to_pylist() == [1.0, 2.0]
        position = source.position()
        for _ in range(2):
            with pytest.raises(DecodeError, match=r"day.csv:4: column 'n' must be a number, got 'x'"):
                source.next_batch(10, 1.0)
        assert source.position() == position
    bad = BadRecords("skip")
    rows, _ = drain(open_source(path, schema=SCHEMA, bad_records=bad), position=position)
    assert [row["n"] for row in rows] == [4.0]
    assert bad.count == 1


def test_the_limit_of_bad_records_stops_at_the_record_that_passes_it(tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_bytes(b"n,text\n" + b"x,a\n1,b\n" * 50)
    with open_source(path, schema=SCHEMA, bad_records=BadRecords("skip", limit=3)) as source:
        source.open()
        batch = source.next_batch(100, 1.0)
        assert batch is not None
        assert batch.num_rows == 3
        with pytest.raises(TooManyBadRecordsError, match=r"day.csv:8: .*4 bad records, more than the limit of 3"):
            source.next_batch(100, 1.0)


def test_the_address_of_a_row_is_its_line(tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_bytes(b'n,text\n1,a\n\n2,"b\nc"\n3,d\n')
    with open_source(path) as source:
        source.open()
        first, rest = source.next_batch(1, 1.0), source.next_batch(9, 1.0)
    assert first is not None
    assert rest is not None
    assert (first.address(0), rest.address(0), rest.address(1)) == (f"{path}:2", f"{path}:4", f"{path}:6")


def test_types_are_inferred_once_and_saved_with_the_position(tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_bytes(b"n,text\n1,0\n2,a\n3,7\n")
    with open_source(path) as source:
        source.open()
        source.next_batch(2, 1.0)
        position = source.position()
    path.write_bytes(path.read_bytes() + b"1.5,8\n")
    rows, _ = drain(open_source(path), position=position)
    assert rows == [{"n": 3.0, "text": "7"}, {"n": 1.5, "text": "8"}]


def test_records_appended_after_the_end_are_read_by_a_reopened_reader(tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_bytes(b"n,text\n1,a\n")
    _, position = drain(open_source(path))
    assert drain(open_source(path), position=position)[0] == []
    path.write_bytes(path.read_bytes() + b"2,b\n")
    assert drain(open_source(path), position=position)[0] == [{"n": 2.0, "text": "b"}]


@pytest.mark.parametrize("text", [b"n,text\n2,a\n2,b\n", b"n,text\n1,a\n"], ids=["replaced", "shortened"])
def test_a_file_that_changed_under_the_position_is_refused(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "day.csv"
    path.write_bytes(b"n,text\n1,a\n2,b\n")
    with open_source(path) as source:
        source.open()
        source.next_batch(1, 1.0)
        position = source.position()
    path.write_bytes(text)
    with pytest.raises(GapError, match="file changed under the saved position"):
        open_source(path).open(position)


def test_a_record_longer_than_the_limit_is_bad_and_not_kept_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "day.jsonl"
    path.write_bytes(b'{"n":1}\n{"text":"' + b"x" * 5000 + b'"}\n{"n":2}\n' + b"y" * 3000)
    for block_bytes in (64, 1000, 1 << 20):
        bad = BadRecords("skip")
        source = open_source(path, schema=SCHEMA, bad_records=bad, block_bytes=block_bytes, max_record_bytes=1000)
        rows, position = drain(source)
        assert [row["n"] for row in rows] == [1.0, 2.0]
        assert bad.count == 2
        assert position[str(path)]["byte"] == path.stat().st_size
    with open_source(path, schema=SCHEMA, block_bytes=64, max_record_bytes=1000) as source:
        source.open()
        source.next_batch(9, 1.0)
        with pytest.raises(DecodeError, match=r"day.jsonl:2: record must be at most 1000 bytes"):
            source.next_batch(9, 1.0)


def test_files_with_columns_in_another_order_are_read_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"n,text\n1,a\n")
    (tmp_path / "b.csv").write_bytes(b"text,n\nb,2\n")
    rows, position = drain(open_source(tmp_path))
    assert rows == [{"n": 1.0, "text": "a"}, {"n": 2.0, "text": "b"}]
    assert list(position) == [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    (tmp_path / "c.csv").write_bytes(b"text,n,more\nb,2,3\n")
    with pytest.raises(SourceError, match=r"c.csv: header must name the columns of the files before, got also 'more'"):
        drain(open_source(tmp_path))
    assert len(drain(open_source(tmp_path, columns=["n"]))[0]) == 3
    (tmp_path / "c.csv").write_bytes(b"txt,n\nb,2\n")
    with pytest.raises(SourceError, match=r"c.csv: column must be one of the source's, got 'text'; did you mean 'txt'"):
        drain(open_source(tmp_path))


def test_a_file_with_a_header_alone_does_not_fix_the_types(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"n,text\n")
    (tmp_path / "b.csv").write_bytes(b"n,text\n1,a\n")
    assert drain(open_source(tmp_path))[0] == [{"n": 1.0, "text": "a"}]
    assert drain(open_source(tmp_path / "a.csv"))[0] == []


def test_columns_are_selected_in_the_given_order(tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_bytes(b"n,text,more\n1,a,7\n")
    assert list(drain(open_source(path, columns=["more", "n"]))[0][0].items()) == [("more", 7.0), ("n", 1.0)]
    json_path = tmp_path / "day.jsonl"
    json_path.write_bytes(b'{"n":1,"text":"a"}\n{"n":2,"later":3}\n')
    assert drain(open_source(json_path, columns=["n"]))[0] == [{"n": 1.0}, {"n": 2.0}]
    with pytest.raises(SourceError, match=r"got 'txt'; did you mean 'text'"):
        drain(open_source(json_path, columns=["txt"]))


def test_text_without_a_header_takes_the_names_given(tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_bytes(b"1;2,5\n")
    source = open_source(path, header=["a", "b"], delimiter=";", decimal_point=",")
    assert drain(source)[0] == [{"a": 1.0, "b": 2.5}]


OTHERS = {
    "UTF-16": ("day.csv", "n,text\n".encode("utf-16"), "day.csv: file must be text, got UTF-16; convert it to UTF-8"),
    "gzip": ("day.csv", gzip.compress(b"n\n1\n"), "day.csv: file must be text, got gzip data; let its name end in .gz"),
    "not gzip": ("day.csv.gz", b"n\n1\n", "day.csv.gz: file must be whole gzip data"),
    "torn gzip": ("day.csv.gz", gzip.compress(os.urandom(9000))[:5000], "day.csv.gz: file must be whole gzip data"),
    "not zstd": ("day.csv.zst", b"n\n1\n", "day.csv.zst: file must be whole zstd data"),
    "twice": ("day.csv", b"n,n\n1,2\n", "day.csv:1: the header must name each column once, got 'n' twice"),
    "binary": ("day.csv", bytes(range(256)) * 9, "day.csv:1: "),
    "empty": ("day.csv", b"", "day.csv: file must hold records, got an empty file"),
    "no field": ("day.jsonl", b"{}\n", "day.jsonl:1: record must have a field"),
}


@pytest.mark.parametrize(("name", "contents", "message"), OTHERS.values(), ids=OTHERS)
def test_bytes_that_are_not_text_are_refused_in_one_line(
    tmp_path: Path, name: str, contents: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(contents)
    with pytest.raises((SourceError, DecodeError)) as caught:
        drain(open_source(path))
    assert str(caught.value).startswith(f"{tmp_path}/{message}")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_cut_while_it_is_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_bytes(b"n\n" + b"10000\n" * 1000)
    with open_source(path, block_bytes=100, threads=1) as source:
        source.open()
        for _ in range(3):
            source.next_batch(1000, 1.0)
        os.truncate(path, 50)
        batches = iter(lambda: source.next_batch(1000, 1.0), None)
        with pytest.raises(SourceError, match=r"day.csv: file must not be cut while it is read"):
            list(batches)


def test_a_type_that_the_format_does_not_have_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_bytes(b"n\n1\n")
    with pytest.raises(SourceError, match=r"day.csv: schema must hold types that the format has, got: .*list"):
        drain(open_source(path, schema=pa.schema([("n", pa.list_(pa.float64()))])))


def test_joined_gzip_members_are_one_text(tmp_path: Path) -> None:
    path = tmp_path / "day.csv.gz"
    path.write_bytes(gzip.compress(b"n\n1\n") + gzip.compress(b"2\n"))
    assert drain(open_source(path))[0] == [{"n": 1.0}, {"n": 2.0}]


def test_the_lag_falls_to_nothing(tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.write_bytes(b"n\n" + b"1\n" * 1000)
    with open_source([path, _copy(path, "b.csv")], block_bytes=64) as source:
        source.open()
        lags = []
        while not source.exhausted:
            lags.append(source.lag())
            source.next_batch(100, 1.0)
        assert lags[0] == 2 * 2002
        assert lags == sorted(lags, reverse=True)
        assert source.lag() == 0
        assert source.lag_unit == "bytes"


def _copy(path: Path, name: str) -> Path:
    other = path.with_name(name)
    other.write_bytes(path.read_bytes())
    return other


def test_memory_stays_flat_on_a_large_file(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    line = b",".join(b"%d.25" % i for i in range(10)) + b"\n"
    with path.open("wb") as file:
        file.write(b",".join(b"c%d" % i for i in range(10)) + b"\n")
        for _ in range(50):
            file.write(line * (1_000_000 // len(line)))
    highest, rows = 0, 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with open_source(path) as source:
        source.open()
        while True:
            batch = source.next_batch(4096, 1.0)
            if batch is None:
                break
            rows += batch.num_rows
            highest = max(highest, pa.total_allocated_bytes())
    assert rows == 50 * (1_000_000 // len(line))
    # A few blocks of 1 MiB of text, each 2.2 MB as columns, are in memory at once (how many depends on the threads'
    # luck); all of them would be 110 MB.
    assert highest < 25_000_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KiB


def test_a_hundred_thousand_columns_are_read_in_time_linear_in_them(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    width = 100_000
    path.write_text(",".join(f"c{i}" for i in range(width)) + "\n" + (",".join("1" * width) + "\n") * 3)
    code = (
        "import sys\n"
        "from stream_maxloss_connectors import open_source\n"
        "source = open_source(sys.argv[1])\n"
        "source.open()\n"
        "batches = []\n"
        "while not source.exhausted:\n"
        "    batches.append(source.next_batch(10, 1.0))\n"
        "print([batch.records.shape for batch in batches if batch is not None])\n"
    )
    # With time that grows by the square this would take the better part of an hour.
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=120)
    assert done.stdout == f"[(1, {width}), (2, {width})]\n", done.stderr
