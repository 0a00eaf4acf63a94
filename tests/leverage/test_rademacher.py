from __future__ import annotations

import math

import numpy as np
import pytest

from stream_maxloss.leverage import (
    generalisation_bound,
    linear_complexity,
    lipschitz_constant,
    loss_ceiling,
    mu_of_epsilon,
    normalised_mixture,
)

NOISE = [0.001, 0.01, 0.08, 0.16, 0.3, 0.45]


@pytest.mark.parametrize("epsilon", NOISE)
def test_zeta_is_the_steepest_slope_of_the_normalised_loss(epsilon):
    centre = -mu_of_epsilon(epsilon) / 2
    z = centre + np.linspace(-20, 20, 400_001)
    slopes = np.abs(np.diff(normalised_mixture(z, epsilon)) / np.diff(z))
    assert slopes.max() <= lipschitz_constant(epsilon) * (1 + 1e-7)
    assert slopes.max() == pytest.approx(lipschitz_constant(epsilon), rel=1e-6)
    assert z[slopes.argmax()] == pytest.approx(centre, abs=0.05)


@pytest.mark.parametrize("epsilon", NOISE)
def test_ceiling_is_the_limit_of_the_normalised_loss(epsilon):
    assert normalised_mixture(-1e4, epsilon) == pytest.approx(loss_ceiling(epsilon), rel=1e-12)
    assert normalised_mixture(-5.0, epsilon) < loss_ceiling(epsilon)
    assert normalised_mixture(0.0, epsilon) == pytest.approx(1.0)


def test_linear_complexity_bounds_the_complexity_drawn_by_chance():
    # For ||lambda|| <= B the supremum is attained along the sum: sup |2/m sum sigma_i <lambda, x_i>| = 2B/m ||sum||.
    rng = np.random.default_rng(0)
    for rows, columns, norm in [(50, 3, 1.0), (200, 40, 5.0)]:
        X = rng.normal(size=(rows, columns))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        signs = rng.choice([-1.0, 1.0], size=(4000, rows))
        drawn = 2 * norm / rows * np.linalg.norm(signs @ X, axis=1)
        assert drawn.mean() <= linear_complexity(norm, rows)
        # By Jensen's inequality the mean is not far below: E||sum||^2 is m exactly.
        assert np.sqrt((drawn**2).mean()) == pytest.approx(linear_complexity(norm, rows), rel=0.05)


def test_bound_is_the_sum_of_the_three_terms_of_the_corollary():
    mean_loss, m, B, epsilon, delta = 0.3, 5000, 4.0, 0.1, 0.05
    scale = math.log(2) + math.log(0.9)
    chance = 8 * math.log(0.9 / 0.1) / scale * math.sqrt(math.log(4 / delta) / (2 * m))
    complexity = 4 * B * 0.8 / (scale * (1 + 2 * math.sqrt(0.09)) * math.sqrt(m))
    assert generalisation_bound(mean_loss, m, B, epsilon, delta) == pytest.approx(mean_loss + chance + complexity)


@pytest.mark.parametrize("epsilon", NOISE)
def test_the_normalised_loss_is_nowhere_below_the_error_and_meets_it_at_zero(epsilon):
    # What the corollary rests on: a row that is predicted wrongly costs at least 1, and at the boundary exactly 1.
    z = np.linspace(-20, 20, 40_001)
    assert (normalised_mixture(z, epsilon) - (z <= 0)).min() == pytest.approx(0.0, abs=1e-9)


def test_bound_passes_below_one_where_the_docstring_says():
    bounds = {rows: generalisation_bound(0.05, rows, 5.0, 0.08, 0.05) for rows in (2_000, 10_000)}
    assert bounds[10_000] < 1 < bounds[2_000]


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 0.7])
def test_refuses_a_noise_without_a_loss(epsilon):
    with pytest.raises(ValueError, match="epsilon must lie strictly between 0 and 1/2, got"):
        lipschitz_constant(epsilon)
    with pytest.raises(ValueError, match="epsilon must lie strictly between 0 and 1/2, got"):
        loss_ceiling(epsilon)


def test_refuses_a_delta_that_is_no_probability_and_no_rows():
    with pytest.raises(ValueError, match=r"delta must lie strictly between 0 and 1, got 0.0"):
        generalisation_bound(0.1, 10, 1.0, 0.1, 0.0)
    with pytest.raises(ValueError, match="rows must be at least 1, got 0"):
        generalisation_bound(0.1, 0, 1.0, 0.1, 0.1)
