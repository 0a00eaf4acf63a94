from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stream_maxloss.errors import GapError, SourceError
from stream_maxloss_connectors import FollowedSource, KafkaSource, open_source
from stream_maxloss_connectors.base import Source
from stream_maxloss_connectors.formats import split_suffix


def numbers(source: Source) -> list[float]:
    with source:
        source.open()
        found: list[float] = []
        while not source.exhausted:
            batch = source.next_batch(10, 1.0)
            found += [] if batch is None else batch.records["n"].to_pylist()
        return found


def csv(path: Path, *values: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("n\n" + "".join(f"{value}\n" for value in values))
    return path


def test_files_come_in_the_order_given_and_those_of_a_glob_in_the_order_of_names(tmp_path: Path) -> None:
    b, a, c = csv(tmp_path / "b.csv", 2), csv(tmp_path / "a.csv", 1), csv(tmp_path / "deep" / "c.csv", 3)
    (tmp_path / ".hidden.csv").write_text("n\n9\n")
    (tmp_path / "_bookkeeping.csv").write_text("n\n9\n")
    (tmp_path / "notes.txt").write_text("nothing")
    assert numbers(open_source([b, a])) == [2.0, 1.0]
    assert numbers(open_source(tmp_path)) == [1.0, 2.0]
    assert numbers(open_source(str(tmp_path / "*.csv"))) == [9.0, 1.0, 2.0]
    assert numbers(open_source(str(tmp_path / "**" / "[abc].csv"))) == [1.0, 2.0, 3.0]
    assert numbers(open_source([c, tmp_path])) == [3.0, 1.0, 2.0]
    assert numbers(open_source(f"file://{c}")) == [3.0]
    assert open_source([c, tmp_path]).partitions() == [str(c), str(a), str(b)]


def test_a_file_whose_name_looks_like_a_glob_is_that_file(tmp_path: Path) -> None:
    path = csv(tmp_path / "day[1].csv", 5)
    csv(tmp_path / "day1.csv", 6)
    assert numbers(open_source(path)) == [5.0]


def test_empty_files_among_others_hold_no_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"")
    csv(tmp_path / "b.csv", 1)
    (tmp_path / "c.csv").write_bytes(b"")
    assert numbers(open_source(tmp_path)) == [1.0]


REFUSED: dict[str, tuple[Any, str]] = {
    "missing": ("none.csv", r"none.csv: file must exist, got no such file; check the path, or follow it"),
    "no match": ("*.none", r"\*.none: glob must match a file, got none"),
    "empty directory": ("hollow", r"hollow: directory must hold data files \(.csv, .*\), got none"),
    "unknown ending": ("day.xyz", r"day.xyz: name must end in .csv, .* got .*; or say what it is: --format csv"),
    "spreadsheet": ("day.xlsx", r"day.xlsx: file must be a data file, got a spreadsheet; save it as CSV"),
    "packed Parquet": ("day.parquet.gz", r"day.parquet.gz: parquet must not be compressed as a whole; unpack it"),
    "mixed": ("mixed", r"files must be of one format, got .*a.csv \(csv\) and .*b.jsonl \(jsonl\)"),
    "scheme": (
        "s3://bucket/day.csv",
        r"s3://bucket/day.csv: address must be a path, kafka://, file://, got s3://",
    ),
    "no format": ("-", r"standard input must come with its format"),
}


