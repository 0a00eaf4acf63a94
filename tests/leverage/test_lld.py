from __future__ import annotations

import numpy as np
import pytest

from stream_maxloss.leverage import LLD, LLM, TemplateSet, epsilon_of_mu, logistic_difference


def figure_2(M, mu, iterations, sequential):
    """The algorithm as printed, in plain Python, with the longest templates that its requirement allows."""
    m, n = len(M), len(M[0])
    lam = [0.0] * n
    squares = [sum(M[i][j] ** 2 for i in range(m)) for j in range(n)]
    if sequential:
        A = [[2 / squares[j] if k == j else 0.0 for k in range(n)] for j in range(n)]
    else:
        A = [[2 / sum(squares)] * n]
    for _ in range(iterations):
        z = [sum(v * w for v, w in zip(row, lam, strict=True)) for row in M]
        weights = [1 / (1 + np.exp(v)) - 1 / (1 + np.exp(v + mu)) for v in z]
        W = [sum(M[i][j] * weights[i] for i in range(m)) for j in range(n)]
        a = max(A, key=lambda a: sum(v * w * w for v, w in zip(a, W, strict=True)))
        lam = [v + s * w for v, s, w in zip(lam, a, W, strict=True)]
    return lam


@pytest.mark.parametrize("templates", ["parallel", "sequential"])
def test_matches_the_printed_algorithm(table, templates):
    X, y = table(3, rows=25, columns=4)
    M = (X * np.where(y, 1, -1)[:, None]).tolist()
    fit = LLD(3.0, templates, iterations=15).fit(X, y)
    np.testing.assert_allclose(fit.coefficients, figure_2(M, 3.0, 15, templates == "sequential"), rtol=1e-9)


@pytest.mark.parametrize("mu", [0.1, 2.0, 8.0])
@pytest.mark.parametrize("kind", ["dense", "binary", "sparse"])
@pytest.mark.parametrize("templates", ["parallel", "sequential"])
@pytest.mark.parametrize("seed", range(4))
def test_loss_falls_in_every_iteration_by_what_corollary_3_2_guarantees(table, seed, templates, kind, mu):
    X, y = table(seed, kind=kind)
    fit = LLD(mu, templates, iterations=150).fit(X, y)
    decreases = -np.diff(fit.losses)
    assert len(decreases) == 150
    assert (fit.progress > 0).all()
    # The losses are sums of 60 numbers of order mu: rounding is below 1e-12.
    assert (decreases >= fit.progress - 1e-12).all()


def test_the_convex_bound_falls_by_what_lemma_3_1_guarantees(table):
    X, y = table(7)
    M, mu = X * np.where(y, 1, -1)[:, None], 4.0

    def bound(lam, at):  # L-hat(lam, at): the logistic loss plus the tangent of the concave part
        z, slope = M @ at, 1 / (1 + np.exp(M @ at + mu))
        # The paper prints +z g here; the tangent of the concave part at lambda_t has -z g.
        eta = (-z * slope - np.log1p(np.exp(-z - mu))).sum()
        return eta + lam @ (M.T @ slope) + np.log1p(np.exp(-(M @ lam))).sum()

    before = np.zeros(X.shape[1])
    for iterations in range(1, 60):
        fit = LLD(mu, iterations=iterations).fit(X, y)
        after = fit.coefficients
        assert bound(before, before) == pytest.approx(fit.losses[-2], rel=1e-10)  # equality at lambda_t
        assert bound(after, before) >= fit.losses[-1] - 1e-10  # an upper bound elsewhere
        assert bound(before, before) - bound(after, before) >= fit.progress[-1] - 1e-10
        before = after


def test_blocks_of_columns_fall_too(table):
    X, y = table(1, columns=4)
    blocks = TemplateSet(np.array([[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 1]]) * 2 / (X**2).sum())
    fit = LLD(templates=blocks, iterations=100).fit(X, y)
    assert (-np.diff(fit.losses) >= fit.progress - 1e-12).all()


def test_reaches_the_stationary_point_of_the_mixture_with_the_same_noise(table):
    X, y = table(2)
    mu = 2.0
    difference = LLD(mu, "sequential", iterations=20_000, tolerance=1e-15).fit(X, y)
    mixture = LLM(epsilon_of_mu(mu), templates="sequential", iterations=20_000, tolerance=1e-15).fit(X, y)
    M = X * np.where(y, 1, -1)[:, None]
    for fit in (difference, mixture):
        z = M @ fit.coefficients
        assert np.abs(M.T @ (1 / (1 + np.exp(z)) - 1 / (1 + np.exp(z + mu)))).max() < 1e-5
    # From the same start both ran into the same one here.
    np.testing.assert_allclose(difference.coefficients, mixture.coefficients, atol=1e-4)


def test_reported_losses_are_those_of_the_solution(table):
    X, y = table(5)
    fit = LLD(3.0, intercept=True, iterations=30).fit(X, y)
    margins = np.where(y, 1, -1) * fit.decision_function(X)
    assert fit.losses[-1] == pytest.approx(logistic_difference(margins, 3.0).sum(), rel=1e-12)


def test_a_warm_start_continues_where_the_fit_stopped(table):
    X, y = table(6)
    straight = LLD(iterations=60).fit(X, y)
    parts = LLD(iterations=30, warm_start=True).fit(X, y).fit(X, y)
    np.testing.assert_allclose(parts.coefficients, straight.coefficients, rtol=1e-9)
    with pytest.raises(ValueError, match="X must have as many columns as the fit to continue, got 4; it had 5"):
        parts.fit(X[:, :4], y)


@pytest.mark.parametrize("mu", [0.0, -1.0, float("nan")])
def test_refuses_a_loss_without_room(mu):
    with pytest.raises(ValueError, match="mu must be positive, got"):
        LLD(mu)
