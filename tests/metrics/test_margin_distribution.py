from __future__ import annotations

import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_maxloss.metrics import MarginDistribution


@given(margins=st.lists(st.floats(-100.0, 100.0), min_size=2, max_size=60), window_size=st.integers(2, 30))
@settings(deadline=None, max_examples=100)
def test_summary_is_that_of_the_last_margins(margins: list[float], window_size: int) -> None:
    metric = MarginDistribution(window_size)
    for margin in margins:
        metric.update_margin(margin)
    last = margins[-window_size:]
    summary = metric.get()
    q25, q50, q75 = statistics.quantiles(last, n=4, method="inclusive")
    assert summary.n_rows == len(last)
    assert (summary.q25, summary.median, summary.q75) == pytest.approx((q25, q50, q75), abs=1e-9)
    assert summary.mean == pytest.approx(statistics.fmean(last), abs=1e-9)
    assert summary.least == min(last)
    assert summary.wrong == pytest.approx(sum(m < 0 for m in last) / len(last))
    whole = MarginDistribution(window_size)
    whole.update_many(margins)
    assert whole.get() == summary


def test_rows_with_probabilities_are_taken() -> None:
    metric = MarginDistribution()
    metric.update(True, {False: 0.5, True: 0.5})
    metric.update(False, {False: 0.9, True: 0.1}, 3.0)
    assert metric.get().to_dict()["n_rows"] == 2
    assert metric.get().least == 0.0


def test_an_empty_distribution_prints_and_has_no_order() -> None:
    assert str(MarginDistribution()).endswith("of 0 rows")
    with pytest.raises(NotImplementedError, match="no order"):
        _ = MarginDistribution().bigger_is_better
