"""Answers about several classes are those of one row at a time, however the batches are cut."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pytest

from stream_maxloss.evaluate import Engine
from stream_maxloss.mixture import AutoClassifier

LABELS = {
    "texts": ["a", "b", "c"],
    "integers": [5, 7, 9],
    "0 and 1 before another": [0, 1, 2],
    "1 and 0 before -1": [1, 0, -1],
    "two texts": ["a", "b", "b"],
    "one text": ["a", "a", "a"],
}


@pytest.mark.parametrize("labels", [True, False], ids=["labels", "probabilities"])
@pytest.mark.parametrize("case", LABELS)
def test_a_batch_says_what_its_rows_would_say_one_by_one(case, labels):
    x = np.random.default_rng(0).normal(size=(700, 2))
    y = np.array(LABELS[case], dtype=object)[(x[:, 0] > 0).astype(int) + (x[:, 1] > 0.5)]
    y[:5] = LABELS[case][0]
    frame = pa.table({"p": x[:, 0], "q": x[:, 1]}).to_batches()[0]
    engine = Engine(AutoClassifier(seed=1), labels=labels, by_class=True)
    cuts = [0, 1, 3, 4, 300, 700]
    said = []
    for first, last in itertools.pairwise(cuts):
        said += engine.learn(frame.slice(first, last - first), y[first:last]).answers
    single = Engine(AutoClassifier(seed=1), labels=labels)
    for row, label in enumerate(y):
        values = {"p": float(x[row, 0]), "q": float(x[row, 1])}
        assert single.ask(values) == said[row], row
        single.learn_row(values, label, None)
