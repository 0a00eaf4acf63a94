from __future__ import annotations

import pytest

from stream_maxloss.linear import Perceptron


def test_a_score_of_0_is_positive_and_still_taught() -> None:
    model = Perceptron()
    assert model.predict_one({"a": 1.0}) is True
    model.learn_one({"a": 1.0}, True)
    assert (model.weights, model.intercept, model.n_mistakes) == ({"a": 1.0}, 1.0, 0)


def test_a_row_that_is_right_teaches_nothing() -> None:
    model = Perceptron()
    model.learn_one({"a": 1.0}, True)
    model.learn_one({"a": 2.0}, True)
    assert model.weights == {"a": 1.0}
    assert model.n_rows == 2


def test_without_an_intercept_there_is_none() -> None:
    model = Perceptron(intercept=False)
    model.learn_one({"a": 2.0}, False, w=3.0)
    assert (model.weights, model.intercept, model.n_mistakes) == ({"a": -6.0}, 0.0, 1)


def test_probability_is_the_logistic_function_of_the_score() -> None:
    model = Perceptron()
    model.learn_one({"a": 1.0}, True)
    assert model.predict_proba_one({"a": 1.0}) == pytest.approx({True: 0.8807970779, False: 0.1192029221})
