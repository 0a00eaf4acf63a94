"""Predictions that can be joined with their rows."""

from __future__ import annotations

import csv
import json

import pytest


@pytest.fixture
def orders(tmp_path, rows_of):
    """A CSV file whose rows have an id, a number and a time."""
    header, *rows = rows_of(300)
    lines = [
        f"{line},o-{number},{900 + number},2026-01-{1 + number // 24:02}T{number % 24:02}:00:00"
        for number, line in enumerate(rows)
    ]
    path = tmp_path / "orders.csv"
    path.write_text("\n".join([f"{header},id,number,when", *lines]) + "\n")
    return path


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_predictions_carry_key_time_and_kept_columns(maxloss, orders, tmp_path):
    words = ["--target", "fraud", "--key", "id", "--exclude", "when,number", "--time", "when", "--keep", "a,kind"]
    done = maxloss("tail", orders, *words, "-p", "out.jsonl", "-q", "--model", "HingeOGD")
    assert done.code == 0, done.err
    source = list(csv.DictReader(orders.open()))
    found = lines_of(tmp_path / "out.jsonl")
    assert [row["key"] for row in found] == [row["id"] for row in source]
    assert [row["kind"] for row in found] == [row["kind"] for row in source]
    assert [row["a"] for row in found] == [float(row["a"]) for row in source]
    assert found[30]["time"].startswith("2026-01-02T06:00:00")
    assert set(found[0]) == {"row", "label", "prediction", "probability", "key", "time", "a", "kind"}


def test_the_key_is_not_learned_from(maxloss, orders, tmp_path):
    words = ["--target", "fraud", "--model", "HingeOGD", "--window", 50, "-q"]
    assert maxloss("tail", orders, *words, "--key", "id", "--exclude", "when,number", "-c", "one").code == 0
    assert maxloss("tail", orders, *words, "--exclude", "id,when,number", "-c", "two").code == 0
    weights = [json.loads(maxloss("inspect", name, "-o", "jsonl").out)["weights"] for name in ("one", "two")]
    assert weights[0] == weights[1]


def test_a_key_of_whole_numbers_stays_one(maxloss, orders, tmp_path):
    words = ["--target", "fraud", "--key", "number", "--features", "a,b", "--model", "HingeOGD", "-q"]
    done = maxloss("tail", orders, *words, "-p", "out.csv")
    assert done.code == 0, done.err
    assert [row["key"] for row in csv.DictReader((tmp_path / "out.csv").open())] == [str(900 + i) for i in range(300)]


def test_predict_carries_the_key_of_the_run_where_rows_have_it(maxloss, orders, day, tmp_path):
    words = ["--target", "fraud", "--features", "a,b,c", "--model", "HingeOGD", "-q"]
    assert maxloss("tail", orders, *words, "--key", "id", "-c", "state").code == 0
    assert maxloss("predict", orders, "-c", "state", "-p", "out.jsonl", "--keep", "number").code == 0
    assert [row["key"] for row in lines_of(tmp_path / "out.jsonl")] == [f"o-{i}" for i in range(300)]
    assert json.loads(maxloss("predict", day, "-c", "state", "--limit", 1).out).keys() == {
        "row",
        "prediction",
        "probability",
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--key", "ident"], "key must name a column, got 'ident'"),
        (["--keep", "label"], "keep must not name a column of predictions"),
        (["--key", "a"], "key must be a column of text or whole numbers, got 'a'"),
    ],
    ids=["no such key", "a name of predictions", "a key with a fraction"],
)
def test_what_cannot_be_carried_is_refused(maxloss, orders, words, message):
    done = maxloss("tail", orders, "--target", "fraud", "--exclude", "when", *words, "-p", "out.jsonl", "-q")
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1


def test_a_number_after_keep_is_still_the_number_of_checkpoints_and_warns(maxloss, day, tmp_path):
    words = ["--target", "fraud", "-c", "state", "--checkpoint-every", 50, "--model", "HingeOGD"]
    done = maxloss("tail", day, *words, "--keep", 2)
    assert done.code == 0
    assert "--keep 2 is deprecated and will be removed in 0.3; use --keep-checkpoints 2" in done.err
    assert len(list((tmp_path / "state").glob("ckpt-*"))) == 2


def test_carried_columns_are_the_same_after_kills_as_without(maxloss, orders, tmp_path):
    words = ["--target", "fraud", "--features", "a,b", "--key", "id", "--keep", "kind", "--model", "HingeOGD", "-q"]
    assert maxloss("tail", orders, *words, "-p", "straight.jsonl").code == 0
    for limit in (70, 200, 300):
        assert maxloss("tail", orders, *words, "-p", "parts.jsonl", "-c", "state", "--limit", limit).code == 0
    assert (tmp_path / "parts.jsonl").read_bytes() == (tmp_path / "straight.jsonl").read_bytes()
