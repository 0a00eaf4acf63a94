"""`auto`: any target through `tail`, `predict`, `compare`, `inspect` and `hard`."""

from __future__ import annotations

import json
import random

import pytest

from stream_maxloss.checkpoint import CheckpointStore, take_model

WORDS = ["--target", "y", "--slice-by", "side"]


def write_rows(path, label, count=600):
    generator = random.Random(5)
    lines = ["a,b,side,y"]
    for _ in range(count):
        a, b = generator.gauss(0, 1), generator.gauss(0, 1)
        lines.append(f"{a:.5f},{b:.5f},{'left' if a < b else 'right'},{label(a, b)}")
    path.write_text("\n".join(lines) + "\n")
    return path


LABELS = {
    "three texts": (lambda a, b: "red" if a > 0.5 else "green" if b > 0 else "blue", ("red", "green", "blue")),
    "two texts": (lambda a, b: "spam" if a > b else "ham", ("ham", "spam")),
    "integers": (lambda a, b: 7 + (a > 0) + 2 * (b > 0), (7, 8, 9, 10)),
    "0, and 1 and 2 later": (lambda a, b: 2 if a > 2 else int(b > 0), (0, 1, 2)),
    "booleans": (lambda a, b: str(a > b).lower(), (False, True)),
    "0 and 1": (lambda a, b: int(a > b), (False, True)),
}


@pytest.fixture(params=LABELS)
def labelled(request, tmp_path):
    label, classes = LABELS[request.param]
    return write_rows(tmp_path / "rows.csv", label), classes


def records_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_any_labels_are_learned_and_predicted_as_they_are(maxloss, labelled, tmp_path):
    path, classes = labelled
    done = maxloss("tail", path, *WORDS, "-p", "out.jsonl", "-c", "run", "-o", "jsonl")
    assert done.code == 0, done.err
    end = json.loads(done.out.splitlines()[-1])
    accuracy = end["metric"]["Accuracy"]
    assert accuracy["total"] > accuracy["baseline"] + 0.1
    assert set(end["metric"]) == (
        {"Accuracy", "MacroF1", "CrossEntropy"} if len(classes) > 2 else {"Accuracy", "TailLoss"}
    )
    assert set(end["slices"]) == {"left", "right"}
    found = records_of(tmp_path / "out.jsonl")
    assert {type(record["label"]) for record in found} == {type(classes[0])}
    assert {record["prediction"] for record in found[1:]} <= set(classes)
    if classes == (False, True):
        assert set(found[-1]) == {"row", "label", "prediction", "probability"}
    else:
        shares = json.loads(found[-1]["probabilities"])
        assert set(shares) == set(map(str, classes))
        assert sum(shares.values()) == pytest.approx(1.0, abs=1e-6)
        assert found[-1]["probability"] == max(shares.values()) == shares[str(found[-1]["prediction"])]


def test_a_run_cut_short_continues_to_the_same_bits(maxloss, labelled, state_of, tmp_path):
    path, _ = labelled
    straight = [*WORDS, "--checkpoint-every", 150, "-c", "straight", "-p", "straight.jsonl", "-q"]
    assert maxloss("tail", path, *straight).code == 0
    resumed = [*WORDS, "--checkpoint-every", 150, "-c", "resumed", "-p", "resumed.jsonl", "-q"]
    for more in (["--limit", 1], ["--limit", 2], ["--limit", 3], ["--limit", 250], []):
        done = maxloss("tail", path, *resumed, *more)
        assert done.code == 0, done.err
    ignored = ("value predictions", "outputs")
    assert state_of(tmp_path / "resumed", ignored) == state_of(tmp_path / "straight", ignored)
    assert (tmp_path / "resumed.jsonl").read_bytes() == (tmp_path / "straight.jsonl").read_bytes()


def test_predict_says_what_the_model_of_the_checkpoint_says(maxloss, labelled, tmp_path):
    path, classes = labelled
    assert maxloss("tail", path, *WORDS, "-c", "run", "-q").code == 0
    scored = maxloss("predict", path, "-c", "run", "--target", "y", "-p", "out.jsonl")
    assert scored.code == 0, scored.err
    assert ("MacroF1" in scored.err) == (len(classes) > 2)
    blind = maxloss("predict", path, "-c", "run", "-p", "blind.jsonl")
    assert blind.code == 0, blind.err
    model = take_model(CheckpointStore(tmp_path / "run").load())
    first = path.read_text().splitlines()[1].split(",")
    expected = model.predict_one({"a": float(first[0]), "b": float(first[1])})
    assert records_of(tmp_path / "out.jsonl")[0]["prediction"] == expected
    assert records_of(tmp_path / "blind.jsonl")[0]["prediction"] == expected


