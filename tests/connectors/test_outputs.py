from __future__ import annotations

import os
from pathlib import Path

import pytest

from stream_maxloss.errors import UsageError
from stream_maxloss_connectors import BadRecords, open_sink, open_source, refuse_outputs_that_are_read

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


def _batches(source):
    source.open()
    while (batch := source.next_batch(10, 1.0)) is not None:
        yield batch.records
