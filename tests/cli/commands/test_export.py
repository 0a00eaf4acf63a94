"""Models for other programs: ONNX checked row by row with onnxruntime, JSON with a sum in plain Python."""

from __future__ import annotations

import csv
import json
import math

import numpy as np
import pytest

onnxruntime = pytest.importorskip("onnxruntime")

MODELS = {
    "scaled and focused": ["--model", "HingeOGD", "--window", 100],
    "bare": ["--model", "Perceptron", "--no-focus", "--no-scale"],
    "averaged": ["--model", "LLD", "--no-focus", "--set", "averaged=true"],
    "clipped": ["--model", "HingeOGD", "--no-focus", "--set", "scale.clip=1.5"],
    "BalancedWinnow": ["--model", "BalancedWinnow", "--no-focus"],
    "auto": ["--model", "auto"],
    "bins": ["--model", "made:bins"],
    "ferns": ["--model", "made:ferns"],
    "mixture": ["--model", "made:mixture"],
}
SINGLE = ("auto",)
"""Models whose kernels count in single precision."""

MADE = """
from stream_maxloss import Bins, Ferns, Logistic, Mixture

def bins():
    return Bins() | Logistic()

def ferns():
    return Ferns(seed=1) | Logistic()

def mixture():
    return Mixture([Logistic(), bins(), ferns()])
"""


@pytest.fixture
def gappy(day):
    """The file with missing numbers, a column that never changes, and a kind that comes late."""
    header, *rows = day.read_text().splitlines()
    lines = []
    for number, row in enumerate(rows):
        cells = row.split(",")
        if number % 7 == 3:
            cells[1] = ""
        if number > 400 and number % 5 == 0:
            cells[3] = "late, with a comma"
        lines.append(",".join([*(f'"{cell}"' if "," in cell else cell for cell in cells), "3"]))
    day.write_text("\n".join([header + ",fixed", *lines]) + "\n")
    return day


def rows_of(path):
    return list(csv.DictReader(path.open()))


