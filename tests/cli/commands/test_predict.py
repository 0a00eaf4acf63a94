"""`maxloss predict` on rows that a model refuses."""

from __future__ import annotations

import json

import pytest


@pytest.fixture
def trained(maxloss, day):
    assert maxloss("tail", day, "--target", "fraud", "-c", "state", "--window", 50, "-q").code == 0
    lines = day.read_text().splitlines()
    for number in (20, 30):
        lines[number] = "inf" + lines[number][lines[number].index(",") :]
    bad = day.with_name("bad.csv")
    bad.write_text("\n".join(lines) + "\n")
    return bad


def test_one_infinite_value_stops_predicting_with_its_address(maxloss, trained):
    done = maxloss("predict", trained, "-c", "state", "-p", "out.jsonl")
    assert done.code == 3
    assert "bad.csv:21: feature 'a' must be finite, got inf" in done.err


@pytest.mark.parametrize("target", [[], ["--target", "fraud"]], ids=["no labels", "labels"])
def test_refused_rows_are_skipped_or_written_to_the_dead_letter_file(maxloss, trained, tmp_path, target):
    for policy in ("skip", "dlq=letters.jsonl"):
        done = maxloss("predict", trained, "-c", "state", "-p", f"{policy[:3]}.jsonl", "--on-bad", policy, *target)
        assert done.code == 0, done.err
        rows = [json.loads(line)["row"] for line in (tmp_path / f"{policy[:3]}.jsonl").read_text().splitlines()]
        assert rows == list(range(498))
    letters = [json.loads(line) for line in (tmp_path / "letters.jsonl").read_text().splitlines()]
    assert [letter["address"].rpartition(":")[2] for letter in letters] == ["21", "31"]


def test_more_refused_rows_than_allowed_have_their_exit_code(maxloss, trained):
    done = maxloss("predict", trained, "-c", "state", "-p", "out.jsonl", "--on-bad", "skip", "--max-bad", 1)
    assert done.code == 3
    assert "more than the limit of 1" in done.err


def test_a_regressor_is_scored_in_batches_as_row_by_row(maxloss, day, tmp_path):
    words = ["--target", "a", "--model", "AbsoluteOGD", "--exclude", "kind", "--no-focus"]
    assert maxloss("tail", day, *words, "-c", "state", "-q").code == 0
    assert maxloss("predict", day, "-c", "state", "-p", "out.jsonl").code == 0
    from stream_maxloss.checkpoint import CheckpointStore, take_model

    model = take_model(CheckpointStore(tmp_path / "state").load())
    first = dict(zip(day.read_text().split("\n")[0].split(","), day.read_text().split("\n")[1].split(","), strict=True))
    x = {name: float(first[name]) for name in ("b", "c", "importance")} | {"fraud": first["fraud"] == "true"}
    found = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])
    assert found["prediction"] == pytest.approx(model.predict_one(x), rel=1e-12)


def test_columns_that_the_model_was_learned_from_must_be_there(maxloss, trained, tmp_path):
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    done = maxloss("predict", "other.csv", "-c", "state")
    assert done.code == 2
    assert "the source must have the columns that the model was learned from (a, b, c, kind, importance)" in done.err
