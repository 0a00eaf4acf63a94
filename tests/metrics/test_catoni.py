from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from stream_maxloss.metrics import catoni_estimate, catoni_psi, catoni_rho, catoni_scale

samples = st.lists(st.floats(-100.0, 100.0), min_size=1, max_size=40)


def psi_by_the_book(u: float) -> float:
    if u > math.sqrt(2):
        return 2 * math.sqrt(2) / 3
    if u < -math.sqrt(2):
        return -2 * math.sqrt(2) / 3
    return u - u**3 / 6


@given(u=st.floats(-5.0, 5.0))
@settings(deadline=None, max_examples=100)
def test_psi_is_the_cubic_held_constant_beyond_root_two(u: float) -> None:
    assert catoni_psi(u) == pytest.approx(psi_by_the_book(u), abs=1e-15)
    assert catoni_psi(np.array([u, -u])).tolist() == [catoni_psi(u), catoni_psi(-u)]
    assert catoni_psi(-u) == -catoni_psi(u)


@given(u=st.floats(-5.0, 5.0))
@settings(deadline=None, max_examples=100)
def test_psi_is_the_derivative_of_rho(u: float) -> None:
    step = 1e-5
    slope = (catoni_rho(u + step) - catoni_rho(u - step)) / (2 * step)
    # The second derivative is Lipschitz with constant sqrt(2), so the error is below step^2; rounding adds 1e-10.
    assert catoni_psi(u) == pytest.approx(slope, abs=1e-9)


def test_rho_has_the_constants_of_equation_3() -> None:
    assert catoni_rho(math.sqrt(2)) == pytest.approx(5 / 6)
    assert catoni_rho(-4.0) == pytest.approx(4.0 * 2 * math.sqrt(2) / 3 - 0.5)
    assert catoni_rho(np.array([0.0, 1.0])).tolist() == pytest.approx([0.0, 11 / 24])


@given(values=samples, scale=st.floats(0.01, 1000.0))
@settings(deadline=None, max_examples=150)
def test_estimate_balances_equation_1(values: list[float], scale: float) -> None:
    gamma = catoni_estimate(values, scale)
    assert min(values) <= gamma <= max(values)
    left = sum(psi_by_the_book((gamma - 1e-7 - z) / scale) for z in values)
    right = sum(psi_by_the_book((gamma + 1e-7 - z) / scale) for z in values)
    assert left <= 1e-12
    assert right >= -1e-12


@given(values=st.lists(st.integers(-50, 50), min_size=1, max_size=30, unique=True))
@settings(deadline=None, max_examples=100)
def test_small_scale_gives_the_median(values: list[int]) -> None:
    # Proposition 2.1: values at least 1 apart do not see each other within sqrt(2) * 0.1.
    assert catoni_estimate([float(v) for v in values], 0.1) == pytest.approx(float(np.median(values)), abs=1e-9)


@given(values=samples)
@settings(deadline=None, max_examples=100)
def test_large_scale_gives_the_mean_within_c_over_scale_squared(values: list[float]) -> None:
    mean = float(np.mean(values))
    for scale in (1e3, 1e4, 1e5):
        # psi(u) = u - u^3/6 inside: the shift is at most the mean cube of distances below 200, over 6 s^2 (Prop. 2.2),
        # over the least slope 1 - u^2/2 > 0.97.
        assert abs(catoni_estimate(values, scale) - mean) <= 1.1 * 200.0**3 / (6 * scale**2) + 1e-9


def test_a_scale_beyond_the_floats_still_gives_the_mean() -> None:
    assert catoni_estimate([1.0, 2.0, 6.0], 1e300) == pytest.approx(3.0)


def test_one_wild_value_moves_the_mean_but_not_the_estimate() -> None:
    values = [*np.linspace(0.0, 2.0, 101).tolist(), 1e9]
    assert abs(catoni_estimate(values, 1.0) - 1.0) < 0.02
    assert np.mean(values) > 1e6


@given(seed=st.integers(0, 10_000), n=st.integers(49, 120), place=st.floats(-1e9, 1e9), scale=st.floats(0.5, 5.0))
@settings(deadline=None, max_examples=100)
def test_one_changed_value_moves_the_estimate_by_at_most_scale_over_root_n(
    seed: int, n: int, place: float, scale: float
) -> None:
    values = np.random.default_rng(seed).uniform(-0.5, 0.5, size=n) * scale
    estimate = catoni_estimate(values, scale)
    # Proposition 4 asks that at least n/2 > 24 values lie within s sqrt(2)/2 of the estimate.
    assume(np.sum(np.abs(values - estimate) <= scale * math.sqrt(2) / 2) >= n / 2)
    values[0] = place
    assert abs(catoni_estimate(values, scale) - estimate) <= scale / math.sqrt(n)


def test_scale_from_the_data_keeps_the_bound_of_lemma_6() -> None:
    # Heavy tails (Student t, 3 degrees, variance 3): in at most delta = 0.1 of the trials may the error exceed
    # sqrt(2 v ln(2/delta) / n). With 400 trials a failure rate of 0.1 has standard deviation 0.015.
    rng = np.random.default_rng(3)
    n, delta, variance = 100, 0.1, 3.0
    bound = math.sqrt(2 * variance * math.log(2 / delta) / n)
    misses = 0
    for _ in range(400):
        sample = rng.standard_t(3, size=n)
        misses += abs(catoni_estimate(sample, catoni_scale(sample, delta))) > bound
    assert misses / 400 <= delta + 3 * 0.015


def test_scale_of_constant_values_is_one() -> None:
    assert catoni_scale([2.0, 2.0]) == 1.0
    assert catoni_estimate([2.0, 2.0], 1.0) == 2.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: catoni_estimate([1.0], 0.0), "scale must be a positive number, got 0.0"),
        (lambda: catoni_estimate([1.0], float("nan")), "scale must be a positive number, got nan"),
        (lambda: catoni_estimate([], 1.0), "at least one number"),
        (lambda: catoni_estimate([1.0, float("inf")], 1.0), "values must be finite, got inf"),
        (lambda: catoni_scale([1.0], 1.0), "delta must be in"),
    ],
    ids=["zero-scale", "nan-scale", "no-values", "infinite-value", "delta-one"],
)
def test_bad_arguments_are_refused(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]
