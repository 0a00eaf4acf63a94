"""What a prediction is made of, by the command as a user types it."""

from __future__ import annotations

import json
import math

import pytest


@pytest.mark.parametrize(
    "words",
    [["--model", "HingeOGD", "--no-focus", "--no-scale"], ["--model", "HingeOGD", "--window", 50], ["--model", "LLD"]],
    ids=["bare", "scaled and focused", "LLD"],
)
def test_the_parts_of_a_linear_score_add_up_to_its_log_odds(maxloss, day, words):
    assert maxloss("tail", day, "--target", "fraud", *words, "-c", "state", "-q").code == 0
    done = maxloss("explain", "state", day, "--rows", 20, "-k", 100, "-o", "jsonl")
    assert done.code == 0, done.err
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert [line["row"] for line in lines] == [f"day.csv:{number}" for number in range(2, 22)]
    for line in lines:
        shares = line["probabilities"]
        odds = math.log(shares["True"] / shares["False"])
        assert sum(part["contribution"] for part in line["parts"]) == pytest.approx(odds, abs=1e-6)
        sizes = [abs(part["contribution"]) for part in line["parts"]]
        assert sizes == sorted(sizes, reverse=True)
    first = day.read_text().splitlines()[1].split(",")
    conditions = {part["condition"] for part in lines[0]["parts"]}
    assert f"a = {float(first[0]):g}" in conditions
    assert f"kind = {first[3]}" in conditions
    assert "always" in conditions


def test_auto_names_values_and_leaves(maxloss, day):
    assert maxloss("tail", day, "--target", "fraud", "-c", "state", "-q").code == 0
    done = maxloss("explain", "state", day, "--rows", 1, "-k", 5)
    assert done.code == 0, done.err
    head, *parts = done.out.splitlines()
    assert head.startswith("day.csv:2: ")
    assert len(parts) == 6
    assert parts[-1].endswith(" others")


def test_a_row_of_ones_own_and_a_regressor(maxloss, day):
    words = ["--target", "a", "--features", "b,c", "--model", "AbsoluteOGD", "--no-focus", "-c", "state", "-q"]
    assert maxloss("tail", day, *words).code == 0
    done = maxloss("explain", "state", "--row", '{"b": 1.5, "c": -2}', "-o", "jsonl", "-k", 9)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["probabilities"] is None
    assert sum(part["contribution"] for part in found["parts"]) == pytest.approx(found["prediction"], abs=1e-9)


def test_without_a_row_the_model_is_shown(maxloss, day):
    assert maxloss("tail", day, "--target", "fraud", "--model", "HingeOGD", "-c", "state", "-q").code == 0
    assert maxloss("explain", "state", "-k", 3).out == maxloss("inspect", "state", "-k", 3).out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--row", "[1]"], "--row must be a JSON object, got '[1]'"),
        (["--row", "{"], "--row must be a JSON object, got '{'"),
        (["--row", '{"a": 1}'], "features must name a column, got 'b'"),
        (["--row", "{}", "day.csv"], "--row must not come with a source, got 'day.csv'"),
    ],
    ids=["a list", "no JSON", "a column is missing", "both"],
)
def test_what_cannot_be_explained_is_one_line(maxloss, day, words, message):
    assert maxloss("tail", day, "--target", "fraud", "--model", "HingeOGD", "-c", "state", "-q").code == 0
    done = maxloss("explain", "state", *words)
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1


def test_a_model_that_cannot_say_is_refused_by_name(maxloss, day):
    words = ["--target", "fraud", "--model", "river.naive_bayes:GaussianNB", "--allow-pickle", "-c", "state", "-q"]
    assert maxloss("tail", day, *words, "--exclude", "kind").code == 0
    done = maxloss("explain", "state", day, "--allow-pickle")
    assert done.code == 2
    assert "got GaussianNB" in done.err


def test_rivers_pipeline_prints_the_contributions():
    from stream_maxloss.linear import HingeOGD, Scaler

    model = Scaler() | HingeOGD()
    for size in (1.0, 5.0, 2.0):
        model.learn_one({"size": size, "shape": "round"}, size > 3.0)
    text = model.debug_one({"size": 4.0, "shape": "round"})
    assert "shape=round = 1" in text
    assert "always = 1" in text


def test_hashed_features_are_found(maxloss, day):
    words = ["--target", "fraud", "--model", "HingeOGD", "--set", "hash_bits=12", "--no-scale", "--no-focus"]
    assert maxloss("tail", day, *words, "-c", "state", "-q").code == 0
    line = json.loads(maxloss("explain", "state", day, "--rows", 1, "-o", "jsonl").out)
    odds = math.log(line["probabilities"]["True"] / line["probabilities"]["False"])
    always = next(part["contribution"] for part in line["parts"] if part["condition"] == "always")
    assert abs(odds - always) > 1e-3