@pytest.mark.parametrize(("uri", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_opened_is_named_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uri: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("day.xyz", "day.xlsx", "day.parquet.gz"):
        Path(name).write_bytes(b"x")
    Path("hollow").mkdir()
    csv(Path("mixed/a.csv"), 1)
    Path("mixed/b.jsonl").write_text('{"n":1}\n')
    with pytest.raises(SourceError, match=message):
        open_source(uri)


@pytest.fixture
def as_nobody() -> Iterator[None]:
    """Give up root's right to read every file for the while of a test."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65_534)
    yield
    os.seteuid(user)


def test_an_unreadable_file_is_refused(as_nobody: None) -> None:
    # Not in pytest's folder, which root keeps to himself.
    with tempfile.TemporaryDirectory() as folder:
        path = csv(Path(folder) / "day.csv", 1)
        path.chmod(0)
        with pytest.raises(SourceError, match=r"day.csv: file must be readable, got Permission denied"):
            open_source(path)


def test_anything_but_a_regular_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("day.csv")
        with pytest.raises(
            SourceError, match=r"day.csv: source must be a file, got a socket; feed it as standard input"
        ):
            open_source("day.csv")


def test_a_dangling_link_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "day.csv"
    path.symlink_to(tmp_path / "gone.csv")
    with pytest.raises(SourceError, match=r"day.csv: file must be readable, got No such file or directory"):
        open_source(path)


ARGUMENTS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "format": ({"format": "xml"}, ValueError, "format must be 'auto' or one of .*, got 'xml'"),
    "option": ({"delimeter": ";"}, TypeError, "options for csv must be among delimiter, .*, got 'delimeter'"),
    "block": ({"block_bytes": 0}, ValueError, "block_bytes must be positive, got 0"),
    "threads": ({"threads": 0}, ValueError, "threads must be positive, got 0"),
}


@pytest.mark.parametrize(("options", "kind", "message"), ARGUMENTS.values(), ids=ARGUMENTS)
def test_wrong_arguments_are_refused(
    tmp_path: Path, options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        open_source(csv(tmp_path / "day.csv", 1), **options)


def test_a_file_given_twice_is_refused(tmp_path: Path) -> None:
    path = csv(tmp_path / "day.csv", 1)
    with pytest.raises(ValueError, match="each file must be given once"):
        open_source([path, path])
    with pytest.raises(ValueError, match="paths must name a file, got none"):
        open_source([])


def test_reading_before_opening_is_refused(tmp_path: Path) -> None:
    source = open_source(csv(tmp_path / "day.csv", 1))
    with pytest.raises(ValueError, match="the source must be opened before it is read"):
        source.next_batch(1, 1.0)
    source.open()
    with pytest.raises(ValueError, match="max_rows must be at least 1, got 0"):
        source.next_batch(0, 1.0)
    source.close()


def test_a_position_in_a_file_that_is_not_read_any_more_is_a_gap(tmp_path: Path) -> None:
    a, b = csv(tmp_path / "a.csv", 1, 2), csv(tmp_path / "b.csv", 3, 4)
    with open_source([a, b]) as source:
        source.open()
        source.next_batch(1, 1.0)
        early = source.position()
        source.next_batch(1, 1.0)
        source.next_batch(1, 1.0)
        late = source.position()
    with pytest.raises(GapError, match=r"a.csv: file must be among those to read, since a position in it was saved"):
        open_source(b).open(early)
    a.unlink()
    # What was read to the end may go.
    source = open_source(b)
    source.open(late)
    batch = source.next_batch(9, 1.0)
    assert batch is not None
    assert batch.records["n"].to_pylist() == [4.0]


def test_options_reach_the_source_that_an_address_names() -> None:
    kafka = open_source("kafka://host:9092/topic?format=csv&column_names=n", group="g", follow=True)
    assert isinstance(kafka, KafkaSource)
    assert (kafka.topic, kafka.group, kafka.waits) == ("topic", "g", True)
    followed = open_source("missing.csv", follow=True, delimiter=";", columns=["n"])
    assert isinstance(followed, FollowedSource)
    assert (followed.paths, followed.options, followed.columns) == (["missing.csv"], {"delimiter": ";"}, ["n"])
    assert open_source("-", format="csv").waits


def test_parquet_is_not_read_from_a_pipe() -> None:
    with pytest.raises(SourceError, match="-: Parquet must be read from a file"):
        open_source("-", format="parquet").open()


SUFFIXES = {
    "a.csv": ("csv", None),
    "A.CSV.GZ": ("csv", "gzip"),
    "x.y/a.jsonl.zst": ("jsonl", "zstd"),
    "a.gz": (None, "gzip"),
    "a": (None, None),
    "a.libsvm": ("svmlight", None),
    "a.feather": ("arrow", None),
}


@pytest.mark.parametrize(("path", "expected"), SUFFIXES.items())
def test_format_and_compression_follow_from_the_ending(path: str, expected: tuple[str | None, str | None]) -> None:
    assert split_suffix(path) == expected


def test_a_given_format_wins_over_the_ending(tmp_path: Path) -> None:
    path = tmp_path / "day.txt"
    path.write_text('{"n": 1}\n')
    assert numbers(open_source(path, format="jsonl")) == [1.0]
    pq.write_table(pa.table({"n": [2.0]}), tmp_path / "day.csv")
    assert numbers(open_source(tmp_path / "day.csv", format="parquet")) == [2.0]
    with pytest.raises(SourceError, match=r"file must be text, got Parquet; let its name end in .parquet"):
        numbers(open_source(tmp_path / "day.csv"))
