from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from river import linear_model

from stream_maxloss.metrics import AbsoluteLoss, ProbabilityLoss, ZeroOneLoss

probabilities = st.lists(st.tuples(st.booleans(), st.floats(0.0, 1.0)), min_size=1, max_size=20)


@given(rows=probabilities)
@settings(deadline=None, max_examples=100)
def test_probability_loss_of_a_batch_is_that_of_its_rows_to_the_bit(rows: list[tuple[bool, float]]) -> None:
    loss = ProbabilityLoss()
    y, p = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    from_dicts = [loss(a, {False: 1.0 - b, True: b}) for a, b in rows]
    assert loss.many(y, None, p).tolist() == from_dicts
    assert [loss(a, b) for a, b in rows] == from_dicts
    assert loss.many(np.where(y, 1, -1), None, p).tolist() == from_dicts


def test_every_spelling_of_the_negative_label_reads_the_same_probability() -> None:
    loss = ProbabilityLoss()
    prediction = {False: 0.75, True: 0.25}
    assert [loss(y, prediction) for y in (False, 0, -1, np.bool_(False), np.int64(-1))] == [0.25] * 5
    assert [loss(y, prediction) for y in (True, 1, np.bool_(True))] == [0.75] * 3


def test_minus_one_among_the_classes_is_its_own_class() -> None:
    assert ProbabilityLoss()(-1, {-1: 0.5, False: 0.125}) == 0.5


def test_plain_labels_make_the_probability_loss_zero_one() -> None:
    loss = ProbabilityLoss()
    assert [loss("a", "b"), loss("a", "a"), loss(True, False), loss(-1, False)] == [1.0, 0.0, 1.0, 0.0]
    assert loss.many(np.array([True, False]), np.array([True, True]), None).tolist() == [0.0, 1.0]


def test_zero_one_loss_of_a_batch_is_that_of_its_rows() -> None:
    loss = ZeroOneLoss()
    for y_true in (np.array([True, False, True]), np.array([1, -1, 1]), np.array([1, 0, 1])):
        y_pred = np.array([True, False, False])
        rows = [loss(a, b) for a, b in zip(y_true.tolist(), y_pred.tolist(), strict=True)]
        assert loss.many(y_true, y_pred).tolist() == rows == [0.0, 0.0, 1.0]
    assert loss.many(np.array(["x", "y"]), np.array(["x", "x"])).tolist() == [0.0, 1.0]


@given(rows=st.lists(st.tuples(st.floats(-50, 50), st.floats(-50, 50)), min_size=1, max_size=20))
@settings(deadline=None, max_examples=50)
def test_absolute_loss_of_a_batch_is_that_of_its_rows(rows: list[tuple[float, float]]) -> None:
    loss = AbsoluteLoss(scale=7.0)
    y_true, y_pred = np.array(rows).T
    assert loss.many(y_true, y_pred).tolist() == [loss(a, b) for a, b in rows]


def test_losses_know_the_models_they_work_with() -> None:
    classifier, regressor = linear_model.LogisticRegression(), linear_model.LinearRegression()
    assert ProbabilityLoss().works_with(classifier)
    assert ZeroOneLoss().works_with(classifier)
    assert not ProbabilityLoss().works_with(regressor)
    assert AbsoluteLoss().works_with(regressor)
    assert not AbsoluteLoss().works_with(classifier)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("inf"), float("nan")])
def test_a_scale_that_is_not_positive_is_refused(scale: float) -> None:
    with pytest.raises(ValueError, match="scale must be a positive number"):
        AbsoluteLoss(scale)


def test_missing_columns_are_named() -> None:
    with pytest.raises(ValueError, match="y_pred must hold the predicted labels"):
        ZeroOneLoss().many(np.array([True]), None)
    with pytest.raises(ValueError, match="y_pred must hold the predicted values"):
        AbsoluteLoss().many(np.array([1.0]), None)


def test_labels_that_are_not_binary_are_named() -> None:
    with pytest.raises(ValueError, match="got 7"):
        ProbabilityLoss()(7, 0.5)
    with pytest.raises(ValueError, match="got 7"):
        ProbabilityLoss().many(np.array([1, 0, 7]), None, np.full(3, 0.5))
    with pytest.raises(ValueError, match="got 'spam'"):
        ProbabilityLoss().many(np.array(["spam"]), None, np.full(1, 0.5))
