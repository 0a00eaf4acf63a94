from __future__ import annotations

import numpy as np
import pytest

from stream_maxloss.leverage import LLM, LogBoost, log_loss


@pytest.mark.parametrize("kind", ["dense", "binary", "sparse"])
@pytest.mark.parametrize("templates", ["parallel", "sequential"])
@pytest.mark.parametrize("seed", range(4))
def test_loss_falls_in_every_iteration_by_what_is_guaranteed(table, seed, templates, kind):
    X, y = table(seed, kind=kind)
    fit = LogBoost(templates, iterations=150).fit(X, y)
    decreases = -np.diff(fit.losses)
    assert len(decreases) == 150
    assert (fit.progress > 0).all()
    assert (decreases >= fit.progress - 1e-12).all()


def test_finds_the_minimum_that_a_solver_finds(table):
    from scipy.optimize import minimize

    X, y = table(2)
    M = X * np.where(y, 1, -1)[:, None]
    best = minimize(lambda w: log_loss(M @ w).sum(), np.zeros(X.shape[1])).fun
    fit = LogBoost("sequential", iterations=5000, smoothing=1e-12).fit(X, y)
    assert fit.losses[-1] == pytest.approx(best, rel=1e-6)


def test_is_the_mixture_without_noise(table):
    X, y = table(3)
    boost = LogBoost(iterations=20, smoothing=1e-300).fit(X, y)
    mixture = LLM(epsilon=1e-13, iterations=20).fit(X, y)
    np.testing.assert_allclose(boost.coefficients, mixture.coefficients, rtol=1e-9)


@pytest.mark.parametrize("templates", ["parallel", "sequential"])
def test_a_column_of_one_sign_gets_a_finite_weight(templates):
    X = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    fit = LogBoost(templates, iterations=200).fit(X, np.array([True, True, False]))
    assert np.isfinite(fit.coefficients).all()
    assert fit.coefficients[0] > 0
    assert (np.diff(fit.losses) <= 1e-12).all()


def test_refuses_to_do_without_smoothing():
    with pytest.raises(ValueError, match=r"smoothing must be positive, got 0.0"):
        LogBoost(smoothing=0.0)
