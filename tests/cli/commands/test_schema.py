from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq

from stream_maxloss.cli.reports.columns import describe_columns


def test_columns_types_nulls_and_first_values_of_csv(maxloss, tmp_path):
    (tmp_path / "a.csv").write_text("amount,city,y\n1.5,Rome,1\n,Oslo,0\n3,Rome,1\n")
    done = maxloss("schema", "a.csv")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0].split() == ["column", "type", "feature", "first", "values", "nulls", "distinct", "min", "max"]
    assert lines[1].split() == ["amount", "double", "number", "1.5,", "null,", "3", "1", "2", "1.5", "3"]
    assert "one per text" in lines[2]
    assert done.err == "maxloss: a.csv: 3 columns; looked at all 3 rows\n"


def test_json_lines_hold_one_column_each(maxloss, tmp_path):
    pq.write_table(pa.table({"n": [1, 2, 3], "ok": [True, None, False]}), tmp_path / "a.parquet")
    done = maxloss("schema", "a.parquet", "-o", "jsonl", "--rows", 2)
    found = [json.loads(line) for line in done.out.splitlines()]
    assert [column["column"] for column in found] == ["n", "ok"]
    assert found[1]["nulls"] == 1
    assert found[1]["feature"] == "yes or no"
    assert "looked at the first 2 rows" in done.err


def test_standard_input_can_be_looked_at(maxloss):
    done = maxloss("schema", "-", "--format", "jsonl", data=b'{"a": 1}\n{"a": 2}\n')
    assert done.code == 0, done.err
    assert done.out.splitlines()[1].startswith("a ")


def test_a_column_says_what_becomes_of_it():
    table = pa.table({"when": pa.array([0], pa.timestamp("s")), "many": [[1, 2]], "photo": [b"x"], "at": [{"x": 1}]})
    found = {column["column"]: column["feature"] for column in describe_columns(table)}
    assert found == {"when": "hour, weekday, day, gap", "many": "2 numbers", "photo": "left out", "at.x": "number"}


def test_a_missing_file_exits_with_5_and_one_line(maxloss):
    done = maxloss("schema", "nope.csv")
    assert (done.code, done.out, done.err.count("\n")) == (5, "", 1)


def test_an_empty_source_is_one_line(maxloss, tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n")
    done = maxloss("schema", "a.csv")
    assert done.code == 5
    assert "source must have rows" in done.err


def test_bad_records_can_be_left_out_and_are_counted(maxloss, tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n1,2,3\n4,5\n")
    assert maxloss("schema", "a.csv").code == 3
    done = maxloss("schema", "a.csv", "--on-bad", "skip")
    assert done.code == 0
    assert "2 rows, 1 bad records left out" in done.err
