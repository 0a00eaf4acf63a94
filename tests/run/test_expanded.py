"""Runs of models that are made of bins, ferns and mixtures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stream_maxloss import Bins, Ferns, FocusedClassifier, Logistic, Mixture, Scaler, run

MODELS: dict[str, Callable[[], Any]] = {
    "bins": lambda: Bins(rows=50) | FocusedClassifier(Logistic(), window=100, seed=1),
    "ferns": lambda: Ferns(rows=50, seed=1) | Logistic(),
    "mixture": lambda: Mixture([Scaler() | Logistic(), Ferns(rows=50, seed=1) | Logistic()]),
}


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    draw = np.random.default_rng(1)
    lines = ["x,y,shape,kind"]
    for row in range(600):
        x, y, shape = draw.normal(), draw.normal(), draw.choice(["round", "flat", ""])
        kind = "none" if row < 70 else "odd" if shape == "flat" and x > 0 else "same" if x * y > 0 else "none"
        lines.append(f"{x:.3f},{y:.3f},{shape},{kind}")
    path = tmp_path / "day.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("name", MODELS)
def test_a_run_that_is_cut_and_resumed_scores_and_learns_the_same(name: str, stream: Path, tmp_path: Path) -> None:
    places = {"checkpoint": tmp_path / "state", "metrics": ["accuracy", "crossentropy"], "task": "class"}
    with run.Tail(stream, MODELS[name](), run.Columns("kind"), limit=230, **places) as tail:
        tail.run()
    with run.Tail(stream, MODELS[name](), run.Columns("kind"), **places) as tail:
        resumed, model = tail.run(), tail.model
    with run.Tail(stream, MODELS[name](), run.Columns("kind"), metrics=places["metrics"], task="class") as tail:
        straight, other = tail.run(), tail.model
    row = {"x": 0.3, "y": -0.2, "shape": "flat"}
    assert resumed.rows == straight.rows == 600
    assert resumed.values == straight.values
    assert model.predict_proba_one(row) == other.predict_proba_one(row)
