from __future__ import annotations

import numpy as np
import pytest
from river import datasets, evaluate, linear_model, metrics, preprocessing

from stream_maxloss.metrics import CatoniMargin, RollingCatoniMargin, catoni_estimate, catoni_scale, margin_of


def test_a_sample_that_holds_the_stream_gives_the_estimate_of_the_stream() -> None:
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    margins = []
    for x, y in datasets.Phishing():
        margins.append(margin_of(y, model.predict_proba_one(x)))
        model.learn_one(x, y)
    for scale in (0.5, None):
        fresh = preprocessing.StandardScaler() | linear_model.LogisticRegression()
        metric = CatoniMargin(scale=scale, capacity=1250, seed=1)
        evaluate.progressive_val_score(datasets.Phishing(), fresh, metric)
        expected = catoni_estimate(margins, catoni_scale(margins) if scale is None else scale)
        assert metric.get() == pytest.approx(expected, abs=1e-9)


def test_a_small_sample_estimates_a_long_stream() -> None:
    # Margins of variance 1: the estimate on 1,000 of them has standard deviation about 0.03.
    metric = CatoniMargin(capacity=1000, seed=4)
    metric.update_many(np.random.default_rng(2).normal(1.5, 1.0, size=50_000))
    assert metric.get() == pytest.approx(1.5, abs=4.5 * 0.032)


def test_the_window_follows_a_learner_that_changes() -> None:
    metric = RollingCatoniMargin(scale=1.0, window_size=50)
    metric.update_many(np.full(100, -2.0))
    metric.update_many(np.full(50, 3.0))
    assert metric.get() == 3.0


def test_margins_one_at_a_time_and_in_batches_are_the_same() -> None:
    margins = np.random.default_rng(3).normal(size=500)
    pairs = [(CatoniMargin(capacity=50, seed=9), CatoniMargin(capacity=50, seed=9))]
    pairs.append((RollingCatoniMargin(window_size=50), RollingCatoniMargin(window_size=50)))
    for one, many in pairs:
        for margin in margins.tolist():
            one.update_margin(margin)
        many.update_many(margins)
        assert one.get() == many.get() != 0.0


def test_wild_margins_move_it_less_than_the_mean() -> None:
    metric = RollingCatoniMargin(scale=1.0, window_size=1000)
    metric.update_many([*[1.0] * 95, *[-1000.0] * 5])
    assert 0.8 < metric.get() < 1.0


def test_before_any_row_it_is_zero_and_it_joins_other_metrics() -> None:
    assert CatoniMargin().get() == RollingCatoniMargin().get() == 0.0
    both = metrics.Accuracy() + CatoniMargin(scale=1.0, seed=1)
    evaluate.progressive_val_score(datasets.Phishing().take(300), linear_model.LogisticRegression(), both)
    assert both[1].get() > 0.0
    assert both[1].bigger_is_better


@pytest.mark.parametrize("kind", [CatoniMargin, RollingCatoniMargin])
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"scale": 0.0}, "scale must be a positive number or None, got 0.0"),
        ({"scale": float("inf")}, "scale must be a positive number or None, got inf"),
        ({"delta": 0.0}, r"delta must be in \(0, 1\), got 0.0"),
    ],
    ids=["zero-scale", "infinite-scale", "zero-delta"],
)
def test_bad_parameters_are_refused(kind: type, params: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kind(**params)
