from __future__ import annotations

from river import base

from stream_maxloss.linear import Winnow


def test_theta_is_the_number_of_features_seen() -> None:
    model = Winnow()
    model.learn_one({"a": 1, "b": 1, "c": 1}, True)
    assert model.n_mistakes == 0
    assert model._model.score({"a": 1, "b": 1, "c": 1}) == 0.0
    model.learn_one({"d": 0}, False)
    assert model._model.score({"a": 1, "b": 1, "c": 1}) == -1.0


def test_features_never_learned_carry_no_weight_at_prediction() -> None:
    model = Winnow(theta=1.0)
    model.learn_one({"a": 0.5}, False)
    assert model.predict_one({"new": 1.0}) is False


def test_it_declares_that_it_takes_positive_input() -> None:
    assert base.tags.POSITIVE_INPUT in Winnow()._tags
