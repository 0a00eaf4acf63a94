"""CON and HAL: what they share."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_maxloss.concepts import Consistent, Halving, Stump


def table_concepts(table):
    """Concepts as rows of a table: concept i answers column x["column"] with table[i][column]."""
    return [lambda x, answers=answers: answers[x["column"]] for answers in table]


@st.composite
def realisable_streams(draw, labels=(False, True)):
    width = draw(st.integers(1, 6))
    table = draw(st.lists(st.lists(st.sampled_from(labels), min_size=width, max_size=width), min_size=1, max_size=40))
    target = draw(st.sampled_from(table))
    columns = draw(st.lists(st.integers(0, width - 1), max_size=30))
    return table, [({"column": column}, target[column]) for column in columns]


@pytest.mark.parametrize("learner", [Consistent, Halving])
@settings(deadline=None, max_examples=150)
@given(case=realisable_streams())
def test_alive_is_exactly_the_set_of_consistent_concepts(learner, case, prequential_mistakes):
    table, stream = case
    model = learner(table_concepts(table))
    mistakes = prequential_mistakes(model, stream)
    oracle = [i for i, answers in enumerate(table) if all(answers[x["column"]] == y for x, y in stream)]
    assert model.alive == oracle
    assert model.mistakes == mistakes
    assert model.contradictions == 0


@pytest.mark.parametrize("learner", [Consistent, Halving])
def test_continues_from_a_saved_state(learner, prequential_mistakes):
    rng = np.random.default_rng(3)
    table = rng.integers(0, 2, (50, 30)).astype(bool).tolist()
    stream = [({"column": int(c)}, table[17][c]) for c in rng.integers(0, 30, 8)]
    straight, halfway, resumed = (learner(table_concepts(table)) for _ in range(3))
    prequential_mistakes(straight, stream)
    prequential_mistakes(halfway, stream[:4])
    resumed.load_state_dict(halfway.state_dict())
    prequential_mistakes(resumed, stream[4:])
    assert resumed.alive == straight.alive
    assert resumed.mistakes == straight.mistakes
    assert {k: v for k, v in resumed.state_dict().items() if k != "alive"} == {
        k: v for k, v in straight.state_dict().items() if k != "alive"
    }


def test_refuses_a_state_of_another_class():
    with pytest.raises(ValueError, match=r"state must come from a learner over 2 concepts, got a mask of shape \(1,\)"):
        Halving([Stump("a", 1), Stump("b", 1)]).load_state_dict(Halving([Stump("a", 1)]).state_dict())


@pytest.mark.parametrize("learner", [Consistent, Halving])
def test_refuses_an_empty_class(learner):
    with pytest.raises(ValueError, match="concepts must hold at least one concept, got \\[\\]"):
        learner([])


@pytest.mark.parametrize("learner", [Consistent, Halving])
def test_refuses_what_is_no_concept_and_says_which(learner):
    with pytest.raises(TypeError, match=r"concepts\[1\] must be a callable or a fitted River classifier, got 3"):
        learner([Stump("a", 1), 3])


@pytest.mark.parametrize("learner", [Consistent, Halving])
def test_numpy_labels_are_plain_labels(learner):
    model = learner([lambda x: np.bool_(x["a"]), lambda x: np.bool_(not x["a"])])
    model.learn_one({"a": 1}, np.bool_(True))
    assert model.predict_proba_one({"a": 1}) == {True: 1.0, False: 0.0}
    assert {type(label) for label in model.predict_proba_one({"a": 1})} == {bool}


@pytest.mark.parametrize("learner", [Consistent, Halving])
def test_an_untrained_model_abstains_and_drops_out(learner):
    from river import naive_bayes

    model = learner([naive_bayes.GaussianNB(), Stump("a", 1)])
    assert learner([naive_bayes.GaussianNB()]).predict_proba_one({"a": 1}) == {}
    model.learn_one({"a": 1}, True)
    assert model.alive == [1]


def test_clone_keeps_fitted_models_fitted():
    from river import naive_bayes

    fitted = naive_bayes.GaussianNB()
    fitted.learn_one({"a": 1.0}, "yes")
    assert Halving([fitted]).clone().predict_one({"a": 1.0}) == "yes"


@pytest.mark.parametrize("learner", [Consistent, Halving])
@pytest.mark.parametrize("concepts", [None, 3, Stump("a", 1)], ids=repr)
def test_refuses_what_holds_no_concepts(learner, concepts):
    with pytest.raises(TypeError, match=r"concepts must be several concepts, got .*; put a single one into a list"):
        learner(concepts)
