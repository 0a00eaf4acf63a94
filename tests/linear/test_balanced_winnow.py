from __future__ import annotations

from stream_maxloss.linear import BalancedWinnow


def test_it_learns_a_target_that_is_not_monotone() -> None:
    model = BalancedWinnow(beta=1.5)
    for _ in range(50):
        model.learn_one({"a": 1.0, "b": 0.0}, False)
        model.learn_one({"a": 0.0, "b": 1.0}, True)
    assert model.weights["a"] < 0.0 < model.weights["b"]
    assert model.predict_one({"a": 1.0}) is False


def test_hashed_weights_show_only_what_was_learned() -> None:
    model = BalancedWinnow(hash_bits=6)
    assert model.weights == {}
    model.learn_one({"a": 1.0}, False)
    assert len(model.weights) == 1
