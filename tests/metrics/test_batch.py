from __future__ import annotations

import copy
import datetime as dt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import metrics, utils

import stream_maxloss.metrics as ours
from stream_maxloss.metrics import MarginDistribution, TailLoss, batch, update_metric_many, update_twins_many

LABEL_METRICS = [
    metrics.Accuracy,
    metrics.BalancedAccuracy,
    metrics.Precision,
    metrics.Recall,
    metrics.F1,
    metrics.MacroF1,
    metrics.WeightedF1,
    metrics.MicroF1,
    metrics.MCC,
    metrics.CohenKappa,
    metrics.GeometricMean,
    metrics.Jaccard,
    metrics.FowlkesMallows,
    metrics.Rand,
    metrics.AdjustedRand,
    metrics.MutualInfo,
    metrics.NormalizedMutualInfo,
    metrics.Homogeneity,
    metrics.VBeta,
    lambda: metrics.F1(pos_val=False),
    lambda: ours.MaxLoss(ours.ZeroOneLoss()),
    lambda: ours.TailLoss(0.1, ours.ZeroOneLoss()),
    lambda: utils.Rolling(metrics.Accuracy, window_size=7),
]
PROBA_METRICS = [
    metrics.LogLoss,
    metrics.CrossEntropy,
    metrics.ROCAUC,
    lambda: metrics.ROCAUC(n_thresholds=25),
    metrics.RollingROCAUC,
    ours.MaxLoss,
    lambda: ours.TailLoss(0.1),
    lambda: ours.RollingMaxLoss(9),
    lambda: ours.RollingTailLoss(0.3, 9),
    lambda: ours.CatoniMargin(seed=1, capacity=9),
    lambda: utils.Rolling(metrics.LogLoss, window_size=7),
    lambda: utils.Rolling(ours.TailLoss, window_size=7, alpha=0.3),
    lambda: metrics.Accuracy() + metrics.LogLoss() + ours.MaxLoss(),
]
REGRESSION_METRICS = [
    metrics.MAE,
    metrics.MSE,
    metrics.RMSE,
    metrics.RMSLE,
    metrics.MAPE,
    metrics.SMAPE,
    metrics.R2,
    lambda: ours.MaxLoss(ours.AbsoluteLoss(3.0)),
    lambda: metrics.MAE() + ours.TailLoss(0.2, ours.AbsoluteLoss(3.0)),
]


def ids(make: Any) -> str:
    metric = make()
    return f"{type(metric).__name__}-{type(getattr(metric, 'obj', metric)).__name__}"


def by_rows(metric: Any, y_true: Any, predictions: list[Any], weights: Any) -> Any:
    for i, (label, prediction) in enumerate(zip(y_true.tolist(), predictions, strict=True)):
        if weights is None:
            metric.update(label, prediction)
        else:
            metric.update(label, prediction, weights[i])
    return metric.get()


def stream(seed: int, n_rows: int = 300) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    y_true = rng.random(n_rows) < 0.3
    proba = np.clip(0.4 * y_true + 0.6 * rng.random(n_rows), 0.0, 1.0)
    proba[:4] = [0.0, 1.0, 0.5, 0.5]  # the ends that are clamped, and ties
    return y_true, proba, rng.random(n_rows) + 0.1


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("make", LABEL_METRICS, ids=ids)
def test_labels_in_batches_score_as_row_by_row(make: Any, weighted: bool) -> None:
    y_true, proba, w = stream(1)
    weights, y_pred = w if weighted else None, proba >= 0.5
    many = make()
    for cut in (slice(0, 1), slice(1, 130), slice(130, 300)):
        update_metric_many(many, y_true[cut], y_pred[cut], None, None if weights is None else weights[cut])
    expected = by_rows(make(), y_true, y_pred.tolist(), weights)
    assert expected != 0.0
    assert many.get() == (pytest.approx(expected, rel=1e-12) if weighted else expected)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("make", PROBA_METRICS, ids=ids)
