"""River's own contract: every public estimator passes every check that River yields for it, none skipped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from river import base, checks

from learners import PUBLIC
from stream_maxloss import linear


def estimators() -> Iterator[tuple[str, Any]]:
    yield "Scaler", linear.Scaler()
    for name, learner in PUBLIC.items():
        yield name, learner()
        # Winnow takes features in [0, 1] only, and scaled ones lie around 0.
        if name != "Winnow":
            yield f"Scaler|{name}", linear.Scaler() | learner()
    yield "Perceptron-averaged", linear.Perceptron(averaged=True)
    yield "Pegasos-averaged", linear.Pegasos(averaged=True)
    yield "Perceptron-hashed", linear.Perceptron(hash_bits=5)
    yield "Winnow-hashed", linear.Winnow(theta=10.0, hash_bits=5)
    yield "LLM-adaptive", linear.LLM(update_epsilon=True)
    yield "MarginPursuit-data", linear.MarginPursuit(scale="data", warmup=20)


ESTIMATORS = dict(estimators())


def cases() -> Iterator[Any]:
    for name, model in ESTIMATORS.items():
        for place, check in enumerate(checks.yield_checks(model)):
            yield pytest.param(model, check, id=f"{name}-{place}-{check.__name__}")


@pytest.mark.parametrize(("model", "check"), list(cases()))
def test_estimator_passes_the_check(model: Any, check: Any) -> None:
    check(model.clone())


@pytest.mark.parametrize("name", ESTIMATORS)
def test_no_check_is_skipped_and_the_two_speeds_are_compared(name: str) -> None:
    model = ESTIMATORS[name]
    assert not model._unit_test_skips()
    yielded = {check.__name__ for check in checks.yield_checks(model)}
    assert "check_learn_many_matches_learn_one" in yielded
    if isinstance(model, base.Classifier):
        assert "check_predict_proba_many_matches_predict_proba_one" in yielded


def test_every_public_learner_is_a_mini_batch_estimator_of_river() -> None:
    for learner in PUBLIC.values():
        assert issubclass(learner, base.MiniBatchClassifier | base.MiniBatchRegressor)
    assert issubclass(linear.Scaler, base.MiniBatchTransformer)
