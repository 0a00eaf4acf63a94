from __future__ import annotations

import pickle

import pytest

from stream_maxloss.concepts import Consistent, ContradictionError, Elimination, Halving, Stump
from stream_maxloss.errors import StreamMaxlossError

CLASS = [Stump("a", 1), Stump("b", 1)]


@pytest.mark.parametrize("learner", [Consistent, Halving])
def test_contradictory_labels_name_the_row(learner):
    model = learner(CLASS)
    model.learn_one({"a": 1, "b": 0}, True)
    model.learn_one({"a": 0, "b": 1}, False)
    with pytest.raises(ContradictionError, match="no concept is consistent after row 3: the label is False") as caught:
        model.learn_one({"a": 1, "b": 0}, False)
    assert caught.value.row == 3
    assert isinstance(caught.value, StreamMaxlossError)
    assert isinstance(caught.value, ValueError)


def test_elimination_names_the_row_of_a_contradiction():
    model = Elimination()
    model.learn_one({"a": True}, False)
    with pytest.raises(ContradictionError, match="no concept is consistent after row 2"):
        model.learn_one({"a": True}, True)


def test_a_caught_contradiction_leaves_the_remaining_concepts_as_keep_would():
    raising, keeping = Halving(CLASS), Halving(CLASS, on_contradiction="keep")
    for x, y in [({"a": 1}, True), ({"a": 1}, False), ({"b": 1}, False)]:
        keeping.learn_one(x, y)
        try:
            raising.learn_one(x, y)
        except ContradictionError:
            assert y is False
    assert raising.state_dict()["rows"] == 3
    assert raising.alive == keeping.alive == [0]
    assert raising.contradictions == keeping.contradictions == 1


def test_reset_starts_from_the_concepts_that_explain_the_row():
    model = Consistent([*CLASS, Stump("c", 1)], on_contradiction="reset")
    model.learn_one({"a": 1}, True)
    assert model.alive == [0]
    model.learn_one({"b": 1, "c": 1}, True)
    assert model.alive == [1, 2]


def test_reset_takes_the_whole_class_when_no_concept_ever_says_the_label():
    model = Halving(CLASS, on_contradiction="reset")
    model.learn_one({"a": 1}, "unheard of")
    assert model.alive == [0, 1]
    assert model.predict_proba_one({"a": 1})["unheard of"] == 0.0


def test_elimination_resets_to_all_literals():
    model = Elimination(on_contradiction="reset")
    model.learn_one({"a": True, "b": False}, False)
    model.learn_one({"a": True, "b": False}, True)
    assert model.literals == ["a", "b", "not a", "not b"]


def test_contradiction_error_survives_pickling():
    error = pickle.loads(pickle.dumps(ContradictionError(7, "because")))
    assert (error.row, error.reason) == (7, "because")
    assert "after row 7: because" in str(error)


@pytest.mark.parametrize("build", [lambda p: Consistent(CLASS, p), lambda p: Elimination(on_contradiction=p)])
def test_refuses_an_unknown_policy(build):
    with pytest.raises(ValueError, match=r"on_contradiction must be one of .* got 'ignore'"):
        build("ignore")
