from __future__ import annotations

import numpy as np
import pytest

from stream_maxloss.leverage import LLM, LogBoost, Parallel, Sequential, TemplateSet, logistic_mixture
from stream_maxloss.leverage.margin_losses import mislabel_probability


def figure_1(M, epsilon, iterations, update_epsilon, sequential):
    """The algorithm as printed, in plain Python, with the templates 1/max_i ||M_i||_1 or e_j / max_i |M_ij|."""
    m, n = len(M), len(M[0])
    lam = [0.0] * n
    if sequential:
        A = [[(1 / max(abs(M[i][j]) for i in range(m))) if k == j else 0.0 for k in range(n)] for j in range(n)]
    else:
        A = [[1 / max(sum(abs(v) for v in row) for row in M)] * n]
    for _ in range(iterations):
        z = [sum(v * w for v, w in zip(row, lam, strict=True)) for row in M]
        alpha = [epsilon / (epsilon + (1 - epsilon) * np.exp(v)) for v in z]
        q = [1 / (1 + np.exp(v)) for v in z]
        gains, d = [], []
        for j in range(n):
            # Equations 4 and 5, not the shortcut of the figure.
            up = sum((1 - alpha[i]) * q[i] * M[i][j] for i in range(m) if M[i][j] > 0)
            up += sum(alpha[i] * (1 - q[i]) * -M[i][j] for i in range(m) if M[i][j] < 0)
            down = sum((1 - alpha[i]) * q[i] * -M[i][j] for i in range(m) if M[i][j] < 0)
            down += sum(alpha[i] * (1 - q[i]) * M[i][j] for i in range(m) if M[i][j] > 0)
            gains.append((up**0.5 - down**0.5) ** 2)
            d.append(0.5 * np.log(up / down))
        a = max(A, key=lambda a: sum(v * g for v, g in zip(a, gains, strict=True)))
        lam = [w + v * s for w, v, s in zip(lam, a, d, strict=True)]
        if update_epsilon:
            epsilon = sum(alpha) / m
    return lam, epsilon


@pytest.mark.parametrize("update_epsilon", [0, 1])
@pytest.mark.parametrize("templates", ["parallel", "sequential"])
def test_matches_the_printed_algorithm(table, templates, update_epsilon):
    X, y = table(3, rows=25, columns=4)
    M = (X * np.where(y, 1, -1)[:, None]).tolist()
    expected, epsilon = figure_1(M, 0.12, 15, update_epsilon, templates == "sequential")
    fit = LLM(0.12, update_epsilon, templates, iterations=15).fit(X, y)
    np.testing.assert_allclose(fit.coefficients, expected, rtol=1e-9, atol=1e-12)
    assert fit.estimated_epsilon == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize("kind", ["dense", "binary", "sparse"])
@pytest.mark.parametrize("update_epsilon", [0, 1, 7])
@pytest.mark.parametrize("templates", ["parallel", "sequential"])
@pytest.mark.parametrize("seed", range(4))
def test_loss_falls_in_every_iteration_by_what_lemma_2_1_guarantees(table, seed, templates, update_epsilon, kind):
    X, y = table(seed, kind=kind)
    fit = LLM(0.1, update_epsilon, templates, iterations=150).fit(X, y)
    decreases = -np.diff(fit.losses)
    assert len(decreases) == 150
    assert (fit.progress > 0).all()
    # The losses are sums of 60 numbers of order 1: rounding is below 1e-12.
    assert (decreases >= fit.progress - 1e-12).all()


def test_blocks_of_columns_fall_too(table):
    X, y = table(1, columns=4)
    size = np.abs(X).sum(axis=1).max()
    blocks = TemplateSet(np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 1]]) / size)
    fit = LLM(templates=blocks, iterations=100).fit(X, y)
    assert (-np.diff(fit.losses) >= fit.progress - 1e-12).all()


