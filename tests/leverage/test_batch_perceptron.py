from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from stream_maxloss.leverage import BatchPerceptron, LinearSeparator, perceptron_bound, shortest_separator


def plain_perceptron(X, y, max_updates):
    w, updates = np.zeros(X.shape[1]), 0
    while True:
        clean = True
        for x, sign in zip(X, np.where(y, 1, -1), strict=True):
            if sign * (w @ x) <= 0:
                if updates == max_updates:
                    return w, updates, False
                w, updates, clean = w + sign * x, updates + 1, False
        if clean:
            return w, updates, True


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("seed", range(15))
def test_ends_within_the_square_of_radius_times_norm(table, seed, intercept):
    rng = np.random.default_rng(seed)
    X, y = table(seed, rows=int(rng.integers(2, 60)), columns=int(rng.integers(1, 6)), noise=0.0)
    fit = BatchPerceptron(intercept=intercept).fit(X, y)
    full = np.column_stack((X, np.ones(len(y)))) if intercept else X
    R, B = np.linalg.norm(full, axis=1).max(), np.linalg.norm(shortest_separator(X, y, intercept))
    assert perceptron_bound(X, y, intercept) == pytest.approx((R * B) ** 2)
    assert fit.converged
    assert fit.updates <= (R * B) ** 2
    # B from the linear program can only be longer, so its bound holds as well.
    lp = LinearSeparator(intercept).fit(X, y)
    assert (R / lp.margin) ** 2 >= (R * B) ** 2 * (1 - 1e-9)
    assert (np.where(y, 1, -1) * fit.decision_function(X) > 0).all()


def test_the_bound_is_tight_on_orthogonal_rows():
    # The rows e_1..e_n, all positive: R = 1, B^2 = n, and each row needs its own update.
    X = np.eye(9)
    assert BatchPerceptron().fit(X, np.ones(9, dtype=bool)).updates == 9
    assert perceptron_bound(X, np.ones(9, dtype=bool)) == pytest.approx(9)


@pytest.mark.parametrize("noise", [0.0, 0.3])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_matches_the_plain_loop(table, form, noise):
    X, y = table(8, rows=40, columns=4, noise=noise)
    w, updates, converged = plain_perceptron(X, y, 500)
    fit = BatchPerceptron(max_updates=500).fit(form(X), y)
    assert (fit.updates, fit.converged) == (updates, converged)
    assert fit.converged == (noise == 0.0)
    np.testing.assert_allclose(fit.coefficients, w, rtol=1e-12)


def test_gives_up_on_contradicting_rows():
    fit = BatchPerceptron(max_updates=100).fit([[1.0], [1.0]], [0, 1])
    assert (fit.updates, fit.converged) == (100, False)
    with pytest.raises(ValueError, match="rows must be separable"):
        perceptron_bound([[1.0], [1.0]], [0, 1])


def test_refuses_a_negative_limit():
    with pytest.raises(ValueError, match="max_updates must not be negative, got -1"):
        BatchPerceptron(max_updates=-1)
