from __future__ import annotations

import datetime as dt
import json
from typing import Any

import numpy as np
import pytest
from river import metrics, utils

import stream_maxloss.metrics as ours
from stream_maxloss.metrics import metric_state, restore_metric

CLASSIFICATION = [
    metrics.Accuracy,
    metrics.F1,
    metrics.MCC,
    metrics.MacroF1,
    metrics.Rand,
    metrics.LogLoss,
    metrics.CrossEntropy,
    metrics.ROCAUC,
    lambda: metrics.ROCAUC(n_thresholds=30),
    ours.MaxLoss,
    lambda: ours.TailLoss(0.2),
    lambda: ours.CatoniMargin(seed=3, capacity=20),
    lambda: metrics.Accuracy() + metrics.LogLoss() + ours.RollingMaxLoss(5),
    lambda: utils.Rolling(metrics.F1, window_size=30),
    lambda: utils.Rolling(metrics.LogLoss, window_size=30),
    lambda: utils.Rolling(ours.TailLoss, window_size=30, alpha=0.2),
]
REGRESSION = [metrics.MAE, metrics.RMSE, metrics.R2, lambda: metrics.MAE() + metrics.R2()]


def ids(make: Any) -> str:
    metric = make()
    return f"{type(metric).__name__}-{type(getattr(metric, 'obj', metric)).__name__}"


def through_json(state: dict[str, Any]) -> dict[str, Any]:
    """Write what is not an array as JSON and read it again, as a checkpoint does."""
    arrays = {key: value for key, value in state.items() if isinstance(value, np.ndarray)}
    assert all(array.dtype.kind in "fiu" for array in arrays.values())
    plain = json.loads(json.dumps({key: value for key, value in state.items() if key not in arrays}, allow_nan=False))
    return {**plain, **{key: array.copy() for key, array in arrays.items()}}


def feed(metric: Any, rows: list[tuple[bool, float]]) -> None:
    for y, p in rows:
        metric.update(y, {False: 1.0 - p, True: p} if not metric.requires_labels else p > 0.5)


@pytest.mark.parametrize("make", CLASSIFICATION, ids=ids)
def test_a_restored_classification_metric_continues_like_the_original(make: Any) -> None:
    rng = np.random.default_rng(1)
    rows = list(zip((rng.random(120) < 0.4).tolist(), rng.random(120).tolist(), strict=True))
    straight, first, second = make(), make(), make()
    feed(straight, rows)
    feed(first, rows[:70])
    feed(second, rows[5:17])  # what is replaced must not remain
    value = first.get()
    restore_metric(second, through_json(metric_state(first)))
    assert second.get() == value == first.get()
    feed(second, rows[70:])
    assert second.get() == straight.get()


@pytest.mark.parametrize("make", REGRESSION, ids=ids)
def test_a_restored_regression_metric_continues_like_the_original(make: Any) -> None:
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(80, 2)).tolist()
    straight, first, second = make(), make(), make()
    for y, p in rows:
        straight.update(y, p)
    for y, p in rows[:50]:
        first.update(y, p)
    restore_metric(second, through_json(metric_state(first)))
    for y, p in rows[50:]:
        second.update(y, p)
    assert second.get() == straight.get()


def test_string_and_number_labels_come_back_as_they_were() -> None:
    metric, fresh = metrics.ConfusionMatrix(), metrics.ConfusionMatrix()
    for y, p in (("cat", "dog"), ("dog", "dog"), ("cat", "cat")):
        metric.update(y, p, 0.1)
    restore_metric(fresh, through_json(metric_state(metric)))
    assert fresh["cat"]["dog"] == 0.1
    assert sorted(fresh.classes) == ["cat", "dog"]
    assert (fresh.n_samples, fresh.total_weight) == (3, metric.total_weight)
    numbers = metrics.Accuracy()
    numbers.update(np.int64(3), np.int64(3))
    assert metric_state(numbers)["cm.labels"] == [3]


def test_saving_does_not_change_the_metric() -> None:
    metric = metrics.Accuracy()
    metric.update(True, False)
    keys = {label: dict(row) for label, row in metric.cm.data.items()}
    metric_state(metric)
    assert {label: dict(row) for label, row in metric.cm.data.items()} == keys


class Mine(metrics.Accuracy):
    """A metric with more state than its River base."""


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        (metrics.RollingROCAUC(), "RollingROCAUC"),
        (metrics.Accuracy() + metrics.RollingPRAUC(), "RollingPRAUC"),
        (utils.TimeRolling(ours.TailLoss, period=dt.timedelta(1)), "TimeRolling"),
        (Mine(), "Mine"),
    ],
    ids=["rust", "in-a-sum", "time-rolling", "foreign"],
)
def test_a_metric_without_such_a_state_is_named(metric: Any, name: str) -> None:
    with pytest.raises(TypeError, match=f"written without pickle, got {name}"):
        metric_state(metric)


def test_a_label_that_json_cannot_hold_is_named() -> None:
    metric = metrics.Accuracy()
    metric.update((1, 2), (1, 2))
    with pytest.raises(TypeError, match=r"labels and predictions of Accuracy must be .* got \(1, 2\)"):
        metric_state(metric)


@pytest.mark.parametrize(
    ("saved", "target", "message"),
    [
        (metrics.Accuracy(), metrics.F1(), "state must be that of F1, got 'Accuracy'"),
        (metrics.ROCAUC(), metrics.ROCAUC(n_thresholds=5), r"state must be that of ROCAUC\(5\), got 'ROCAUC\(10\)'"),
        (
            utils.Rolling(metrics.Accuracy, window_size=3),
            utils.Rolling(metrics.Accuracy, window_size=4),
            r"that of Rolling\(Accuracy, 4\), got 'Rolling\(Accuracy, 3\)'",
        ),
        (metrics.Accuracy() + metrics.F1(), metrics.F1() + metrics.Accuracy(), r"that of F1 \+ Accuracy"),
    ],
    ids=["kind", "thresholds", "window", "order"],
)
def test_a_state_of_another_metric_is_refused(saved: Any, target: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        restore_metric(target, metric_state(saved))


def test_a_state_that_lost_an_entry_is_refused() -> None:
    state = metric_state(metrics.Accuracy())
    del state["cm.counts"]
    state["cm.labels"] = [True]
    state["cm.row_sums"] = state["cm.column_sums"] = np.ones(1)
    with pytest.raises(ValueError, match="state of Accuracy must have the entry 'counts'"):
        restore_metric(metrics.Accuracy(), state)


def test_labels_seen_before_the_restore_are_forgotten() -> None:
    saved, target = metrics.MacroF1(), metrics.MacroF1()
    saved.update("a", "a")
    target.update("old", "old")
    target.update("a", "old")
    restore_metric(target, metric_state(saved))
    assert target.cm.classes == ["a"]
    assert target.get() == saved.get() == 1.0


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [("cm.totals", 1, 1e9), ("cm.totals", 0, -1.0), ("cm.row_sums", 0, 0.0), ("cm.counts", 0, -5.0)],
)
@pytest.mark.parametrize("kind", [metrics.Accuracy, metrics.Recall])
def test_sums_that_are_not_those_of_the_counts_are_refused(kind: Any, name: str, place: int, value: float) -> None:
    metric = kind()
    for label, guess in [(True, True), (False, True), (True, False), (False, False)] * 3:
        metric.update(label, guess)
    state = metric_state(metric)
    restore_metric(kind(), state)
    state[name] = state[name].copy()
    state[name].reshape(-1)[place] = value
    with pytest.raises(ValueError, match="must"):
        restore_metric(kind(), state)
