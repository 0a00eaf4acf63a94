from __future__ import annotations

import pytest
from river import checks

from stream_maxloss.concepts import Conservative, Consistent, Elimination, Halving, OnlineToPAC

ESTIMATORS = [
    estimator(**parameters)
    for estimator in (Consistent, Halving, Elimination, Conservative, OnlineToPAC)
    for parameters in estimator._unit_test_params()
]


@pytest.mark.parametrize(
    ("model", "check"),
    [
        pytest.param(model, check, id=f"{model}-{number}-{check.__name__}")
        for model in ESTIMATORS
        for number, check in enumerate(checks.yield_checks(model))
    ],
)
def test_passes_every_check_of_river(model, check):
    assert check.__name__ not in model._unit_test_skips()
    check(model.clone())
