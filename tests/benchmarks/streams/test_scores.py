"""Each figure against its definition, written out row by row, and against scikit-learn's."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from benchmarks.streams.scores import FLOOR, average_precision, calibration_error, recall_at, reliability, score
from benchmarks.streams.stream import CLASSES, NUMBER, Stream

# Few distinct scores, so that ties are the rule.
PAIRS = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1, max_size=40)


def arrays(pairs):
    positive = np.array([label for label, _ in pairs])
    return positive, np.array([float(place) / 6.0 for _, place in pairs])


def stream_of(labels, kind="binary", slices=None):
    return Stream(pa.table({"x": np.zeros(len(labels))}), np.asarray(labels), slices or {}, kind=kind)


def oracle_precision(positive, scores):
    """Sum precision at each distinct score, times the recall it adds."""
    total, before = 0.0, 0.0
    for cut in sorted(set(scores.tolist()), reverse=True):
        found = sum(1 for label, value in zip(positive, scores, strict=True) if label and value >= cut)
        alarms = sum(1 for value in scores if value >= cut)
        recall = found / positive.sum()
        total, before = total + (recall - before) * found / alarms, recall
    return total


@given(PAIRS)
def test_average_precision_is_that_of_the_definition_and_of_scikit_learn(pairs):
    positive, scores = arrays(pairs)
    found = average_precision(positive, scores)
    if not positive.any():
        assert math.isnan(found)
        return
    assert found == pytest.approx(oracle_precision(positive, scores))
    assert found == pytest.approx(average_precision_score(positive, scores))


@given(PAIRS, st.sampled_from([0.0, 0.01, 0.1, 0.5, 1.0]))
def test_recall_is_the_best_of_any_threshold_that_keeps_the_false_alarms(pairs, rate):
    positive, scores = arrays(pairs)
    if not positive.any():
        assert math.isnan(recall_at(positive, scores, rate))
        return
    best = 0.0
    for cut in set(scores.tolist()):
        if np.sum(scores[~positive] >= cut) <= math.floor(rate * np.sum(~positive)):
            best = max(best, float(np.mean(scores[positive] >= cut)))
    assert recall_at(positive, scores, rate) == pytest.approx(best)


def test_calibration_error_is_zero_of_true_shares_and_the_gap_of_wrong_ones():
    happened = np.array([True, False, False, False] * 25)
    assert calibration_error(reliability(happened, np.full(100, 0.25))) == pytest.approx(0.0)
    assert calibration_error(reliability(happened, np.full(100, 0.85))) == pytest.approx(0.6)
    # Two bins, 40 rows away by .25 and 60 by .05.
    said = np.where(np.arange(100) < 40, 0.0, 0.3)
    assert calibration_error(reliability(happened, said)) == pytest.approx(0.4 * 0.25 + 0.6 * 0.05)


def test_a_probability_of_one_is_in_the_last_bin():
    assert reliability(np.array([True]), np.array([1.0]))[-1] == (1, 1.0, 1.0)


def test_binary_figures_are_those_of_the_answers():
    labels = [True, True, False, False]
    slices = {"hard": np.array([True, False, False, False]), "empty": np.zeros(4, dtype=bool)}
    found = score(stream_of(labels, slices=slices), np.array([0.2, 0.9, 0.4, 0.0]))
    assert found["error"] == 0.25
    assert found["log loss"] == pytest.approx(-np.mean(np.log([0.2, 0.9, 0.6, 1.0])))
    assert found["recall at 1 %"] == 0.5
    assert found["slices"]["hard"] == {
        "rows": 1,
        "error": 1.0,
        "ap": 0.5,
        "recall at 0.1 %": 0.0,
        "recall at 1 %": 0.0,
    }
    assert "empty" not in found["slices"]


def test_one_sure_mistake_costs_no_more_than_the_floor():
    found = score(stream_of([True]), np.array([0.0]))
    assert found["log loss"] == pytest.approx(-math.log(FLOOR))


def test_classes_are_scored_by_their_shares_and_nothing_known_is_an_even_share():
    stream = stream_of(["a", "b", "c", "c"], CLASSES)
    answers = np.array([[2.0, 1.0, 1.0], [0.1, 0.7, 0.2], [0.0, 0.0, 0.0], [0.2, 0.5, 0.3]])
    found = score(stream, answers)
    assert found["log loss"] == pytest.approx(-np.mean(np.log([0.5, 0.7, 1 / 3, 0.3])))
    assert found["error"] == 0.5
    assert found["slices"]["c"] == {"rows": 2, "error": 1.0, "ap": pytest.approx(1.0)}


def test_numbers_are_scored_by_their_distance():
    found = score(stream_of([1.0, 2.0], NUMBER, {"high": np.array([False, True])}), np.array([2.0, -1.0]))
    assert (found["mae"], found["rmse"]) == (2.0, pytest.approx(math.sqrt(5.0)))
    assert found["slices"] == {"high": {"rows": 1, "mae": 3.0}}


@pytest.mark.parametrize("answers", [np.array([0.5]), np.array([0.5, np.nan])], ids=["too few", "not finite"])
def test_what_is_no_answer_for_each_row_is_refused(answers):
    with pytest.raises(ValueError, match="one finite answer per row"):
        score(stream_of([True, False]), answers)
