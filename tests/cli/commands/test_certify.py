from __future__ import annotations

import json
import random

import pytest


@pytest.fixture
def separable(tmp_path):
    """Rows that a line separates, with a gap, in a file."""
    rng = random.Random(0)
    rows = []
    while len(rows) < 4000:
        a, b = rng.gauss(0, 1), rng.gauss(0, 1)
        if abs(2 * a - b) > 0.3:
            rows.append(f"{a:.4f},{b:.4f},{int(2 * a - b > 0)}")
    path = tmp_path / "separable.csv"
    path.write_text("\n".join(["a,b,label", *rows]) + "\n")
    return path


def certified_row(text: str) -> int:
    return int(text.split("certified at row ")[1].split(":")[0].replace(",", ""))


def test_stops_at_the_very_row_that_earns_the_certificate(maxloss, separable):
    done = maxloss("tail", separable, "--target", "label", "--certify", "0.05", "-o", "jsonl")
    assert done.code == 0, done.err
    assert "an error of at most 0.05 (delta 0.05)" in done.err
    end = json.loads(done.out.splitlines()[-1])
    assert end["rows"] == end["learned"] == certified_row(done.err) < 4000


def test_the_certificate_is_the_library_s(maxloss, separable):
    import pyarrow.csv

    from stream_maxloss.concepts import OnlineToPAC
    from stream_maxloss.linear import Perceptron

    words = ["--certify", "0.05,0.01", "--model", "perceptron", "--no-focus", "--no-scale"]
    done = maxloss("tail", separable, "--target", "label", *words)
    model = OnlineToPAC(Perceptron(), 0.05, 0.01)
    for row in pyarrow.csv.read_csv(separable).to_pylist():
        label = row.pop("label")
        model.learn_one(row, bool(label))
        if model.ready:
            break
    assert certified_row(done.err) == model.certificate.rows
    assert f"after {model.certificate.stage_rows} rows" in done.err


def test_a_certified_run_is_over_and_predicts_with_what_was_certified(maxloss, separable):
    words = ["tail", separable, "--target", "label", "--model", "HingeOGD", "--certify", "0.05", "-c", "run"]
    first = maxloss(*words)
    again = maxloss(*words)
    assert certified_row(again.err) == certified_row(first.err)
    shown = json.loads(maxloss("inspect", "run", "-o", "jsonl").out)
    assert shown["certificate"]["certified"] is True
    assert shown["certificate"]["rows"] == certified_row(first.err) == shown["counters"]["rows"]
    scored = maxloss("predict", separable, "-c", "run", "--target", "label", "-p", "out.jsonl")
    accuracy = float(scored.err.split("Accuracy")[1].split()[0])
    assert accuracy >= 0.95


def test_a_run_cut_short_continues_to_the_same_certificate(maxloss, separable):
    words = ["tail", separable, "--target", "label", "--model", "HingeOGD", "--certify", "0.05"]
    straight = maxloss(*words)
    stopped = maxloss(*words, "-c", "run", "--limit", "60")
    assert "not certified" in stopped.err
    resumed = maxloss(*words, "-c", "run")
    assert certified_row(resumed.err) == certified_row(straight.err)


def test_says_what_is_missing_when_the_rows_end_first(maxloss, separable):
    done = maxloss("tail", separable, "--target", "label", "--certify", "0.0001")
    assert done.code == 0
    assert "not certified: an error of at most 0.0001 (delta 0.05) takes" in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--certify", "soon"], "--certify must be EPSILON[,DELTA], got 'soon'"),
        (["--certify", "1.5"], "epsilon must lie strictly between 0 and 1, got 1.5"),
        (["--certify", "0.1,0"], "delta must lie strictly between 0 and 1, got 0.0"),
        (["--certify", "0.1", "--model", "absolute"], "--certify must come with a classifier"),
    ],
    ids=["text", "epsilon", "delta", "regressor"],
)
def test_refuses_what_cannot_be_certified(maxloss, separable, words, message):
    done = maxloss("tail", separable, "--target", "label", *words)
    assert done.code == 2
    assert message in done.err
    assert len(done.err.splitlines()) == 1
