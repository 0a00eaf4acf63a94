"""Reports that can be trusted: slices by a written rule, what is undefined, and what is no better than guessing."""

from __future__ import annotations

import json
import random

import pytest


@pytest.fixture
def flights(tmp_path):
    """Rows of forty airports; one of them has no delay, and the feature says nothing."""
    generator = random.Random(5)
    lines = ["a,airport,late"]
    for _ in range(4000):
        airport = f"A{generator.randrange(40)}"
        lines.append(f"{generator.gauss(0, 1):.4f},{airport},{int(airport != 'A7' and generator.random() < 0.3)}")
    path = tmp_path / "flights.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


WORDS = ["--target", "late", "--slice-by", "airport", "--model", "HingeOGD", "--report-every", 2000]


def test_the_rule_stands_beside_the_worst_slice_and_only_the_top_ones_are_shown(maxloss, flights):
    out = maxloss("tail", flights, *WORDS, "--slices", 4).out
    table = out.split("airport ")[1].splitlines()
    assert table[1].split()[1:3] == ["<-", "worst"]
    assert table[6] == "36 more slices"
    assert table[7] == "worst: its 95 % interval (Wilson) of Accuracy ends lowest, of the slices with at least 30 rows"
    assert f"{table[1].split()[0]}: Accuracy" in table[8]
    assert "more slices" not in maxloss("tail", flights, *WORDS, "--slices", "all").out


def test_a_recall_without_positives_is_undefined_and_not_the_worst(maxloss, flights):
    done = maxloss("tail", flights, *WORDS, "--metric", "Recall", "-o", "jsonl")
    end = json.loads(done.out.splitlines()[-1])
    assert end["slices"]["A7"]["Recall"] is None
    assert end["worst_slice"]["name"] != "A7"
    assert list(end["slices"])[-1] == "A7"
    assert next(iter(end["slices"])) == end["worst_slice"]["name"]
    text = maxloss("tail", flights, *WORDS, "--metric", "Recall", "--slices", "all").out
    assert next(line for line in text.splitlines() if line.strip().startswith("A7 ")).split()[-1] == "undefined"


def test_a_model_that_is_no_better_than_a_constant_is_called_that(maxloss, flights):
    done = maxloss("tail", flights, *WORDS)
    assert "no better than the same prediction for every row: Accuracy" in done.out
    assert "no better" in json.loads(maxloss("tail", flights, *WORDS, "-o", "jsonl").out.splitlines()[-1])["no_better"]


def test_a_label_that_repeats_itself_is_the_measure(maxloss, tmp_path):
    lines = [f"{random.Random(i).gauss(0, 1):.4f},{i // 100 % 2}" for i in range(3000)]
    (tmp_path / "runs.csv").write_text("\n".join(["a,y", *lines]) + "\n")
    done = maxloss("tail", "runs.csv", "--target", "y", "--model", "HingeOGD", "--no-focus")
    assert "no better than the label of the row before: Accuracy" in done.out
    assert f"against {1 - 29 / 2999:.4f} for that" in done.out


def test_a_good_model_is_not_talked_down(maxloss, day):
    assert "no better" not in maxloss("tail", day, "--target", "fraud", "--model", "HingeOGD").out


def test_what_is_reported_about_the_last_label_outlives_a_resume(maxloss, flights):
    for limit in (1500, 4000):
        done = maxloss("tail", flights, *WORDS, "-c", "state", "--limit", limit)
    straight = maxloss("tail", flights, *WORDS)
    line = next(line for line in straight.out.splitlines() if "no better" in line)
    assert line in done.out


def test_rates_are_of_this_run_and_totals_apart(maxloss, day):
    for limit in (300, 500):
        done = maxloss("tail", day, "--target", "fraud", "--model", "HingeOGD", "-c", "state", "--limit", limit)
    assert "500 rows in all; this run: 200 in " in done.out
    assert "500 rows in all; this run: 0 in " in maxloss("tail", day, "--target", "fraud", "-c", "state").out


def test_slices_must_be_a_number_or_all(maxloss, flights):
    done = maxloss("tail", flights, *WORDS, "--slices", "many")
    assert done.code == 2
    assert done.err.strip() == "maxloss: --slices must be a number or all, got 'many'"
