from __future__ import annotations

import numpy as np
import pytest

from stream_maxloss.leverage import MarginPursuit


def table(rows: int = 150) -> tuple[np.ndarray, np.ndarray]:
    chance = np.random.default_rng(2)
    X = chance.normal(size=(rows, 4))
    return X, X @ [1.0, -1.0, 0.5, 0.0] + 0.3 * chance.normal(size=rows) > 0


def truncated(u: np.ndarray) -> np.ndarray:
    return np.where(np.abs(u) > 2**0.5, np.sign(u) * 2 * 2**0.5 / 3, u - u**3 / 6)


def test_each_step_is_algorithm_1_of_the_paper() -> None:
    X, y = table()
    one, two = MarginPursuit(steps=1).fit(X, y), MarginPursuit(steps=2).fit(X, y)
    signed = X * np.where(y, 1.0, -1.0)[:, None]
    pull = one.scale * truncated((1.0 - signed @ one.coefficients) / one.scale) @ signed / len(X)
    moved = two.coefficients - one.coefficients
    step = moved @ pull / (pull @ pull)
    np.testing.assert_allclose(moved, step * pull, rtol=1e-9)
    # The step is one over the largest curvature, or up to a hundredth less.
    assert 0.98 < step * np.linalg.eigvalsh(signed.T @ signed / len(X)).max() <= 1.0


def test_the_scale_is_the_variance_of_the_first_margins() -> None:
    X, y = table()
    signed = X * np.where(y, 1.0, -1.0)[:, None]
    mean = signed.mean(axis=0)
    margins = signed @ mean * 2.0 / (mean @ mean)
    assert margins.mean() == pytest.approx(2.0)
    assert MarginPursuit(gamma=2.0, k=3.0).fit(X, y).scale == pytest.approx(3.0 * margins.var() / 2.0)


def test_the_loss_never_rises_and_ends_where_nothing_pulls() -> None:
    X, y = table()
    fit = MarginPursuit(steps=2000, intercept=True).fit(X, y)
    assert (np.diff(fit.losses) <= 1e-12).all()
    signed = np.column_stack([X, np.ones(len(X))]) * np.where(y, 1.0, -1.0)[:, None]
    margins = signed @ [*fit.coefficients, fit.bias]
    assert np.abs(truncated((1.0 - margins) / fit.scale) @ signed / len(X)).max() < 1e-6
    assert np.mean(fit.predict(X) == y) > 0.9


def test_no_row_can_pull_harder_than_the_cap() -> None:
    X, y = table()
    wild = X.copy()
    wild[0] = 1e3
    near, far = MarginPursuit().fit(X, y), MarginPursuit().fit(wild, y)
    assert np.mean(far.predict(X[1:]) == y[1:]) > np.mean(near.predict(X[1:]) == y[1:]) - 0.15


def test_rows_of_nothing_leave_the_weights_at_nothing() -> None:
    fit = MarginPursuit().fit(np.zeros((4, 2)), [True, False, True, False])
    assert fit.coefficients.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("option", ["gamma", "k", "steps"])
def test_a_wrong_argument_is_refused(option: str) -> None:
    with pytest.raises(ValueError, match=f"{option} must be"):
        MarginPursuit(**{option: 0})
