from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from stream_maxloss.leverage import LinearSeparator, shortest_separator


@st.composite
def integer_tables(draw):
    """Small integers: separability is then no matter of rounding."""
    rows, columns = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    X = draw(st.lists(st.lists(st.integers(-3, 3), min_size=columns, max_size=columns), min_size=rows, max_size=rows))
    y = draw(st.lists(st.booleans(), min_size=rows, max_size=rows))
    return np.array(X, dtype=float), np.array(y)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("intercept", [False, True])
@settings(deadline=None, max_examples=120)
@given(case=integer_tables())
def test_gives_a_separator_or_a_proof_and_either_holds(form, intercept, case):
    X, y = case
    fit = LinearSeparator(intercept).fit(form(X), y)
    M = np.column_stack((X, np.ones(len(y)))) if intercept else X
    M = M * np.where(y, 1, -1)[:, None]
    if fit.separable:
        assert fit.proof is None
        assert ((fit.decision_function(form(X)) > 0) == y).all()
        assert (np.where(y, 1, -1) * fit.decision_function(X) > 0).all()
        assert fit.margin > 0
    else:
        u = fit.proof.weights
        assert (u >= 0).all()
        assert u.sum() == pytest.approx(1.0)
        # Entries are integers up to 3 and weights sum to 1: anything but rounding would be far above 1e-9.
        assert np.abs(M.T @ u).max() == pytest.approx(fit.proof.residual, abs=1e-15)
        assert fit.proof.residual < 1e-9
        assert len(fit.proof.rows) <= M.shape[1] + 1
        with pytest.raises(ValueError, match="LinearSeparator must have a solution first"):
            fit.predict(X)


@pytest.mark.parametrize("seed", range(10))
def test_random_separable_sets_are_separated(table, seed):
    X, y = table(seed, rows=200, columns=6, noise=0.0)
    fit = LinearSeparator().fit(X, y)
    assert fit.separable
    assert (fit.predict(X) == y).all()


@pytest.mark.parametrize("seed", range(10))
def test_random_noisy_sets_are_proved_inseparable(table, seed):
    # 200 points in 6 dimensions are separable by chance with probability about 1e-49 (Cover 1965).
    X, y = table(seed, rows=200, columns=6, noise=0.5)
    fit = LinearSeparator().fit(X, y)
    assert not fit.separable
    assert fit.proof.residual < 1e-12 * np.abs(X).max() * 10
    assert fit.proof.norm_floor > 1e9
    # The rows named are inseparable by themselves.
    assert not LinearSeparator().fit(X[fit.proof.rows], y[fit.proof.rows]).separable


def test_the_same_row_with_both_labels_is_the_proof():
    X = np.array([[1.0, 2.0], [3.0, 1.0], [1.0, 2.0]])
    fit = LinearSeparator().fit(X, [True, True, False])
    assert fit.proof.rows.tolist() == [0, 2]
    assert fit.proof.norm_floor > 1e12


def test_a_row_of_zeros_is_a_proof_without_an_intercept():
    X = np.array([[1.0, 2.0], [0.0, 0.0]])
    fit = LinearSeparator().fit(X, [True, False])
    assert fit.proof.rows.tolist() == [1]
    assert fit.proof.norm_floor == np.inf
    assert LinearSeparator(intercept=True).fit(X, [True, False]).separable


def test_rows_of_very_different_size_do_not_confuse_it():
    X = np.array([[1e-9, 2e-9], [1e9, -1e9], [3e-3, 1e-3]])
    y = X @ [2.0, 1.0] > 0
    assert LinearSeparator().fit(X, y).separable


def test_refitting_forgets_the_last_answer():
    fit = LinearSeparator().fit([[1.0], [1.0]], [0, 1])
    assert fit.proof is not None
    fit.fit([[1.0], [-1.0]], [0, 1])
    assert (fit.separable, fit.proof) == (True, None)
    fit.fit([[1.0], [1.0]], [0, 1])
    assert (fit.separable, fit.margin) == (False, None)


@pytest.mark.parametrize("seed", range(10))
def test_shortest_separator_is_feasible_and_no_shorter_one_exists(table, seed):
    from scipy.optimize import minimize

    X, y = table(seed, rows=30, columns=3, noise=0.0)
    M = X * np.where(y, 1, -1)[:, None]
    w = shortest_separator(X, y)
    assert (M @ w).min() >= 1 - 1e-12
    constraint = {"type": "ineq", "fun": lambda v: M @ v - 1, "jac": lambda v: M}
    start = LinearSeparator().fit(X, y).coefficients
    start = start / (M @ start).min()
    solved = minimize(lambda v: v @ v, start, jac=lambda v: 2 * v, constraints=constraint, method="SLSQP")
    assert w @ w <= start @ start * (1 + 1e-9)
    assert w @ w == pytest.approx(solved.fun, rel=1e-4)


def test_shortest_separator_refuses_contradicting_rows(table):
    X, y = table(0, rows=100, noise=0.5)
    with pytest.raises(ValueError, match="rows must be separable to have a shortest separator"):
        shortest_separator(X, y)
    with pytest.raises(ValueError, match="rows must be separable to have a shortest separator"):
        shortest_separator([[1.0], [1.0]], [0, 1])
