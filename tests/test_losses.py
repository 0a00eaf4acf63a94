from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import datasets, evaluate, linear_model, metrics, optim, preprocessing

from stream_maxloss.losses import Catoni, LogisticDifference

scores = st.floats(-1e4, 1e4)
shifts = st.floats(1e-3, 700.0)


@given(score=st.floats(-30.0, 30.0), mu=st.floats(0.1, 30.0), label=st.booleans())
@settings(deadline=None, max_examples=100)
def test_loss_is_the_difference_of_two_logistic_losses(score: float, mu: float, label: bool) -> None:
    z = score if label else -score
    expected = math.log(1.0 + math.exp(-z)) - math.log(1.0 + math.exp(-z - mu))
    assert LogisticDifference(mu)(label, score) == pytest.approx(expected, rel=1e-9, abs=1e-14)


@given(score=scores, mu=shifts, label=st.booleans())
@settings(deadline=None, max_examples=200)
def test_loss_and_gradient_stay_in_bounds_for_scores_of_any_size(score: float, mu: float, label: bool) -> None:
    loss = LogisticDifference(mu)
    assert 0.0 <= loss(label, score) <= mu * (1 + 1e-12)
    assert 0.0 <= loss.bounded(label, score) <= 1.0 + 1e-12
    gradient = loss.gradient(label, score)
    assert abs(gradient) <= 1.0
    assert gradient <= 0.0 if label else gradient >= 0.0


@given(score=st.floats(-20.0, 20.0), mu=st.floats(0.1, 20.0), label=st.booleans())
@settings(deadline=None, max_examples=100)
def test_gradient_is_the_slope_of_the_loss(score: float, mu: float, label: bool) -> None:
    loss = LogisticDifference(mu)
    step = 1e-5
    slope = (loss(label, score + step) - loss(label, score - step)) / (2 * step)
    # Central differences: third derivative below 1 leaves step^2 / 6, rounding of a loss up to 20 leaves 4e-15 / 2e-5.
    assert loss.gradient(label, score) == pytest.approx(slope, abs=1e-9)


@given(score=st.floats(-20.0, 20.0), mu=st.floats(0.1, 20.0))
@settings(deadline=None, max_examples=50)
def test_gradient_is_the_weight_of_the_lld_algorithm(score: float, mu: float) -> None:
    q, g = 1.0 / (1.0 + math.exp(score)), 1.0 / (1.0 + math.exp(score + mu))
    assert LogisticDifference(mu).gradient(True, score) == pytest.approx(-(q - g), rel=1e-9, abs=1e-15)


def test_a_hopeless_row_keeps_a_gradient_with_all_its_digits() -> None:
    # q - g at z = -60, mu = 4 is e^-60 (e^4 - 1) to first order; 1/(1+e^z) - 1/(1+e^(z+mu)) in floats is 0.
    gradient = LogisticDifference(4.0).gradient(True, -60.0)
    assert gradient == pytest.approx(-math.exp(-60.0) * math.expm1(4.0), rel=1e-12)


@pytest.mark.parametrize("method", ["__call__", "gradient", "bounded", "normalised"])
@pytest.mark.parametrize("mu", [1e-3, 1.0, 4.0, 700.0])
def test_arrays_and_scalars_agree(method: str, mu: float) -> None:
    function = getattr(LogisticDifference(mu), method)
    points = np.concatenate([np.linspace(-50.0, 50.0, 201), [-1e4, -708.0, 708.0, 1e4, -mu, -mu / 2]])
    for label in (False, True):
        labels = np.full(points.size, label)
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            vector = function(labels, points)
        assert vector.tolist() == pytest.approx([function(label, p) for p in points.tolist()], rel=1e-13, abs=1e-300)


def test_mean_func_is_the_logistic_function_without_overflow() -> None:
    points = np.array([-1e4, -2.0, 0.0, 2.0, 1e4])
    loss = LogisticDifference()
    with np.errstate(over="raise"):
        vector = loss.mean_func(points)
    assert vector.tolist() == pytest.approx([0.0, 1 / (1 + math.exp(2)), 0.5, 1 / (1 + math.exp(-2)), 1.0])
    assert [loss.mean_func(p) for p in points.tolist()] == pytest.approx(vector.tolist())


def test_minus_one_is_the_negative_label_like_zero_and_false() -> None:
    loss = LogisticDifference()
    assert loss(-1, 1.5) == loss(0, 1.5) == loss(False, 1.5) == loss(np.bool_(False), 1.5)
    assert loss.gradient(-1, 1.5) == loss.gradient(False, 1.5) > 0.0
    assert loss(1, 1.5) == loss(True, 1.5) < loss(False, 1.5)
    same = loss(np.array([-1, 1]), np.array([1.5, 1.5]))
    assert same.tolist() == loss(np.array([False, True]), np.array([1.5, 1.5])).tolist()


@pytest.mark.parametrize("label", [2, "spam", 0.5, np.array([0, 1, 3])], ids=str)
def test_other_labels_are_refused(label: object) -> None:
    with pytest.raises(ValueError, match="must be a bool, 0/1 or -1"):
        LogisticDifference()(label, np.zeros(3) if isinstance(label, np.ndarray) else 0.0)


