from __future__ import annotations

import pyarrow as pa
import pytest
from river import linear_model, tree

from stream_maxloss.errors import UsageError
from stream_maxloss.focus import FocusedClassifier
from stream_maxloss.linear import AbsoluteOGD, HingeOGD, Scaler
from stream_maxloss.run import Target
from stream_maxloss.run.target import label_kind

KINDS = {
    "ours": (HingeOGD(), "binary"),
    "ours, focused and scaled": (Scaler() | FocusedClassifier(HingeOGD()), "binary"),
    "our regressor": (AbsoluteOGD(), "number"),
    "a classifier of River": (tree.HoeffdingTreeClassifier(), "any"),
    "a regressor of River": (linear_model.LinearRegression(), "number"),
}


@pytest.mark.parametrize("case", KINDS)
def test_a_model_takes_one_kind_of_label(case):
    model, kind = KINDS[case]
    assert label_kind(model) == kind


@pytest.mark.parametrize("values", [[True, False], [1, 0], [1.0, -1.0], [1, -1]], ids=str)
def test_two_values_are_labels_by_themselves(values):
    labels, bad = Target("y", "binary").read(pa.array(values), str)
    assert (labels.tolist(), bad) == ([True, False], {})


def test_other_numbers_are_bad_rows_with_their_address():
    labels, bad = Target("y", "binary").read(pa.array([1, 7, None]), "day.csv:{}".format)
    assert sorted(bad) == [1]
    assert str(bad[1]).startswith("day.csv:1: target 'y' must be true/false, 0/1 or -1/1, got 7.0")
    assert labels[0]


REFUSED = {
    "text": (["yes", "no"], None, "got the texts yes, no; say which one counts as positive: --positive 'no'"),
    "many texts": (["a", "b", "c"], None, "must have two values, got the texts a, b, c"),
    "a number against text": ([1, 2], "one", "positive must be a number like the values of 'y'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_column_that_cannot_be_a_label_is_refused(case):
    values, positive, message = REFUSED[case]
    with pytest.raises(UsageError, match=message):
        Target("y", "binary", positive).read(pa.array(values), str)


def test_a_positive_value_is_for_classifiers():
    with pytest.raises(UsageError, match="positive must come with a classifier, got 'a' for a regressor"):
        Target("y", "number", "a")
