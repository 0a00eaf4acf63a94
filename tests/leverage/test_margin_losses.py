from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_maxloss.leverage import (
    epsilon_of_mu,
    log_loss,
    logistic_difference,
    logistic_mixture,
    loss_ceiling,
    mu_of_epsilon,
    normalised_difference,
    normalised_mixture,
)
from stream_maxloss.leverage.margin_losses import mislabel_probability, misprediction_probability

MARGINS = st.floats(-600, 600)
NOISE = st.floats(1e-4, 0.499)


@settings(deadline=None)
@given(z=st.floats(-30, 30), epsilon=NOISE)
def test_losses_match_their_formulas(z, epsilon):
    mu = mu_of_epsilon(epsilon)
    mixture = -np.log((1 - epsilon) / (1 + np.exp(-z)) + epsilon / (1 + np.exp(z)))
    assert log_loss(z) == pytest.approx(np.log1p(np.exp(-z)), rel=1e-12)
    assert logistic_mixture(z, epsilon) == pytest.approx(mixture, rel=1e-9, abs=1e-14)
    assert logistic_difference(z, mu) == pytest.approx(
        np.log1p(np.exp(-z)) - np.log1p(np.exp(-z - mu)), rel=1e-9, abs=1e-13
    )


@settings(deadline=None)
@given(z=MARGINS, epsilon=NOISE)
def test_mixture_and_difference_are_one_loss_after_normalising(z, epsilon):
    mu = mu_of_epsilon(epsilon)
    assert epsilon_of_mu(mu) == pytest.approx(epsilon, rel=1e-9)
    # Near epsilon = 1/2 both are quotients of two small numbers, which costs digits.
    assert normalised_mixture(z, epsilon) == pytest.approx(normalised_difference(z, mu), rel=1e-8, abs=1e-8)


@settings(deadline=None)
@given(z=MARGINS, epsilon=NOISE)
def test_normalised_loss_dominates_the_zero_one_loss_and_is_bounded(z, epsilon):
    loss = normalised_mixture(z, epsilon)
    assert loss >= (z <= 0) - 1e-9
    assert -1e-9 <= loss <= loss_ceiling(epsilon) * (1 + 1e-9)


@settings(deadline=None)
@given(z=st.floats(-30, 30), epsilon=NOISE)
def test_gradients_of_both_algorithms_are_the_same_weight(z, epsilon):
    # LLM weighs a row by (1-alpha) q - alpha (1-q), LLD by q - g; at mu(epsilon), g is alpha.
    q, alpha = misprediction_probability(np.array(z)), mislabel_probability(np.array(z), epsilon)
    g = 1 / (1 + np.exp(z + mu_of_epsilon(epsilon)))
    assert (1 - alpha) * q - alpha * (1 - q) == pytest.approx(q - g, abs=1e-12)
    # The identity that Figure 1 saves a sum with.
    # One of 1-q and 1-alpha may be a difference of near equals, good to 1e-16, and 1/epsilon is up to 1e4.
    assert (1 - alpha) * q == pytest.approx((1 - epsilon) / epsilon * alpha * (1 - q), rel=1e-9, abs=1e-11)


def test_losses_do_not_overflow():
    z = np.array([-1e6, -750.0, 750.0, 1e6])
    assert np.isfinite(log_loss(z)).all()
    assert np.isfinite(logistic_mixture(z, 0.1)).all()
    assert logistic_difference(z, 4.0).tolist() == [4.0, 4.0, 0.0, 0.0]