def test_a_number_of_many_values_is_regression_and_reported_once(maxloss, tmp_path):
    path = write_rows(tmp_path / "rows.csv", lambda a, b: f"{3 * a * b + 7:.3f}")
    done = maxloss("tail", path, *WORDS, "-c", "run", "-o", "jsonl", "-p", "out.jsonl")
    assert done.code == 0, done.err
    assert done.err.count("add --task class") == 1
    mae = json.loads(done.out.splitlines()[-1])["metric"]["MAE"]
    assert mae["total"] < 0.8 * mae["baseline"]
    assert set(records_of(tmp_path / "out.jsonl")[0]) == {"row", "label", "prediction"}
    again = maxloss("tail", path, *WORDS, "-c", "run")
    assert again.code == 0, again.err
    assert "--task" not in again.err
    other = maxloss("tail", path, *WORDS, "-c", "run", "--task", "class")
    assert other.code == 4


def test_whole_numbers_are_learned_as_numbers_when_asked(maxloss, tmp_path):
    path = write_rows(tmp_path / "rows.csv", lambda a, b: round(4 * a))
    assert "MAE" in maxloss("tail", path, *WORDS, "--task", "number").out


def test_one_value_against_the_rest_is_binary(maxloss, tmp_path):
    path = write_rows(tmp_path / "rows.csv", LABELS["three texts"][0])
    done = maxloss("tail", path, *WORDS, "--positive", "red", "-p", "out.jsonl")
    assert done.code == 0, done.err
    assert set(records_of(tmp_path / "out.jsonl")[0]) == {"row", "label", "prediction", "probability"}


def test_classes_come_through_standard_input(maxloss, tmp_path):
    path = write_rows(tmp_path / "rows.csv", LABELS["three texts"][0])
    words = ["tail", "-", "--format", "csv", *WORDS, "-p", "out.jsonl"]
    done = maxloss(*words, data=path.read_bytes())
    assert done.code == 0, done.err
    assert set(json.loads(records_of(tmp_path / "out.jsonl")[-1]["probabilities"])) == {"red", "green", "blue"}


def test_options_reach_the_model_and_the_report_shows_them(maxloss, tmp_path):
    path = write_rows(tmp_path / "rows.csv", LABELS["booleans"][0])
    words = ["--model", "auto", "--window", 50, "--seed", 4, "--set", "compute=least", "-c", "run"]
    done = maxloss("tail", path, *WORDS, *words)
    assert done.code == 0, done.err
    assert "auto, compute=least" in done.out
    assert "the experts of most weight:" in done.out
    found = json.loads(maxloss("inspect", "run", "-o", "jsonl", "-k", 3).out)
    assert found["model"]["AutoClassifier"] == {"memory": 50, "compute": "least", "seed": 4, "objective": "mean"}
    assert len(found["experts"]["largest"]) == 3
    refused = maxloss("hard", "run")
    assert refused.code == 4
    assert "got compute='least'; train it with --set compute=normal" in refused.err


def test_hard_shows_rows_of_auto_with_what_speaks_for_and_against(maxloss, tmp_path):
    path = write_rows(tmp_path / "rows.csv", LABELS["three texts"][0], count=300)
    assert maxloss("tail", path, *WORDS, "-c", "run", "--set", "objective=tail").code == 0
    rows = [json.loads(line) for line in maxloss("hard", "run", "-k", 3, "-o", "jsonl").out.splitlines()]
    assert len(rows) == 3
    assert rows[0]["weight"] >= rows[1]["weight"]
    assert {"a", "b"} <= rows[0]["x"].keys()
    assert rows[0]["replays"] is None
    assert {"condition", "contribution"} == rows[0]["reasons"][0].keys()
    table = maxloss("hard", "run", "-k", 1).out
    assert rows[0]["reasons"][0]["condition"].split(" ")[0] in table
    found = json.loads(maxloss("inspect", "run", "-o", "jsonl").out)["experts"]
    assert 0.0 < found["focus"] < 1.0
    assert set(found["leaders"]) <= {"64", "128", "192", "256"}
    assert "focus has weight" in maxloss("tail", path, *WORDS).out


def test_a_run_of_an_earlier_default_continues_without_naming_its_model(maxloss, tmp_path):
    path = write_rows(tmp_path / "rows.csv", LABELS["booleans"][0])
    assert maxloss("tail", path, *WORDS, "--model", "HingeOGD", "-c", "run", "--limit", 300).code == 0
    done = maxloss("tail", path, *WORDS, "-c", "run")
    assert done.code == 0, done.err
    assert "600 rows" in done.out


DEFAULTS = {
    "three texts": ["auto,compute=least", "auto"],
    "0 and 1": ["HingeOGD,no-focus", "HingeOGD", "auto"],
}


@pytest.mark.parametrize("case", DEFAULTS)
def test_compare_takes_what_can_learn_the_target(maxloss, tmp_path, case):
    path = write_rows(tmp_path / "rows.csv", LABELS[case][0])
    done = maxloss("compare", path, *WORDS, "-o", "jsonl")
    assert done.code == 0, done.err
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert [line["model"] for line in lines] == [*DEFAULTS[case], "(constant)"]
    alone = json.loads(maxloss("tail", path, *WORDS, "-o", "jsonl").out.splitlines()[-1])
    auto = lines[-2]["metrics"]
    assert auto == {name: pytest.approx(score["total"], rel=1e-12) for name, score in alone["metric"].items()}
