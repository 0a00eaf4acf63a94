from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import datasets, evaluate, linear_model, metrics, preprocessing, utils

from stream_maxloss.metrics import AbsoluteLoss, MaxLoss, RollingMaxLoss, ZeroOneLoss

rows = st.lists(st.tuples(st.floats(0.0, 1.0), st.sampled_from([0.0, 0.5, 1.0, 2.0])), min_size=1, max_size=40)


@given(rows=rows, cut=st.integers(0, 40), window_size=st.integers(1, 12))
@settings(deadline=None, max_examples=150)
def test_the_greatest_loss_of_positive_weight_is_found(
    rows: list[tuple[float, float]], cut: int, window_size: int
) -> None:
    losses, weights = np.array(rows).T
    for metric_one, metric_many, seen in (
        (MaxLoss(), MaxLoss(), rows),
        (RollingMaxLoss(window_size), RollingMaxLoss(window_size), rows[-window_size:]),
    ):
        for loss, w in rows:
            metric_one.update_loss(loss, w)
        metric_many.update_many(losses[:cut], weights[:cut])
        metric_many.update_many(losses[cut:], weights[cut:])
        expected = max((loss for loss, w in seen if w > 0), default=0.0)
        assert metric_one.get() == metric_many.get() == expected


def test_the_rolling_maximum_comes_down_again_and_the_other_does_not() -> None:
    rolling, whole = RollingMaxLoss(window_size=3), MaxLoss()
    for metric in (rolling, whole):
        metric.update_many([1.0, 0.1, 0.2, 0.3])
    assert (rolling.get(), whole.get()) == (0.3, 1.0)


def test_progressive_validation_finds_the_row_with_the_least_probability() -> None:
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    least = 1.0
    for x, y in datasets.Phishing():
        least = min(least, model.predict_proba_one(x)[y])
        model.learn_one(x, y)
    fresh = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    metric = evaluate.progressive_val_score(datasets.Phishing(), fresh, MaxLoss())
    assert metric.get() == 1.0 - least


def test_it_joins_rivers_metrics_on_either_side_of_a_plus() -> None:
    stream = list(datasets.Phishing().take(100))
    for metric in (metrics.Accuracy() + MaxLoss(), MaxLoss() + metrics.Accuracy() + metrics.LogLoss()):
        evaluate.progressive_val_score(stream, linear_model.LogisticRegression(), metric)
        assert 0.5 < metric[0].get() <= 1.0
    errors = metrics.MAE() + MaxLoss(AbsoluteLoss(10.0))
    others = MaxLoss(AbsoluteLoss(10.0)) + metrics.MAE()
    for metric in (errors, others):
        evaluate.progressive_val_score(datasets.TrumpApproval().take(50), linear_model.LinearRegression(), metric)
    assert errors.get() == others.get()[::-1]
    with pytest.raises(ValueError, match="not compatible"):
        MaxLoss() + metrics.Silhouette()


def test_a_model_of_the_wrong_kind_is_refused_by_river() -> None:
    with pytest.raises(ValueError, match="MaxLoss metric is not compatible"):
        evaluate.progressive_val_score(datasets.Phishing(), linear_model.LogisticRegression(), MaxLoss(AbsoluteLoss()))


def test_zero_one_loss_asks_for_labels() -> None:
    metric = evaluate.progressive_val_score(
        datasets.Phishing().take(200), linear_model.PAClassifier(), RollingMaxLoss(20, ZeroOneLoss())
    )
    assert metric.requires_labels
    assert metric.get() in (0.0, 1.0)


def test_taking_a_row_back_is_refused_with_the_class_that_forgets() -> None:
    rolling = utils.Rolling(MaxLoss, window_size=1)
    rolling.update(True, {True: 0.5})
    with pytest.raises(NotImplementedError, match=r"MaxLoss cannot take a row back; .* use RollingMaxLoss"):
        rolling.update(True, {True: 0.9})


@pytest.mark.parametrize("metric", [MaxLoss(), RollingMaxLoss(5)], ids=["whole", "rolling"])
@pytest.mark.parametrize(
    ("losses", "weights", "message"),
    [
        ([0.5, 1.5], None, r"loss must be in \[0, 1\], got 1.5"),
        ([float("nan")], None, r"loss must be in \[0, 1\], got nan"),
        ([0.5], [-1.0], "w must be a finite number of at least 0, got -1.0"),
        ([0.5], [float("inf")], "w must be a finite number of at least 0, got inf"),
        ([0.5], [1.0, 1.0], r"weights must have one value per row \(1\)"),
    ],
    ids=["above-one", "nan", "negative-weight", "infinite-weight", "length"],
)
def test_bad_rows_are_refused_and_leave_the_metric_as_it_was(
    metric: MaxLoss, losses: list[float], weights: list[float] | None, message: str
) -> None:
    before = metric.get()
    with pytest.raises(ValueError, match=message):
        metric.update_many(losses, weights)
    if len(losses) == 1 and (weights is None or len(weights) == 1):
        with pytest.raises(ValueError, match=message):
            metric.update_loss(losses[0], 1.0 if weights is None else weights[0])
    assert metric.get() == before


def test_a_loss_that_is_no_row_loss_is_refused() -> None:
    with pytest.raises(TypeError, match="loss must be a RowLoss, got 'zero-one'"):
        MaxLoss("zero-one")  # type: ignore[arg-type]
