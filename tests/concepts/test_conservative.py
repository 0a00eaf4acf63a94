from __future__ import annotations

import math

import numpy as np
import pytest
from river import base, datasets, linear_model, naive_bayes

from stream_maxloss.concepts import Conservative, Consistent, Elimination, Halving


class Recorder(base.Classifier):
    """Predicts one label and keeps what it is taught."""

    def __init__(self, answer=True):
        self.answer = answer
        self.taught = []

    def learn_one(self, x, y, **kwargs):
        self.taught.append((x["row"], y, kwargs))

    def predict_one(self, x, **kwargs):
        return self.answer


def test_passes_on_only_mistakes_with_their_arguments():
    inner = Recorder()
    model = Conservative(inner)
    for row, y in enumerate([True, False, np.bool_(True), np.bool_(False), 1, 0, -1]):
        model.learn_one({"row": row}, y, w=2.0)
    assert [row for row, _, _ in inner.taught] == [1, 3, 5, 6]
    assert all(kwargs == {"w": 2.0} for _, _, kwargs in inner.taught)
    assert (model.mistakes, model.rows) == (4, 7)


def test_no_prediction_is_a_mistake():
    model = Conservative(naive_bayes.GaussianNB())
    assert model.predict_one({"a": 1.0}) is None
    model.learn_one({"a": 1.0}, "first")
    assert model.predict_one({"a": 1.0}) == "first"


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("learner", [Consistent, Halving])
def test_keeps_the_mistake_bound_of_a_finite_class(learner, seed, prequential_mistakes):
    rng = np.random.default_rng(seed)
    size, width = rng.integers(1, 60), rng.integers(1, 20)
    table = rng.random((size, width)) < 0.5
    target = table[rng.integers(size)]
    stream = [({"column": int(c)}, bool(target[c])) for c in rng.integers(0, width, 200)]
    inner = learner([lambda x, row=row: bool(row[x["column"]]) for row in table])
    model = Conservative(inner)
    mistakes = prequential_mistakes(model, stream)
    # On ER, the rows it was fed, the inner learner erred every time: M mistakes of A' are M mistakes of A.
    assert mistakes == model.mistakes == inner.mistakes == inner.state_dict()["rows"]
    assert mistakes <= (size - 1 if learner is Consistent else math.floor(math.log2(size)))


@pytest.mark.parametrize("seed", range(20))
def test_keeps_the_mistake_bound_of_elimination(seed, prequential_mistakes):
    rng = np.random.default_rng(seed)
    width = int(rng.integers(1, 15))
    signs = rng.integers(-1, 2, width)
    rows = [{f"z{j}": bool(b) for j, b in enumerate(bits)} for bits in rng.random((200, width)) < rng.random()]
    stream = [(x, any((s == 1) == x[f"z{j}"] for j, s in enumerate(signs) if s)) for x in rows]
    assert prequential_mistakes(Conservative(Elimination()), stream) <= width + 1


def test_hypothesis_moves_on_mistakes_only():
    model = Conservative(linear_model.LogisticRegression())
    for x, y in datasets.Phishing().take(300):
        before = dict(model.model.weights)
        correct = model.predict_one(x) == y
        model.learn_one(x, y)
        assert (dict(model.model.weights) == before) == correct


def test_refuses_what_is_not_a_classifier():
    with pytest.raises(TypeError, match="model must be a River classifier, got LinearRegression"):
        Conservative(linear_model.LinearRegression())
