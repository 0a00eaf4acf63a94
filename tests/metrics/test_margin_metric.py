from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_maxloss.metrics import MarginDistribution, RollingCatoniMargin, margin_of, margins_of


@given(score=st.floats(-15.0, 15.0), positive=st.booleans())
@settings(deadline=None, max_examples=100)
def test_the_logit_gives_back_the_score_of_a_logistic_model(score: float, positive: bool) -> None:
    probability = 1.0 / (1.0 + math.exp(-score))
    # A probability near 1 is known to 1e-16, its complement e^-15 = 3e-7 to 4e-10 of it.
    expected = score if positive else -score
    assert margin_of(positive, {False: 1.0 - probability, True: probability}) == pytest.approx(expected, abs=2e-9)


def test_rows_and_batches_give_the_same_bits() -> None:
    rng = np.random.default_rng(0)
    y, p = rng.random(200) < 0.5, rng.random(200)
    assert margins_of(y, p).tolist() == [margin_of(a, b) for a, b in zip(y.tolist(), p.tolist(), strict=True)]


def test_certainty_has_a_finite_margin() -> None:
    assert margin_of(True, 1.0) == pytest.approx(-math.log(1e-15), rel=1e-2)
    assert margin_of(True, {False: 1.0}) == pytest.approx(math.log(1e-15), rel=1e-2)


def test_every_spelling_of_the_labels_has_its_sign() -> None:
    assert margin_of(-1, 0.75) == margin_of(0, 0.75) == margin_of(False, 0.75) < 0 < margin_of(1, 0.75)
    with pytest.raises(ValueError, match="label must be a bool"):
        margin_of("spam", 0.75)


@pytest.mark.parametrize("metric", [MarginDistribution(5), RollingCatoniMargin()], ids=["distribution", "catoni"])
def test_a_margin_that_is_not_finite_is_refused_and_nothing_changes(metric: MarginDistribution) -> None:
    before = metric.get()
    with pytest.raises(ValueError, match="margin must be finite, got nan"):
        metric.update_many([1.0, math.nan])
    with pytest.raises(ValueError, match="margin must be finite, got inf"):
        metric.update_margin(math.inf)
    assert metric.get() == before


def test_taking_a_row_back_is_refused_with_the_class_that_forgets() -> None:
    with pytest.raises(NotImplementedError, match="MarginDistribution cannot take a row back"):
        MarginDistribution().revert(True, 0.5)
