"""Models as ONNX say of every row what the models say, by onnxruntime."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from stream_maxloss import AutoClassifier, AutoRegressor, Mixture
from stream_maxloss.errors import UsageError
from stream_maxloss.expand import Bins, Ferns
from stream_maxloss.focus import FocusedClassifier
from stream_maxloss.linear import HingeOGD, Logistic, Perceptron, Scaler
from stream_maxloss.run.onnx import onnx_model

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

NUMBERS, TEXTS = ["size", "price", "fixed", "rare"], {"shape": 1, "tags": None}
SHAPES = ["round", "square", "flat", "a=b"]


def make_rows(count: int, seed: int = 1):
    """Return rows with absent numbers and texts, and a number, of which labels can be made."""
    draw = random.Random(seed)
    for place in range(count):
        row = {"size": draw.gauss(0, 2), "price": draw.expovariate(0.001), "fixed": 3.0, "shape": draw.choice(SHAPES)}
        row["tags"] = draw.sample(["red", "blue", "new", "old"], draw.randrange(4))
        if draw.random() < 0.2:
            del row[draw.choice(["size", "price", "shape"])]
        if place > count // 2 and draw.random() < 0.3:
            row["rare"] = draw.random()
        value = row.get("size", 0.0) ** 2 + (row.get("shape") == "flat") * 3 + ("red" in row["tags"]) - 4
        yield row, value + draw.gauss(0, 0.5)


def run(model, rows):
    """Return what onnxruntime says of rows, by the name of the output."""
    made = onnx_model(model, NUMBERS, TEXTS)
    session = onnxruntime.InferenceSession(made.data, providers=["CPUExecutionProvider"])
    feed = {}
    for part in session.get_inputs():
        if part.type == "tensor(string)":
            lists = [row.get(part.name, []) for row in rows]
            lists = [[one] if isinstance(one, str) else list(one) for one in lists]
            width = max(1, *map(len, lists))
            feed[part.name] = np.array([one + [""] * (width - len(one)) for one in lists], dtype=object)
        else:
            feed[part.name] = np.array([[row.get(part.name, math.nan)] for row in rows])
    return dict(zip([part.name for part in session.get_outputs()], session.run(None, feed), strict=True))


BINARY = {
    "scaled": (lambda: Scaler() | Logistic(), 1e-9),
    "focused": (lambda: Scaler() | FocusedClassifier(HingeOGD(), seed=1), 1e-9),
    "bins": (lambda: Bins() | Logistic(), 1e-9),
    "ferns": (lambda: Ferns(seed=1) | Logistic(), 1e-9),
    "ferns of all": (lambda: Ferns(seed=1, keep="all", ferns=7) | Logistic(), 1e-9),
    "scaled ferns": (lambda: Scaler() | Ferns(seed=1) | Logistic(), 1e-9),
    "mixture": (lambda: Mixture([Logistic(), Bins() | Logistic(), Ferns(seed=2) | Logistic()]), 1e-9),
    "auto": (lambda: AutoClassifier(seed=1), 1e-5),
    "auto, least": (lambda: AutoClassifier(seed=1, compute="least"), 1e-5),
    "mixture with auto": (lambda: Mixture([Logistic(), AutoClassifier(seed=1, compute="least")]), 1e-5),
}


@pytest.mark.parametrize("case", BINARY)
def test_two_classes_have_the_probabilities_of_the_model(case):
    make, tolerance = BINARY[case]
    model = make()
    for row, value in make_rows(1200):
        model.learn_one(row, value > 0)
    rows = [row for row, _ in make_rows(300, seed=2)] + [{"shape": "never seen", "size": 1e300}, {}]
    said = run(model, rows)
    expected = [model.predict_proba_one(row) for row in rows]
    assert said["probability"] == pytest.approx([share[True] for share in expected], abs=tolerance)
    assert said["probabilities"].sum(axis=1) == pytest.approx(1.0)
    clear = [abs(share[True] - 0.5) > tolerance for share in expected]
    assert said["label"][clear].tolist() == [model.predict_one(row) for row in np.array(rows)[clear]]


@pytest.mark.parametrize("rows", [50, 1200])
@pytest.mark.parametrize("make", [lambda: AutoClassifier(seed=1), lambda: Bins() | Logistic()], ids=["auto", "bins"])
def test_three_classes(make, rows):
    model = make()
    for row, value in make_rows(rows):
        model.learn_one(row, "low" if value < -2 else "middle" if value < 2 else "high")
    asked = [row for row, _ in make_rows(300, seed=2)]
    said = run(model, asked)
    expected = np.array([list(model.predict_proba_one(row).values()) for row in asked])
    assert said["probabilities"] == pytest.approx(expected, abs=1e-5)
    assert (said["label"] == [model.predict_one(row) for row in asked]).mean() > 0.99


@pytest.mark.parametrize("rows", [50, 1200])
def test_a_number_of_auto(rows):
    model = AutoRegressor(seed=1)
    for row, value in make_rows(rows):
        model.learn_one(row, 100.0 * value)
    asked = [row for row, _ in make_rows(300, seed=2)]
    expected = np.array([model.predict_one(row) for row in asked])
    assert run(model, asked)["value"] == pytest.approx(expected, abs=1e-5 * np.abs(expected).max())


def test_two_classes_of_texts_have_their_names():
    model = Scaler() | Logistic()
    for row, value in make_rows(300):
        model.learn_one(row, "ham" if value > 0 else "spam")
    rows = [row for row, _ in make_rows(100, seed=2)]
    said = run(model, rows)
    assert said["label"].tolist() == [model.predict_one(row) for row in rows]
    expected = np.array([list(model.predict_proba_one(row).values()) for row in rows])
    assert said["probabilities"] == pytest.approx(expected, abs=1e-9)
    assert "probability" not in said


def test_many_classes_that_fold_the_leaves():
    model = AutoClassifier(seed=1)
    for row, value in make_rows(1500):
        model.learn_one(row, int(value) % 40)
    asked = [row for row, _ in make_rows(100, seed=2)]
    expected = np.array([list(model.predict_proba_one(row).values()) for row in asked])
    assert run(model, asked)["probabilities"] == pytest.approx(expected, abs=1e-5)


def test_inputs_that_are_made_of_columns_are_named():
    model = Scaler() | Logistic()
    model.learn_one({"when.hour_sin": 0.5, "shape": "flat", "tags": ["red"], "size": 1.0}, True)
    made = onnx_model(model, NUMBERS, TEXTS)
    assert (made.made, made.words) == (["when.hour_sin"], ["tags"])


def test_what_has_no_such_form_is_refused():
    from river import linear_model

    with pytest.raises(UsageError, match="a mixture of them, got LogisticRegression; use --to json"):
        onnx_model(linear_model.LogisticRegression(), NUMBERS, TEXTS)
    with pytest.raises(UsageError, match="two classes or more"):
        onnx_model(AutoClassifier(), NUMBERS, TEXTS)


@pytest.mark.parametrize("name", ["", "label", "probabilities"])
def test_columns_that_cannot_be_inputs_are_refused(name):
    model = Perceptron()
    model.learn_one({name: 1.0}, True)
    with pytest.raises(UsageError, match=f"a column must have a name that ONNX can use, got {name!r}"):
        onnx_model(model, [name], {})


@pytest.mark.parametrize("name", ["n0", "c0", "n1", "c1"])
def test_columns_may_be_called_as_they_like(name):
    model = Perceptron()
    model.learn_one({name: 1.0}, True)
    assert onnx_model(model, [name], {}).data
