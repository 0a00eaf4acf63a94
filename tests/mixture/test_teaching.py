"""Lessons: what they choose, what they leave."""

from __future__ import annotations

import numpy as np

from stream_maxloss.mixture import AutoClassifier
from stream_maxloss.mixture import fields as f
from stream_maxloss.mixture.reading import TAUGHT
from stream_maxloss.mixture.teaching import teach


def crossed(rows: int, columns: int = 12) -> tuple[list[dict[str, float]], list[bool]]:
    """Return rows whose label is the exclusive or of two of many columns: no column tells anything alone."""
    draw = np.random.default_rng(1)
    X = draw.normal(size=(rows, columns))
    return [{f"x{j}": float(v) for j, v in enumerate(row)} for row in X], (X[:, 3] * X[:, 7] > 0).tolist()


def test_a_lesson_takes_the_best_first_test_and_starts_the_leaves_from_the_residuals() -> None:
    x, y = crossed(130)
    y = [row["x3"] > 0.2 for row in x]
    model = AutoClassifier(seed=1)
    for row, label in zip(x, y, strict=True):
        model.learn_one(row, label)
    memory = model._model.memory
    kept = memory.kept
    scores = memory["kept_score"][:kept, 0].astype(np.float64)
    residuals = np.array(y) - 1.0 / (1.0 + np.exp(-scores))
    best, chosen = -1.0, (0, 0)
    for number, count in enumerate(memory["num_edges"]):
        for edge in range(count):
            above = memory["kept_codes"][:kept, number] > edge
            gain = sum(residuals[part].sum() ** 2 / (part.sum() + 1.0) for part in (above, ~above))
            if gain > best + 1e-9:
                best, chosen = gain, (number, edge)
    fern = teach(memory.table, kept)
    assert memory["group"][fern] == TAUGHT
    assert memory["test_number"][fern, 0] == chosen[0]
    assert memory["test_threshold"][fern, 0] == memory["edges"][chosen]
    after = memory["kept_score"][:kept, 0].astype(np.float64)
    loss = [np.log1p(np.exp(np.where(y, -s, s))).mean() for s in (scores, after)]
    assert loss[1] < loss[0]


def test_lessons_find_a_pair_of_columns_that_only_matter_together() -> None:
    x, y = crossed(2500)
    right = {}
    for compute in ("least", "normal"):
        model = AutoClassifier(seed=1, compute=compute)
        right[compute] = 0
        for i, (row, label) in enumerate(zip(x, y, strict=True)):
            right[compute] += i >= 1500 and model.predict_one(row) == label
            model.learn_one(row, label)
    assert right["normal"] > 850
    assert right["normal"] > right["least"] + 50


def test_lessons_come_when_they_are_due() -> None:
    x, y = crossed(1400)
    model = AutoClassifier(seed=1, memory=200)
    for row, label in zip(x, y, strict=True):
        model.learn_one(row, label)
    memory = model._model.memory
    # The first after 100 rows, the next after a sixteenth of the rows so far, but at least 40.
    lessons, due = 0, 100
    while due <= 1400:
        lessons, due = lessons + 1, due + max(40, due // 16)
    assert memory["header"][f.LESSONS] == lessons
    assert (memory["group"] == TAUGHT).sum() == lessons


def test_constant_columns_are_never_tested() -> None:
    model = AutoClassifier(seed=1)
    for i in range(150):
        model.learn_one({"fixed": 5.0, "x": float(i % 7)}, i % 7 > 3)
    memory = model._model.memory
    assert memory["place"][model._model.features.find("fixed")] == -1
    assert len(memory["num_edges"]) == 1


def test_a_stream_of_constants_alone_is_learned() -> None:
    model = AutoClassifier(seed=1)
    draw = np.random.default_rng(1)
    for _ in range(450):
        model.learn_one({"fixed": 5.0}, bool(draw.random() < 0.25))
    assert 0.1 < model.predict_proba_one({"fixed": 5.0})[True] < 0.4
    # A column that begins to vary later gets thresholds and ferns then.
    for i in range(1300):
        model.learn_one({"fixed": float(i % 10)}, i % 10 > 4)
    assert model.predict_one({"fixed": 9.0})
    assert not model.predict_one({"fixed": 1.0})
