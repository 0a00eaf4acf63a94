from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from river import optim

from benchmarks import data_sets
from benchmarks.quality import river_peers, scikit, systems, vowpal
from benchmarks.streams import Stream

ROWS = 250


@pytest.fixture(scope="module")
def shuttle():
    return data_sets.load("shuttle", rows=ROWS)


@pytest.mark.parametrize("system", systems.CONFIGURED)
def test_every_system_gives_a_probability_for_each_row(system, shuttle):
    if system in vowpal.VOWPAL:
        pytest.importorskip("vowpalwabbit", reason="Vowpal Wabbit comes with the extra bench")
    answers = systems.prepare(system, shuttle)()
    assert answers.shape == (ROWS,)
    assert np.all((answers >= 0.0) & (answers <= 1.0))


@pytest.mark.parametrize("system", ["HingeOGD", "River LogisticRegression", "VW logistic", "scikit-learn SGD hinge"])
def test_no_system_has_seen_a_label_before_its_row(system, shuttle):
    if system in vowpal.VOWPAL:
        pytest.importorskip("vowpalwabbit", reason="Vowpal Wabbit comes with the extra bench")
    turned = Stream(shuttle.table, shuttle.labels.copy(), shuttle.slices, shuttle.rare)
    turned.labels[-1] = not turned.labels[-1]
    first, second = systems.prepare(system, shuttle)(), systems.prepare(system, turned)()
    np.testing.assert_array_equal(first, second)


def test_an_unknown_system_is_refused():
    with pytest.raises(ValueError, match="one of Perceptron"):
        systems.prepare("Winnow", None)


def test_shipped_hard_sampling_takes_any_negative_for_harder_than_any_positive():
    shipped, repaired = optim.losses.Log(), river_peers.ProbabilityLogLoss()
    wrong_positive, right_negative = {"y_true": True, "y_pred": 0.01}, {"y_true": False, "y_pred": 0.01}
    assert shipped(**right_negative) > shipped(**wrong_positive)
    assert repaired(**right_negative) < repaired(**wrong_positive)


def test_text_becomes_one_column_a_value_for_scikit_learn_and_a_word_for_vowpal_wabbit():
    table = pa.table({"size": [1.5, 0.0], "kind": ["tcp", "udp"]})
    stream = Stream(table, np.array([True, False]), {})
    assert scikit.matrix(stream).tolist() == [[1.0, 0.0, 1.5], [0.0, 1.0, 0.0]]
    lines = [vowpal.line(y, x) for y, x in zip(stream.labels.tolist(), stream.dicts(), strict=True)]
    assert lines == ["1 | size:1.5 kind=tcp\n", "-1 | kind=udp\n"]


@pytest.fixture(scope="module")
def words():
    """Rows of a few words each, of which one tells the label."""
    generator = np.random.default_rng(5)
    labels = generator.random(ROWS) < 0.3
    rows = [
        [("win", 2.0)] * bool(label) + [(f"word{j}", 1.0) for j in sorted(set(generator.integers(0, 40, 5).tolist()))]
        for label in labels
    ]
    column = pa.array(rows, pa.map_(pa.string(), pa.float64()))
    return Stream(pa.table({"words": column}), labels, {"spam": labels}, "spam")


@pytest.mark.parametrize("system", systems.systems_for("sms_spam"))
def test_every_system_but_trees_learns_counts_of_words_without_scaling_them(system, words):
    if system in vowpal.VOWPAL:
        pytest.importorskip("vowpalwabbit", reason="Vowpal Wabbit comes with the extra bench")
    answers = systems.prepare(system, words)()
    wrong = (answers > 0.5) != words.labels
    # The word that tells is there from the first positive on; a third of the rows are positive.
    assert wrong[ROWS // 2 :].mean() < 0.15


def test_trees_come_first_where_they_run():
    assert systems.systems_for("nsl_kdd")[:2] == ("River ARF", "River HoeffdingTree")
    assert set(systems.systems_for("nsl_kdd")) == set(systems.CONFIGURED)
    assert set(systems.CONFIGURED) - set(systems.systems_for("sms_spam")) == set(river_peers.TREES)
