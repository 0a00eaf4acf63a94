from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stream_maxloss.errors import GapError, SourceError
from stream_maxloss_connectors import Source, open_source


def read(source: Source, rows: int) -> list[Any]:
    found: list[Any] = []
    while len(found) < rows and (batch := source.next_batch(rows - len(found), 0.2)) is not None:
        found += batch.records["x"].to_pylist()
    return found


def resume(path: Path | str, follow: bool, position: Any, rows: int = 100) -> tuple[list[Any], Any]:
    with open_source(path, follow=follow, **({"until_eof": True} if follow else {})) as source:
        source.open(None if position is None else json.loads(json.dumps(position)))
        return read(source, rows), source.position()


TEXTS = {
    "csv": (b"x,y\r\n", [b"%d,a\r\n" % i for i in range(10)]),
    "csv with a mark": (b"\xef\xbb\xbfx,y\n", [b"%d,a\n" % i for i in range(10)]),
    "jsonl": (b"", [b'{"x": %d}\n' % i for i in range(10)]),
}


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("cut", [0, 1, 4, 10])
@pytest.mark.parametrize("follow", [True, False], ids=["follow added", "follow dropped"])
def test_a_run_continues_with_the_next_row_when_follow_is_added_or_dropped(
    text: str, cut: int, follow: bool, tmp_path: Path
) -> None:
    head, lines = TEXTS[text]
    path = tmp_path / f"live.{text.split()[0]}"
    path.write_bytes(head + b"".join(lines))
    before, position = resume(path, not follow, None, cut) if cut else ([], resume(path, not follow, None, 0)[1])
    with path.open("ab") as file:
        file.write(lines[0] + lines[1])
    after, position = resume(path, follow, position)
    assert before + after == [*range(10), 0, 1]
    assert resume(path, not follow, position)[0] == []


def test_a_file_that_was_rotated_since_is_found_when_follow_is_added(tmp_path: Path) -> None:
    path = tmp_path / "live.csv"
    (tmp_path / "live.csv.1").write_text("x\n-1\n")
    path.write_text("x\n1\n2\n3\n")
    before, position = resume(path, False, None, 2)
    (tmp_path / "live.csv.1").rename(tmp_path / "live.csv.2")
    path.rename(tmp_path / "live.csv.1")
    path.write_text("x\n4\n")
    assert (before, resume(path, True, position)[0]) == ([1, 2], [3, 4])


def test_a_file_that_was_rotated_away_is_one_line_when_follow_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "live.csv"
    path.write_text("x\n1\n2\n3\n")
    _, position = resume(path, True, None, 2)
    path.rename(tmp_path / "live.csv.1")
    path.write_text("x\n4\n")
    with pytest.raises(GapError, match=r"rotated away or replaced, .*; resume with --follow$"):
        resume(path, False, position)


def test_a_last_line_that_was_read_before_its_end_is_not_read_as_two(tmp_path: Path) -> None:
    path = tmp_path / "live.csv"
    path.write_text("x\n1\n2")
    _, position = resume(path, False, None)
    assert resume(path, True, position)[0] == []
    with path.open("a") as file:
        file.write("5\n6\n")
    with pytest.raises(GapError, match="the last line was read before it was finished"):
        resume(path, True, position)


@pytest.mark.parametrize("follow", [True, False], ids=["follow added", "follow dropped"])
def test_parquet_files_continue_either_way(follow: bool, tmp_path: Path) -> None:
    for day in range(3):
        pq.write_table(pa.table({"x": [3.0 * day + i for i in range(3)]}), tmp_path / f"{day}.parquet")
    before, position = resume(tmp_path, not follow, None, 4)
    after, position = resume(tmp_path, follow, position)
    assert before + after == [float(i) for i in range(9)]
    assert resume(tmp_path, not follow, position)[0] == []


@pytest.mark.parametrize("follow", [True, False], ids=["follow added", "follow dropped"])
def test_an_arrow_stream_is_one_line_that_names_the_option(follow: bool, tmp_path: Path) -> None:
    path = tmp_path / "live.arrows"
    table = pa.table({"x": [1.0, 2.0]})
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=1)
    _, position = resume(path, not follow, None, 1)
    with pytest.raises(GapError, match="resume with" + ("out" if follow else "") + " --follow"):
        resume(path, follow, position)


DAMAGE = {
    "no file": lambda entry: entry.pop("file"),
    "a huge number": lambda entry: entry.update({"byte": 10**400} if "byte" in entry else {"gaps": 10**400}),
    "a negative number": lambda entry: entry.update({"line": -1} if "line" in entry else {"truncations": -1}),
    "a list for the file": lambda entry: entry.update(file=[1]),
    "another schema": lambda entry: entry.update(schema="AAAA"),
    "a number for the schema": lambda entry: entry.update(schema=5),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
@pytest.mark.parametrize("follow", [True, False])
def test_a_damaged_position_is_one_line(damage: Any, follow: bool, tmp_path: Path) -> None:
    path = tmp_path / "live.csv"
    path.write_text("x\n1\n2\n3\n")
    _, position = resume(path, follow, None, 2)
    damage(position[str(path)])
    message = r"the saved (position|columns) must .*; resume from another checkpoint$"
    with open_source(path, follow=follow) as source, pytest.raises(SourceError, match=message):
        source.open(position)
