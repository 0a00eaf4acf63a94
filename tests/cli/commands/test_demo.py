from __future__ import annotations

import csv
import importlib.util

import numpy as np
import pytest

from stream_maxloss.cli.demo.contest import curve
from stream_maxloss.cli.demo.stream import FileWriter, make_connections


def test_the_stream_is_the_same_each_time_and_its_rare_kind_is_rare():
    table = make_connections(20_000)
    assert table.equals(make_connections(20_000))
    share = table["kind"].to_pylist().count("escalation") / 20_000
    assert 0.001 < share < 0.005


def test_the_rare_kind_can_be_told_by_a_sum_of_counts():
    table = make_connections(20_000)
    counts = [np.array(table[name]) for name in ("failed_logins", "root_commands", "files_created")]
    rare = np.array(table["kind"].to_pylist()) == "escalation"
    total = np.sum(counts, axis=0)
    # Each escalation has a sum of at least 5; of the normal rows only few reach that.
    assert total[rare].min() >= 5
    assert (total[~rare] >= 5).mean() < 0.01


def test_the_writer_writes_every_row_once(tmp_path):
    table = make_connections(1000)
    writer = FileWriter(table, tmp_path / "x.csv", chunk_rows=300, pause=0.0)
    writer.start()
    writer.join(timeout=60)
    with (tmp_path / "x.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert writer.failure is None
    assert [row["kind"] for row in rows] == table["kind"].to_pylist()


def test_a_writer_that_cannot_write_says_why(tmp_path):
    writer = FileWriter(make_connections(10), tmp_path / "none" / "x.csv")
    writer.start()
    writer.join(timeout=60)
    assert isinstance(writer.failure, FileNotFoundError)


def test_a_curve_is_the_share_of_wrong_rows_so_far():
    wrong = np.array([True] * 10 + [False] * 10)
    rows, values = curve(wrong, np.arange(20))
    assert (rows[-1], values[-1]) == (20.0, 50.0)
    assert (rows[0], values[0]) == (6.0, 100.0)


def test_demo_prints_the_same_table_twice_and_leaves_its_files(maxloss, tmp_path):
    first = maxloss("demo", "--rows", 4000, "--directory", tmp_path / "a")
    second = maxloss("demo", "--rows", 4000, "--directory", tmp_path / "a")
    assert (first.code, second.code) == (0, 0), first.err
    assert first.out == second.out
    lines = first.out.splitlines()
    assert lines[0].split()[:3] == ["kind", "rows", "share"]
    rare = next(line for line in lines if line.startswith("escalation"))
    bare, focused, auto = (float(cell) for cell in rare.replace("%", "").split()[-3:])
    assert focused < bare
    assert auto < bare
    with (tmp_path / "a" / "connections.csv").open() as file:
        assert len(file.readlines()) == 4001


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="the plot needs matplotlib")
def test_demo_draws_a_picture(maxloss, tmp_path):
    assert maxloss("demo", "--rows", 1000, "--directory", tmp_path).code == 0
    assert (tmp_path / "errors.png").read_bytes().startswith(b"\x89PNG")


def test_a_directory_that_is_a_file_is_one_line(maxloss, tmp_path):
    (tmp_path / "file").write_text("")
    done = maxloss("demo", "--directory", tmp_path / "file")
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("maxloss: --directory must be a writable directory, got")
    assert done.err.count("\n") == 1


def test_a_file_of_somebody_else_is_left_alone(maxloss, tmp_path):
    (tmp_path / "connections.csv").write_text("flow,attack\n1,true\n", encoding="utf-8")
    done = maxloss("demo", "--rows", 1000, "--directory", tmp_path)
    assert done.code == 2
    assert done.err.startswith(
        "maxloss: --directory must not hold a connections.csv that the demonstration did not write, got"
    )
    assert (tmp_path / "connections.csv").read_text(encoding="utf-8") == "flow,attack\n1,true\n"
