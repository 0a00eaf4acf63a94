"""Every metric and row loss of the package keeps the part of River's contract that concerns it."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pytest
from river import metrics
from river.checks import common

import stream_maxloss.metrics as ours
from stream_maxloss.losses import LogisticDifference

METRICS = [
    ours.MaxLoss(),
    ours.MaxLoss(ours.ZeroOneLoss()),
    ours.RollingMaxLoss(7),
    ours.TailLoss(0.3, bins=32),
    ours.RollingTailLoss(0.3, 7),
    ours.CatoniMargin(1.0, capacity=7, seed=1),
    ours.RollingCatoniMargin(window_size=7),
    ours.MarginDistribution(7),
]
OBJECTS = [*METRICS, ours.ProbabilityLoss(), ours.ZeroOneLoss(), ours.AbsoluteLoss(2.0), LogisticDifference(3.0)]
# The checks of river.checks that learn and predict are for models; these are all the others.
CHECKS = [
    common.check_repr,
    common.check_str,
    common.check_doc,
    common.check_clone_same_class,
    common.check_clone_is_idempotent,
    common.check_clone_changes_memory_addresses,
    common.check_repr_roundtrips_clone,
    common.check_clone_with_new_params_applies,
    common.check_get_params_matches_signature,
    common.check_init_has_default_params_for_tests,
    common.check_init_default_params_are_not_mutable,
    common.check_mutate_can_be_idempotent,
    common.check_pickling_supports_roundtrip,
]


def ids(thing: Any) -> str:
    return getattr(thing, "__name__", type(thing).__name__)


@pytest.mark.parametrize("check", CHECKS, ids=ids)
@pytest.mark.parametrize("thing", OBJECTS, ids=ids)
def test_river_check(thing: Any, check: Any) -> None:
    check(thing.clone())


def rows(n_rows: int, seed: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    return rng.random(n_rows) < 0.4, rng.random(n_rows)


@pytest.mark.parametrize("metric", METRICS, ids=ids)
def test_rows_straight_equal_half_the_rows_saved_loaded_and_the_other_half(metric: Any) -> None:
    y_true, proba = rows(40, seed=1)
    straight, first, second, pickled = metric.clone(), metric.clone(), metric.clone(), metric.clone()
    ours.update_metric_many(straight, y_true, proba > 0.5, proba)
    for half in (first, pickled):
        ours.update_metric_many(half, y_true[:21], proba[:21] > 0.5, proba[:21])
    ours.update_metric_many(second, y_true[5:9], proba[5:9] > 0.5, proba[5:9])  # what is replaced must not remain
    second.load_state_dict(first.state_dict())
    pickled = pickle.loads(pickle.dumps(pickled))
    for half in (second, pickled):
        ours.update_metric_many(half, y_true[21:], proba[21:] > 0.5, proba[21:])
    assert second.get() == straight.get() == pickled.get()


@pytest.mark.parametrize("metric", METRICS, ids=ids)
def test_the_saved_state_is_flat_and_does_not_change_with_the_metric(metric: Any) -> None:
    metric = metric.clone()
    y_true, proba = rows(20, seed=2)
    ours.update_metric_many(metric, y_true, proba > 0.5, proba)
    state = metric.state_dict()
    before = {key: np.array(value, copy=True) for key, value in state.items()}
    ours.update_metric_many(metric, y_true, proba > 0.5, proba)
    for key, value in state.items():
        assert isinstance(value, np.ndarray) or json.loads(json.dumps(value)) == value
        np.testing.assert_array_equal(value, before[key])


@pytest.mark.parametrize("metric", METRICS, ids=ids)
def test_it_is_a_classification_metric_of_river(metric: Any) -> None:
    assert isinstance(metric, metrics.base.ClassificationMetric)
    assert str(metric).startswith(type(metric).__name__)
