"""The hardest rows can be found where they came from."""

from __future__ import annotations

import csv
import json

import pytest

WORDS = ["--target", "fraud", "--model", "HingeOGD", "--window", 60, "--slice-by", "kind", "--key", "id", "-q"]


@pytest.fixture
def orders(tmp_path, rows_of):
    header, *rows = rows_of(400)
    lines = [f"{line},o-{number}" for number, line in enumerate(rows)]
    path = tmp_path / "orders.csv"
    path.write_text("\n".join([f"{header},id", *lines]) + "\n")
    return path


def hardest(maxloss, state, count=60):
    done = maxloss("hard", state, "-k", count, "-o", "jsonl")
    assert done.code == 0, done.err
    assert "approximate" not in done.err
    return [json.loads(line) for line in done.out.splitlines()]


def check(rows, path):
    """Every row is the line that its origin names, value by value."""
    source = list(csv.DictReader(path.open()))
    for row in rows:
        name, _, line = row["origin"].rpartition(":")
        read = source[int(line) - 2]
        assert name == str(path)
        assert row["key"] == read["id"]
        assert row["slice"] == read["kind"]
        assert row["y"] == (read["fraud"] == "true")
        for column in ("a", "b", "c"):
            assert row["row"][column] == row["x"][column] == float(read[column])


def test_each_row_has_the_line_the_key_the_slice_and_the_values_it_was_read_with(maxloss, orders):
    assert maxloss("tail", orders, *WORDS, "-c", "state").code == 0
    rows = hardest(maxloss, "state")
    assert len(rows) == 60
    check(rows, orders)
    assert {row["age"] for row in rows} == set(range(60))


def test_origins_outlive_a_resume(maxloss, orders):
    for limit in (150, 170, 400):
        assert maxloss("tail", orders, *WORDS, "-c", "state", "--limit", limit).code == 0
    check(hardest(maxloss, "state"), orders)


def test_rows_that_stay_long_keep_their_origin(maxloss, orders):
    words = [*WORDS, "--set", "focus.admission=reservoir", "--report-every", 20]
    done = maxloss("tail", orders, *words, "-c", "state")
    assert done.code == 0, done.err
    rows = hardest(maxloss, "state")
    check(rows, orders)
    assert max(row["age"] for row in rows) > 100


def test_rows_that_a_model_refuses_do_not_shift_the_others(maxloss, orders):
    lines = orders.read_text().splitlines()
    for number in (20, 300, 390):
        lines[number] = "inf" + lines[number][lines[number].index(",") :]
    orders.write_text("\n".join(lines) + "\n")
    assert maxloss("tail", orders, *WORDS, "-c", "state", "--on-bad", "skip").code == 0
    rows = hardest(maxloss, "state")
    check(rows, orders)
    assert not {f"{orders}:{number + 1}" for number in (300, 390)} & {row["origin"] for row in rows}


def test_the_table_shows_values_as_they_were_read(maxloss, orders):
    assert maxloss("tail", orders, *WORDS, "-c", "state").code == 0
    header, first, *_ = maxloss("hard", "state", "-k", 1).out.splitlines()
    assert header.split() == ["rank", "loss", "weight", "replays", "age", "label", "origin", "key", "slice", "row"]
    line = int(first.split("orders.csv:")[1].split()[0])
    assert f"a={float(orders.read_text().splitlines()[line - 1].split(',')[0]):.12g} " in first


def test_rows_without_an_origin_are_reported_as_approximate(maxloss, orders):
    assert maxloss("tail", orders, *WORDS, "--delay", 5, "-c", "state").code == 0
    done = maxloss("hard", "state", "-k", 2, "-o", "jsonl")
    assert "approximate: they were unscaled" in done.err
    assert json.loads(done.out.splitlines()[0])["origin"] is None
