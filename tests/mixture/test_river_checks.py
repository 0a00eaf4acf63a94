"""River's own contract: every check that River yields, none skipped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from river import base, checks

from stream_maxloss.mixture import AutoClassifier, AutoRegressor

ESTIMATORS = {
    "normal": AutoClassifier(),
    "least": AutoClassifier(compute="least"),
    "small": AutoClassifier(memory=20),
    "regressor": AutoRegressor(),
    "squared": AutoRegressor(loss="squared", compute="least"),
}


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
    if isinstance(model, base.MiniBatchClassifier):
        assert "check_predict_proba_many_matches_predict_proba_one" in yielded
