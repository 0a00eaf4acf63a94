"""The small functions that cut the papers' data sets do what the pages say they do."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "reproduce"))

margin = pytest.importorskip("margin_figure2", reason="the reproductions draw with matplotlib")
newsgroups = pytest.importorskip("leverage_newsgroups", reason="the reproductions draw with matplotlib")


@pytest.mark.parametrize(("rows", "most"), [(10, 6), (7, 100), (20, 4)])
def test_both_parts_are_balanced_and_apart(rows, most):
    labels = np.arange(60) % 4 == 0
    train, test = margin.balanced_split(labels, rows, most, np.random.default_rng(0))
    assert len(train) == rows
    assert labels[train].sum() == rows // 2
    assert labels[test].sum() * 2 == len(test)
    assert 0 < len(test) <= most
    assert len(set(train) | set(test)) == len(train) + len(test)


def test_all_that_is_left_of_the_rarer_class_is_tested():
    labels = np.arange(100) < 12
    _, test = margin.balanced_split(labels, 10, 1000, np.random.default_rng(1))
    assert labels[test].sum() == 12 - 5
    assert len(test) == 2 * (12 - 5)


def test_the_test_rows_are_scaled_by_the_training_rows():
    train, test = margin.standardise(np.array([[0.0, 5.0], [4.0, 5.0]]), np.array([[6.0, 7.0]]))
    np.testing.assert_allclose(train, [[-1.0, 0.0], [1.0, 0.0]])
    np.testing.assert_allclose(test, [[2.0, 2.0]])


def test_checkpoints_rise_to_the_last_gradient():
    points = margin.checkpoints(540, 28)
    assert points[0] == 54
    assert points[-1] == 540 * 28
    assert (np.diff(points) > 0).all()


def test_statistics_are_those_of_the_margins():
    test = np.array([-1.0, 0.0, 1.0, 2.0, 3.0])
    values = dict(zip(margin.STATISTICS, margin.summarise(np.array([-1.0, 1.0]), test), strict=True))
    assert values["test error"] == 0.2
    assert values["train error"] == 0.5
    assert (values["mean"], values["Q25"], values["median"], values["Q75"]) == (1.0, 0.0, 1.0, 2.0)
    assert values["Catoni"] == pytest.approx(1.0)  # symmetrical about 1


def test_groups_are_split_three_to_one():
    groups = np.repeat([0, 1, 2], 8)
    train, test = newsgroups.split_groups(groups, (0, 2), np.random.default_rng(0))
    assert np.bincount(groups[train], minlength=3).tolist() == [6, 0, 6]
    assert np.bincount(groups[test], minlength=3).tolist() == [2, 0, 2]
    assert not set(train) & set(test)


def test_words_in_most_articles_come_first_and_absent_ones_never():
    from scipy import sparse

    presence = sparse.csr_array(np.array([[1.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 1.0]]))
    assert newsgroups.frequent_words(presence, 2).tolist() == [3, 2]
    assert newsgroups.frequent_words(presence, 10).tolist() == [3, 2, 0]
