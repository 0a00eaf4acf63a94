from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stream_maxloss.classes import Classes
from stream_maxloss.errors import RowError
from stream_maxloss.mixture import AutoClassifier


def test_a_boolean_stands_for_both() -> None:
    classes = Classes()
    assert classes.add(np.True_) == 1
    assert classes.labels == [False, True]
    assert classes.is_binary
    assert classes.positive == 1


@pytest.mark.parametrize(
    ("labels", "positive"), [([1, 0], 0), ([0, 1], 1), ([-1, 1], 1), ([1, -1], 0), ([1], 0), ([0], 1), ([-1], 1)]
)
def test_the_positive_one_of_binary_labels_is_one(labels: list[int], positive: int) -> None:
    classes = Classes()
    for label in labels:
        classes.add(label)
    assert classes.is_binary
    assert classes.positive == positive


def test_outputs_grow_at_the_row_that_brings_a_third_class() -> None:
    numbers, outputs = Classes().add_many(["a", "b", "a", "c", "a", "d"])
    assert numbers.tolist() == [0, 1, 0, 2, 0, 3]
    assert outputs.tolist() == [1, 1, 1, 3, 3, 4]


@pytest.mark.parametrize("label", [None, float("nan"), [1], np.float64("nan")], ids=["none", "nan", "list", "np.nan"])
def test_a_missing_label_is_refused_with_its_row(label: Any) -> None:
    classes = Classes()
    column = np.empty(3, dtype=object)
    column[:] = ["a", "b", label]
    with pytest.raises(RowError, match="label of row 2 must be a class") as caught:
        classes.add_many(column)
    assert caught.value.row == 2
    assert len(classes) == 0


def test_labels_come_back_as_they_were_given() -> None:
    for labels in (["spam", "ham"], [3, 7, 5], [0, 1], [-1, 1], [True, False], [("a", 1), ("b", 2)]):
        model = AutoClassifier(seed=1, compute="least")
        for i in range(40):
            model.learn_one({"x": float(i % len(labels))}, labels[i % len(labels)])
        assert [model.predict_one({"x": float(k)}) for k in range(len(labels))] == labels
        assert set(model.predict_proba_one({"x": 0.0})) == set(labels)


def test_one_class_alone_is_certain() -> None:
    model = AutoClassifier(seed=1)
    assert model.predict_one({"x": 1.0}) is None
    assert model.predict_proba_one({"x": 1.0}) == {}
    model.learn_one({"x": 1.0}, "only")
    assert model.predict_one({"x": 1.0}) == "only"
    assert model.predict_proba_one({"x": 1.0}) == {"only": 1.0}