def test_probabilities_in_batches_score_as_row_by_row(make: Any, weighted: bool) -> None:
    y_true, proba, w = stream(2)
    if weighted and not make().works_with_weights:
        weighted = False  # River's row form has no weight to compare with
    weights = w if weighted else None
    many = make()
    for cut in (slice(0, 2), slice(2, 130), slice(130, 300)):
        update_metric_many(many, y_true[cut], None, proba[cut], None if weights is None else weights[cut])
    expected = by_rows(make(), y_true, [{False: 1.0 - p, True: p} for p in proba.tolist()], weights)
    assert expected != 0.0
    assert many.get() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("make", REGRESSION_METRICS, ids=ids)
def test_values_in_batches_score_as_row_by_row(make: Any, weighted: bool) -> None:
    rng = np.random.default_rng(3)
    y_true = rng.integers(0, 5, size=200).astype(float)
    y_pred = np.abs(y_true + rng.normal(size=200))
    y_pred[:3] = y_true[:3] = 0.0
    weights = rng.random(200) + 0.1 if weighted else None
    many = make()
    for cut in (slice(0, 50), slice(50, 200)):
        update_metric_many(many, y_true[cut], y_pred[cut], weights=None if weights is None else weights[cut])
    assert many.get() == pytest.approx(by_rows(make(), y_true, y_pred.tolist(), weights), rel=1e-12)


@given(
    pairs=st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abcd")), min_size=1, max_size=40),
    make=st.sampled_from([metrics.Accuracy, metrics.MacroF1, metrics.Rand, metrics.MutualInfo]),
)
@settings(deadline=None, max_examples=60)
def test_many_classes_are_counted_too(pairs: list[tuple[str, str]], make: Any) -> None:
    y_true, y_pred = (np.array(column) for column in zip(*pairs, strict=True))
    many = make()
    update_metric_many(many, y_true, y_pred)
    assert many.get() == pytest.approx(by_rows(make(), y_true, y_pred.tolist(), None), rel=1e-12)


def test_labels_of_several_types_go_row_by_row() -> None:
    metric = metrics.Accuracy()
    update_metric_many(metric, np.array(["a", 1, None], dtype=object), np.array(["a", 2, None], dtype=object))
    assert metric.get() == pytest.approx(2 / 3)


def test_a_confusion_matrix_takes_at_most_four_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    class Counting(metrics.Accuracy):
        """Shares River's update, and so is recognised; counts what reaches the matrix."""

    metric = Counting()
    original = metric.cm.update
    monkeypatch.setattr(metric.cm, "update", lambda *args, **kw: (calls.append(args), original(*args, **kw)))
    y_true, proba, _ = stream(4)
    update_metric_many(metric, y_true, proba >= 0.5)
    assert len(calls) == 4
    assert metric.cm.n_samples == metric.cm.total_weight == 300


