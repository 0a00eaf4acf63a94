from __future__ import annotations

import numpy as np
import pytest

from stream_maxloss.concepts import Consistent, Stump


@pytest.mark.parametrize("seed", range(30))
def test_errs_at_most_one_less_than_the_size_of_the_class(seed, prequential_mistakes):
    rng = np.random.default_rng(seed)
    size, width = rng.integers(1, 40), rng.integers(1, 30)
    table = rng.random((size, width)) < rng.random()
    target = table[rng.integers(size)]
    stream = [({"column": int(c)}, bool(target[c])) for c in rng.integers(0, width, 200)]
    model = Consistent([lambda x, row=row: bool(row[x["column"]]) for row in table])
    assert prequential_mistakes(model, stream) <= model.mistake_bound == size - 1


def test_the_bound_is_reached_by_singletons_in_the_worst_order(prequential_mistakes):
    size = 9
    model = Consistent([lambda x, i=i: x["column"] == i for i in range(size)])
    stream = [({"column": column}, False) for column in range(size - 1)]
    assert prequential_mistakes(model, stream) == size - 1 == model.mistake_bound


def test_predicts_with_the_first_consistent_concept():
    model = Consistent([Stump("a", 1), Stump("b", 1)])
    assert model.predict_one({"a": 1, "b": 0}) is True
    model.learn_one({"a": 1, "b": 0}, False)
    assert model.predict_one({"a": 1, "b": 0}) is False
    assert model.predict_proba_one({"a": 1, "b": 0}) == {False: 1.0, True: 0.0}
