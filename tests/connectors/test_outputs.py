from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from stream_maxloss.errors import UsageError
from stream_maxloss_connectors import (
    BadRecords,
    open_sink,
    open_source,
    refuse_clashing_outputs,
    refuse_outputs_that_are_read,
)

CSV = "x,y\n1,0\n2,1\n"


@pytest.fixture
def days(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "days").mkdir()
    for day in ("monday", "tuesday"):
        (tmp_path / "days" / f"{day}.csv").write_text(CSV)
    os.link("days/monday.csv", "hard.csv")
    Path("soft.csv").symlink_to("days/monday.csv")
    Path("folder").symlink_to("days")
    return tmp_path


REFUSED = {
    "the file itself": ("days/monday.csv", "days/monday.csv", False),
    "another spelling": ("days/monday.csv", "./days/../days/monday.csv", False),
    "a hard link": ("days/monday.csv", "hard.csv", False),
    "a symbolic link": ("days/monday.csv", "soft.csv", False),
    "through a linked directory": ("days/monday.csv", "folder/monday.csv", False),
    "one of a glob": ("days/*.csv", "days/tuesday.csv", False),
    "a file that the glob would find next time": ("days/*.csv", "days/new.csv", False),
    "a file that the deep glob would find next time": ("**/*.csv", "days/new.csv", False),
    "a file that the directory would hold next time": ("days", "folder/new.csv", False),
    "the followed file": ("days/monday.csv", "soft.csv", True),
    "a followed file that is not there yet": ("days/later.csv", "folder/later.csv", True),
    "a generation of the followed file": ("days/monday.csv", "folder/monday.csv.1", True),
    "a file that a followed glob would find": ("days/*.csv", "days/new.csv", True),
}


@pytest.mark.parametrize(("read", "written", "follow"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("output", ["predictions", "dead letters"])
def test_an_output_that_is_read_is_refused(days: Path, read: str, written: str, follow: bool, output: str) -> None:
    source = open_source(read, follow=follow)
    target = open_sink(written, format="csv") if output == "predictions" else BadRecords("dlq", written)
    with pytest.raises(UsageError, match=f"{output} must not be written to what is read, got .*; choose another file"):
        refuse_outputs_that_are_read(source, {output: target})
    assert (days / "days" / "monday.csv").read_text() == CSV


ALLOWED = {
    "beside the file": ("days/monday.csv", "days/predictions.csv", False),
    "another ending": ("days/*.csv", "days/predictions.jsonl", False),
    "below the directory of a glob": ("days/*.csv", "days/out/predictions.csv", False),
    "a hidden file": ("days", "days/_predictions.csv", False),
    "beside the followed file": ("days/monday.csv", "days/predictions.csv", True),
}


@pytest.mark.parametrize(("read", "written", "follow"), ALLOWED.values(), ids=ALLOWED)
def test_an_output_that_is_not_read_is_allowed(days: Path, read: str, written: str, follow: bool) -> None:
    refuse_outputs_that_are_read(open_source(read, follow=follow), {"predictions": open_sink(written), "other": None})


def test_parts_that_are_read_are_not_removed(days: Path) -> None:
    with open_sink("days/out.parquet") as sink:
        sink.open()
        for batch in _batches(open_source("days/monday.csv")):
            sink.write(batch)
    with pytest.raises(UsageError, match="predictions must not be written to what is read"):
        refuse_outputs_that_are_read(open_source("days/out.parquet"), {"predictions": open_sink("days/out.parquet")})


@pytest.fixture
def monday_as_standard_input(days: Path) -> Iterator[None]:
    before, file = os.dup(0), os.open("days/monday.csv", os.O_RDONLY)
    os.dup2(file, 0)
    yield
    os.dup2(before, 0)
    os.close(before)
    os.close(file)


@pytest.mark.usefixtures("monday_as_standard_input")
@pytest.mark.parametrize("written", ["days/monday.csv", "hard.csv", "soft.csv"])
def test_what_standard_input_is_redirected_from_is_refused(written: str) -> None:
    with pytest.raises(UsageError, match="predictions must not be written to what is read"):
        refuse_outputs_that_are_read(open_source("-", format="csv"), {"predictions": open_sink(written)})
    refuse_outputs_that_are_read(open_source("-", format="csv"), {"predictions": open_sink("days/tuesday.csv")})


@pytest.mark.parametrize("other", ["days/new.jsonl", "./days/../days/new.jsonl", "folder/new.jsonl"])
def test_two_outputs_that_are_one_file_are_refused(days: Path, other: str) -> None:
    sink, dead = open_sink("days/new.jsonl"), BadRecords("dlq", other)
    with pytest.raises(UsageError, match="dead letters must not be written to predictions"):
        refuse_clashing_outputs({"predictions": sink, "dead letters": dead})


def test_an_output_among_the_checkpoints_is_refused(days: Path) -> None:
    with pytest.raises(UsageError, match="predictions must not be written among the checkpoints"):
        refuse_clashing_outputs({"predictions": open_sink("folder/state/p.jsonl")}, Path("days/state"))
    refuse_clashing_outputs({"predictions": open_sink("days/p.jsonl"), "plot": None}, Path("days/state"))


@pytest.mark.parametrize("pattern", ["days/*/*", "**/*.json", "**/*.arrow"])
def test_checkpoints_that_the_source_would_find_are_refused(days: Path, pattern: str) -> None:
    for ending in ("json", "arrow"):
        Path("days/deep").mkdir(exist_ok=True)
        Path("days/deep/x." + ending).write_text("{}")
    source = open_source(pattern, format="jsonl")
    with pytest.raises(UsageError, match="checkpoints must not lie where the source would find them"):
        refuse_clashing_outputs({}, Path("days/state"), source)


def test_checkpoints_beside_the_files_of_a_directory_are_allowed(days: Path) -> None:
    refuse_clashing_outputs({}, Path("days/state"), open_source("days"))


def _batches(source):
    source.open()
    while (batch := source.next_batch(10, 1.0)) is not None:
        yield batch.records