def test_a_subclass_that_updates_in_its_own_way_goes_row_by_row() -> None:
    class Odd(metrics.Accuracy):
        """Counts each row twice."""

        def update(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
            super().update(y_true, y_pred, w)
            super().update(y_true, y_true, w)

    metric = Odd()
    update_metric_many(metric, np.array([True, False]), np.array([False, False]))
    assert metric.get() == 0.75


def test_labels_of_a_mixed_sum_come_from_the_probabilities_as_in_river() -> None:
    metric = metrics.Accuracy() + metrics.LogLoss()
    update_metric_many(metric, np.array([False]), np.array([True]), np.array([0.5]))
    assert metric[0].get() == 1.0  # a tie is False, the first key of River's dict
    labels_only = metrics.Accuracy() + metrics.F1()
    update_metric_many(labels_only, np.array([True]), np.array([True]), np.array([0.5]))
    assert labels_only[0].get() == 1.0


def test_rows_without_any_weight_change_no_average() -> None:
    metric = metrics.LogLoss()
    update_metric_many(metric, np.array([True]), None, np.array([0.5]), np.array([0.0]))
    assert metric.get() == 0.0
    update_metric_many(metric, np.array([True]), None, np.array([0.25]), np.array([1.0]))
    assert metric.get() == pytest.approx(np.log(4))


def test_an_empty_batch_changes_nothing() -> None:
    for make in (*LABEL_METRICS, *PROBA_METRICS):
        metric = make()
        before = copy.deepcopy(metric).get()
        update_metric_many(metric, np.zeros(0, dtype=bool), np.zeros(0, dtype=bool), np.zeros(0), np.zeros(0))
        assert metric.get() == before


@pytest.mark.parametrize(
    ("metric", "columns", "error", "message"),
    [
        (metrics.Accuracy(), {}, ValueError, "y_pred_labels must be given, got None; Accuracy"),
        (metrics.LogLoss(), {}, ValueError, "proba_true must be given, got None; LogLoss"),
        (ours.CatoniMargin(), {}, ValueError, "proba_true must be given, got None; CatoniMargin"),
        (
            utils.Rolling(metrics.LogLoss, window_size=2),
            {"y_pred_labels": np.array([True])},
            ValueError,
            "proba_true must be given, got None; LogLoss",
        ),
        (
            metrics.Accuracy(),
            {"y_pred_labels": np.array([True, False])},
            ValueError,
            r"y_pred_labels must have one value per row \(1\), got shape \(2,\)",
        ),
        (metrics.Accuracy(), {"weights": np.ones(3)}, ValueError, r"weights must have one value per row \(1\)"),
        (
            utils.TimeRolling(metrics.Accuracy, period=dt.timedelta(days=1)),
            {"y_pred_labels": np.array([True])},
            TypeError,
            "metric must not be a TimeRolling",
        ),
    ],
    ids=["labels", "proba", "margin", "rolling", "length", "weights", "time"],
)
def test_missing_or_bad_columns_are_named(metric: Any, columns: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        update_metric_many(metric, np.array([True]), **columns)


def test_the_averages_that_are_computed_on_arrays_are_still_rivers_own() -> None:
    # If River moves an _eval to another class, the lookup by function would quietly fall back to rows.
    for kind in (metrics.LogLoss, metrics.CrossEntropy, metrics.MAE, metrics.MSE, metrics.RMSE, metrics.MAPE):
        assert kind._eval in batch.EVALUATIONS
        assert kind.update is metrics.base.MeanMetric.update


@pytest.mark.parametrize("weights", [None, np.array([1.0, 2.0, 0.0, 3.0])], ids=["alike", "weighted"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: metrics.Accuracy() + TailLoss(bins=8) + metrics.LogLoss(),
        metrics.ROCAUC,
        lambda: utils.Rolling(metrics.Accuracy(), 3),
        metrics.ConfusionMatrix,
        MarginDistribution,
    ],
    ids=["sum", "roc", "rolling", "matrix", "margins"],
)
def test_twins_that_share_the_work_come_out_as_each_alone(make: Any, weights: Any) -> None:
    y_true, proba = np.array([True, False, True, False]), np.array([0.9, 0.2, 0.3, 0.6])
    if weights is not None and isinstance(make(), MarginDistribution):
        weights = None
    first, second, alone, both = make(), make(), make(), make()
    update_metric_many(second, y_true[:2], proba[:2] > 0.5, proba[:2])
    update_metric_many(both, y_true[:2], proba[:2] > 0.5, proba[:2])
    update_twins_many((first, second), y_true, proba > 0.5, proba, weights)
    update_metric_many(alone, y_true, proba > 0.5, proba, weights)
    update_metric_many(both, y_true, proba > 0.5, proba, weights)
    assert repr(first) == repr(alone)
    assert repr(second) == repr(both)
