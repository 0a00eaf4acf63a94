from __future__ import annotations

import math

import numpy as np
import pytest

from stream_maxloss.concepts import Halving, Stump


@pytest.mark.parametrize("labels", [(False, True), ("red", "green", "blue"), (0, 1, 2, 3, 4)], ids=len)
@pytest.mark.parametrize("seed", range(30))
def test_errs_at_most_log2_of_the_class_size(seed, labels, prequential_mistakes):
    rng = np.random.default_rng(seed)
    size, width = rng.integers(1, 200), rng.integers(1, 40)
    table = rng.integers(0, len(labels), (size, width))
    target = table[rng.integers(size)]
    stream = [({"column": int(c)}, labels[target[c]]) for c in rng.integers(0, width, 200)]
    model = Halving([lambda x, row=row: labels[row[x["column"]]] for row in table])
    assert prequential_mistakes(model, stream) <= model.mistake_bound == math.floor(math.log2(size))


def test_the_bound_is_reached_when_every_vote_is_a_tie_lost(prequential_mistakes):
    # All 32 functions of five columns; ties go to the earliest concept, so the target is its opposite throughout.
    model = Halving([lambda x, code=code: not (code >> x["column"]) & 1 for code in range(32)])
    stream = [({"column": column}, False) for column in range(5)]
    assert prequential_mistakes(model, stream) == 5 == model.mistake_bound


def test_probabilities_are_shares_of_the_vote():
    model = Halving([Stump("a", 1), Stump("a", 2), Stump("a", 3), Stump("a", 4)])
    assert model.predict_proba_one({"a": 3}) == {True: 0.75, False: 0.25}
    assert model.predict_one({"a": 3}) is True


def test_a_tie_goes_to_the_earliest_concept():
    assert Halving([Stump("a", 1), Stump("a", 3)]).predict_one({"a": 2}) is True
    assert Halving([Stump("a", 3), Stump("a", 1)]).predict_one({"a": 2}) is False