@pytest.mark.parametrize("mu", [0.0, -1.0, float("nan"), float("inf"), 701.0])
def test_mu_out_of_range_is_refused(mu: float) -> None:
    with pytest.raises(ValueError, match="mu must be in"):
        LogisticDifference(mu)


def test_normalised_loss_bounds_the_zero_one_loss() -> None:
    loss = LogisticDifference(2.0)
    assert loss.normalised(True, 0.0) == pytest.approx(1.0)
    assert loss.normalised(True, 1e4) == 0.0
    assert all(loss.normalised(True, -z) >= 1.0 for z in (0.0, 0.1, 1.0, 100.0))
    # Eq. 12's denominator.
    assert loss(True, 0.3) / loss.normalised(True, 0.3) == pytest.approx(math.log(2) - math.log(1 + math.exp(-2.0)))


def test_a_great_mu_is_the_logistic_loss_of_river() -> None:
    ours, theirs = LogisticDifference(500.0), optim.losses.Log()
    for score in (-17.0, -1.0, 0.0, 2.0, 17.0):
        assert ours(True, score) == pytest.approx(theirs(True, score), rel=1e-9)
        assert ours.gradient(False, score) == pytest.approx(theirs.gradient(False, score), rel=1e-9)


def test_river_learns_with_it_one_row_or_many_at_a_time() -> None:
    loss = LogisticDifference(4.0)
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression(loss=loss)
    metric = evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy())
    assert metric.get() > 0.88
    import pandas as pd

    x = pd.DataFrame({"a": [1.0, -2.0], "b": [0.5, 0.0]})
    one = linear_model.LogisticRegression(loss=LogisticDifference(4.0))
    one.learn_many(x, pd.Series([True, False]))
    gradients = loss.gradient(np.array([True, False]), np.zeros(2))
    assert one.weights["a"] == pytest.approx(-0.01 * (gradients @ x["a"].to_numpy()) / 2)


def test_wrong_labels_hurt_less_than_with_the_logistic_loss() -> None:
    rng = np.random.default_rng(7)
    features = rng.normal(size=(3000, 5))
    truth = features @ np.array([3.0, -2.0, 1.0, 0.0, 2.0]) > 0.0
    # One label in ten wrong, and on the surest rows: the case that the bound is for.
    far = np.argsort(-np.abs(features @ np.array([3.0, -2.0, 1.0, 0.0, 2.0])))[:300]
    noisy = truth.copy()
    noisy[far] = ~noisy[far]
    errors = {}
    for name, loss in (("bounded", LogisticDifference(2.0)), ("log", optim.losses.Log())):
        model = linear_model.LogisticRegression(optimizer=optim.SGD(0.05), loss=loss)
        rows = [dict(enumerate(row)) for row in features.tolist()]
        for x, y in zip(rows, noisy.tolist(), strict=True):
            model.learn_one(x, y)
        errors[name] = sum(model.predict_one(x) != y for x, y in zip(rows, truth.tolist(), strict=True))
    assert errors["bounded"] < errors["log"]


def test_repr_and_clone_keep_mu() -> None:
    model = linear_model.LogisticRegression(loss=LogisticDifference(3.0))
    assert model.clone().loss.mu == 3.0


@given(score=st.floats(-20.0, 20.0), gamma=st.floats(0.1, 5.0), scale=st.floats(0.1, 5.0), label=st.booleans())
@settings(deadline=None, max_examples=100)
def test_catonis_loss_is_flat_where_the_margin_is_the_level_and_its_slope_is_the_papers(
    score: float, gamma: float, scale: float, label: bool
) -> None:
    loss, y = Catoni(gamma, scale), 1.0 if label else -1.0
    u = (gamma - y * score) / scale
    psi = math.copysign(2.0 * math.sqrt(2.0) / 3.0, u) if abs(u) > math.sqrt(2.0) else u - u**3 / 6.0
    assert loss.gradient(label, score) == pytest.approx(-scale * psi * y, rel=1e-9, abs=1e-12)
    assert loss(label, y * gamma) == pytest.approx(0.0, abs=1e-12)
    step = 1e-5
    slope = (loss(label, score + step) - loss(label, score - step)) / (2 * step)
    # Central differences: a third derivative of at most 1/scale leaves step^2 / 6 of it, rounding 1e-12 / step.
    assert loss.gradient(label, score) == pytest.approx(slope, abs=1e-6)


def test_catonis_loss_takes_arrays_and_refuses_a_scale_of_nothing() -> None:
    loss = Catoni(scale=0.5)
    labels, scores = np.array([True, False, True]), np.array([0.3, -4.0, 2.0])
    assert loss(labels, scores) == pytest.approx([loss(y, s) for y, s in zip(labels, scores, strict=True)])
    assert loss.gradient(labels, scores) == pytest.approx(
        [loss.gradient(y, s) for y, s in zip(labels, scores, strict=True)]
    )
    with pytest.raises(ValueError, match="scale must be positive and finite, got 0"):
        Catoni(scale=0)
