"""What a metric's value is worth, beside the definitions."""

from __future__ import annotations

import math

import pytest
from river import metrics, utils

from stream_maxloss.metrics import SliceReport
from stream_maxloss.metrics.standing import interval_of, value_of, wilson


def score_bound(hits, rows, towards):
    """The share p at which the observed share lies 1.96 deviations sqrt(p(1-p)/n) away, by bisection."""
    observed = hits / rows
    near, far = observed, towards
    for _ in range(200):
        middle = (near + far) / 2
        if abs(observed - middle) <= 1.959963984540054 * math.sqrt(middle * (1 - middle) / rows):
            near = middle
        else:
            far = middle
    return near


@pytest.mark.parametrize(("hits", "rows"), [(0, 10), (10, 10), (3, 30), (450, 500), (1, 100_000), (1, 1)])
def test_the_interval_is_where_the_score_test_turns(hits, rows):
    low, high = wilson(hits, rows)
    assert low == pytest.approx(score_bound(hits, rows, 0.0), abs=1e-9)
    assert high == pytest.approx(score_bound(hits, rows, 1.0), abs=1e-9)


def fed(metric, pairs):
    for truth, guess in pairs:
        metric.update(truth, guess)
    return metric


NO_POSITIVES = [(False, False)] * 5


@pytest.mark.parametrize(
    ("metric", "pairs"),
    [
        (metrics.Recall(), NO_POSITIVES),
        (metrics.Precision(), [(True, False)]),
        (metrics.F1(), NO_POSITIVES),
        (metrics.MCC(), NO_POSITIVES),
        (metrics.ROCAUC(), [(True, {True: 0.7, False: 0.3})]),
        (utils.Rolling(metrics.Recall, 3), NO_POSITIVES),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, list) else "",
)
def test_a_ratio_with_nothing_below_the_line_has_no_value(metric, pairs):
    assert math.isnan(value_of(fed(metric, pairs)))
    assert interval_of(metric) is None


def test_a_value_that_is_zero_for_good_reason_stays_zero():
    assert value_of(fed(metrics.Recall(), [(True, False)] * 3)) == 0.0
    assert value_of(fed(metrics.ROCAUC(), [(True, 0.1), (False, 0.9)])) == pytest.approx(0.0)


def test_the_interval_of_a_recall_counts_positives_only():
    pairs = [(True, True)] * 9 + [(True, False)] + [(False, False)] * 990
    assert interval_of(fed(metrics.Recall(), pairs)) == wilson(9, 10)
    assert interval_of(fed(metrics.Accuracy(), pairs)) == wilson(999, 1000)


def report_of(metric, slices):
    report = SliceReport(metric, by="group")
    for name, pairs in slices.items():
        for truth, guess in pairs:
            report.update(name, truth, guess)
    return report


def test_bad_luck_on_few_rows_is_not_the_worst_slice():
    few = [(True, True)] * 14 + [(True, False)] * 16
    many = [(True, True)] * 5500 + [(True, False)] * 4500
    report = report_of(metrics.Accuracy(), {"few": few, "many": many})
    assert report.worst() == "many"
    assert report.get()["worst_interval"] == list(wilson(5500, 10_000))


def test_slices_without_a_value_are_undefined_and_never_the_worst():
    slices = {
        "no positives": NO_POSITIVES * 20,
        "half": [(True, True), (True, False)] * 50,
        "tiny": [(True, False)] * 3,
    }
    report = report_of(metrics.Recall(), slices)
    assert report.worst() == "half"
    assert report.get()["slices"]["no positives"]["Recall"] is None
    assert report.ranked() == ["half", "tiny", "no positives"]
    assert "undefined" in str(report)
    assert report.rule.endswith("of the slices with at least 30 rows; 1 with fewer passed over")


def test_slices_are_shown_with_the_worst_first_and_the_rest_counted():
    slices = {f"s{i}": [(True, True)] * (30 + i) + [(True, False)] * 30 for i in range(20)}
    lines = report_of(metrics.Accuracy(), slices).table(3).splitlines()
    assert [line.split()[0] for line in lines[1:5]] == ["s0", "s1", "s2", "(all)"]
    assert lines[-1] == "17 more slices"
