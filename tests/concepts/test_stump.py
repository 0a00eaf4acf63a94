from __future__ import annotations

import pickle

import pytest

from stream_maxloss.concepts import Stump


@pytest.mark.parametrize(("value", "answer"), [(2.0, True), (1.5, True), (1.4, False), (None, False)])
def test_answers_by_the_threshold(value, answer):
    assert Stump("a", 1.5)({"a": value}) is answer
    assert Stump("a", 1.5, above=False)({"a": value}) is not answer


def test_pickles_and_compares_by_value():
    assert pickle.loads(pickle.dumps(Stump("a", 1))) == Stump("a", 1)