def test_reaches_a_stationary_point(table):
    X, y = table(2)
    fit = LLM(0.1, templates="sequential", iterations=20_000, tolerance=1e-13).fit(X, y)
    M = X * np.where(y, 1, -1)[:, None]
    z = M @ fit.coefficients
    slope = M.T @ (1 / (1 + np.exp(z)) - mislabel_probability(z, 0.1))
    assert len(fit.progress) < 20_000
    # Progress is about slope_j^2 / (4 a_j W_j): 1e-13 leaves slopes of the order of 1e-5.
    assert np.abs(slope).max() < 1e-4


def test_reported_losses_are_those_of_the_solution(table):
    X, y = table(5)
    fit = LLM(0.2, update_epsilon=3, intercept=True, iterations=30).fit(X, y)
    margins = np.where(y, 1, -1) * fit.decision_function(X)
    assert fit.losses[-1] == pytest.approx(logistic_mixture(margins, fit.estimated_epsilon).sum(), rel=1e-12)
    assert fit.losses[0] == pytest.approx(len(y) * np.log(2))
    np.testing.assert_allclose(fit.label_noise, mislabel_probability(margins, fit.estimated_epsilon), rtol=1e-9)


def test_scaling_the_rows_is_what_the_default_step_does(table):
    X, y = table(4)
    size = np.abs(X).sum(axis=1).max()
    scaled = LLM(templates=Parallel(step=1.0), iterations=40).fit(X / size, y)
    np.testing.assert_allclose(LLM(iterations=40).fit(X, y).coefficients, scaled.coefficients / size, rtol=1e-10)


def test_a_warm_start_continues_where_the_fit_stopped(table):
    X, y = table(6)
    straight = LLM(0.1, update_epsilon=1, templates="sequential", iterations=60).fit(X, y)
    parts = LLM(0.1, update_epsilon=1, templates="sequential", iterations=30, warm_start=True).fit(X, y).fit(X, y)
    np.testing.assert_allclose(parts.coefficients, straight.coefficients, rtol=1e-9)
    assert parts.estimated_epsilon == pytest.approx(straight.estimated_epsilon, rel=1e-9)


def test_estimates_the_rate_of_flips():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 3))
    y = rng.random(4000) < 1 / (1 + np.exp(-X @ [6.0, -4.0, 2.0]))
    noisy = y ^ (rng.random(4000) < 0.2)
    fit = LLM(0.05, update_epsilon=1, templates=Sequential(), iterations=3000).fit(X, noisy)
    # The maximum-likelihood rate has a deviation of about sqrt(0.2 * 0.8 / 4000) = 0.0063 and more, as flips near
    # the hyperplane are not recognisable; 0.03 is over four of them.
    assert fit.estimated_epsilon == pytest.approx(0.2, abs=0.03)


def test_a_few_flips_of_large_margin_turn_boosting_more_than_the_mixture():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, 20))
    target = rng.normal(size=20)
    y = X @ target > 0
    far = np.abs(X @ target).argsort()[-250:]
    noisy = y.copy()
    noisy[far] ^= rng.random(250) < 0.2
    errors = [
        np.mean(fit.fit(X, noisy).predict(X) != y) for fit in (LLM(0.2, iterations=2000), LogBoost(iterations=2000))
    ]
    assert errors[0] < 0.5 * errors[1]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        pytest.param({"epsilon": 0.0}, "epsilon must lie strictly between 0 and 1/2, got 0.0", id="no-noise"),
        pytest.param({"epsilon": 0.5}, "epsilon must lie strictly between 0 and 1/2, got 0.5", id="all-noise"),
        pytest.param({"update_epsilon": -1}, "update_epsilon must not be negative, got -1", id="update"),
        pytest.param({"iterations": -1}, "iterations must not be negative, got -1", id="iterations"),
        pytest.param({"tolerance": -0.1}, "tolerance must not be negative, got -0.1", id="tolerance"),
    ],
)
def test_refuses(parameters, message):
    with pytest.raises(ValueError, match=message):
        LLM(**parameters)