def said(maxloss, path, tmp_path):
    assert maxloss("predict", path, "-c", "state", "-p", "out.jsonl", "-q").code == 0
    return [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("words", MODELS.values(), ids=MODELS)
def test_onnx_predicts_every_row_as_the_model_does(maxloss, gappy, tmp_path, words):
    (tmp_path / "made.py").write_text(MADE)
    assert maxloss("tail", gappy, "--target", "fraud", *words, "-c", "state", "-q").code == 0
    done = maxloss("export", "state", "--to", "onnx", "--file", "model.onnx")
    assert done.code == 0, done.err
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    rows = rows_of(gappy)
    feed = {}
    for part in session.get_inputs():
        values = [row[part.name] for row in rows]
        if part.type == "tensor(string)":
            feed[part.name] = np.array(values, dtype=object).reshape(-1, 1)
        else:
            feed[part.name] = np.array([float(v) if v else math.nan for v in values]).reshape(-1, 1)
    labels, shares = session.run(["label", "probability"], feed)
    expected = said(maxloss, gappy, tmp_path)
    tolerance = 1e-5 if words[1] in SINGLE else 1e-9
    assert labels.tolist() == [row["prediction"] for row in expected]
    assert shares == pytest.approx([row["probability"] for row in expected], abs=tolerance)


def test_onnx_of_a_regressor(maxloss, day, tmp_path):
    words = ["--target", "a", "--features", "b,c,kind", "--model", "AbsoluteOGD", "--no-focus", "-c", "state", "-q"]
    assert maxloss("tail", day, *words).code == 0
    assert maxloss("export", "state", "--to", "onnx", "-f", "model.onnx").code == 0
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    rows = rows_of(day)
    feed = {name: np.array([[float(row[name])] for row in rows]) for name in ("b", "c")}
    feed["kind"] = np.array([[row["kind"]] for row in rows], dtype=object)
    (values,) = session.run(["value"], feed)
    assert values == pytest.approx([row["prediction"] for row in said(maxloss, day, tmp_path)], abs=1e-9)


@pytest.mark.parametrize("words", [MODELS["scaled and focused"], MODELS["clipped"]], ids=["focused", "clipped"])
def test_json_has_all_that_a_prediction_needs(maxloss, gappy, tmp_path, words):
    assert maxloss("tail", gappy, "--target", "fraud", *words, "-c", "state", "-q").code == 0
    form = json.loads(maxloss("export", "state").out)["linear"]
    clip = math.inf if form["clip"] is None else form["clip"]
    for row, expected in zip(rows_of(gappy), said(maxloss, gappy, tmp_path), strict=True):
        score = form["intercept"]
        for column in form["numbers"]:
            if row[column["name"]] and column["deviation"]:
                scaled = (float(row[column["name"]]) - column["mean"]) / column["deviation"]
                score += column["weight"] * min(clip, max(-clip, scaled))
        score += sum(column["weights"].get(row[column["name"]], 0.0) for column in form["texts"])
        assert expected["probability"] == pytest.approx(1 / (1 + math.exp(-score)), abs=1e-9)


def test_the_words_of_a_text_and_parts_of_a_date_are_inputs_and_are_named(maxloss, tmp_path):
    texts = [f"{'win a prize ' if i % 3 == 0 else 'see you at home '}word{i % 7} other" for i in range(300)]
    lines = [f"{text},2026-01-{1 + i % 28:02d},{int(i % 3 == 0)}" for i, text in enumerate(texts)]
    (tmp_path / "sms.csv").write_text("\n".join(["msg,day,spam", *lines]) + "\n")
    assert maxloss("tail", "sms.csv", "--target", "spam", "--text", "msg", "-c", "state", "-q").code == 0
    done = maxloss("export", "state", "--to", "onnx", "-f", "m.onnx")
    assert done.code == 0, done.err
    assert "inputs made of columns, as docs/columns.md says how: day." in done.err
    assert "the words or texts of a row, filled up with empty ones: msg" in done.err
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    feed = {part.name: np.array([[math.nan]]) for part in session.get_inputs()}
    shares = []
    for words in (["win", "a", "prize"], ["see", "you", ""]):
        feed["msg"] = np.array([words], dtype=object)
        shares.append(session.run(["probability"], feed)[0].item())
    assert shares[0] > 0.5 > shares[1]


def test_json_of_auto_has_its_arrays(maxloss, day):
    assert maxloss("tail", day, "--target", "fraud", "-c", "state", "-q").code == 0
    found = json.loads(maxloss("export", "state", "--to", "json").out)
    assert found["model"]["class"].endswith("AutoClassifier")
    assert any(name.endswith("test_threshold") for name in found["arrays"])
    assert "linear" not in found


@pytest.mark.parametrize(
    ("model", "words", "message"),
    [
        (["--model", "HingeOGD"], ["--to", "onnx"], "--to onnx must come with a file; add --file model.onnx"),
        (
            ["--model", "HingeOGD", "--set", "focus.output=majority"],
            ["--to", "onnx", "-f", "m.onnx"],
            "must come with a focus of output 'last', got 'majority'; use --to json",
        ),
        (["--model", "HingeOGD"], ["--to", "pmml"], "--to must be onnx or json, got 'pmml'"),
        (["--model", "HingeOGD"], ["-f", "no/such/place"], "--file must be a writable file"),
        (
            ["--model", "HingeOGD", "--set", "hash_bits=8", "--no-scale"],
            ["--to", "onnx", "-f", "m.onnx"],
            "must come with features by name, got hashed ones",
        ),
    ],
    ids=["no file", "snapshots", "no such form", "no such place", "hashed"],
)
def test_what_cannot_be_written_is_one_line(maxloss, day, model, words, message):
    assert maxloss("tail", day, "--target", "fraud", *model, "-c", "state", "-q").code == 0
    done = maxloss("export", "state", *words)
    assert done.code == 2
    assert message in done.err
    assert done.err.count("\n") == 1
