from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_maxloss.concepts import Elimination


@st.composite
def disjunction_streams(draw):
    width = draw(st.integers(1, 8))
    names = [f"z{j}" for j in range(width)]
    literals = draw(st.lists(st.tuples(st.sampled_from(names), st.booleans()), max_size=width))
    bits = draw(st.lists(st.lists(st.booleans(), min_size=width, max_size=width), max_size=40))
    absent = draw(st.booleans())
    rows = [dict(zip(names, row, strict=True)) for row in bits]
    labels = [any(x[name] == sign for name, sign in literals) for x in rows]
    # A false feature may as well be left out of the row.
    rows = [{k: v for k, v in x.items() if v} if absent else x for x in rows]
    return width, literals, list(zip(rows, labels, strict=True))


@settings(deadline=None, max_examples=300)
@given(case=disjunction_streams())
def test_errs_at_most_once_more_than_there_are_features_and_never_on_a_positive(case):
    width, literals, stream = case
    model = Elimination()
    mistakes = 0
    for x, y in stream:
        predicted = model.predict_one(x)
        assert predicted or not y
        mistakes += predicted != y
        model.learn_one(x, y)
    assert mistakes == model.mistakes <= model.mistake_bound <= width + 1
    seen = {name for x, _ in stream for name in x}
    target = {name if sign else f"not {name}" for name, sign in literals if name in seen}
    assert target <= set(model.literals)


@pytest.mark.parametrize("width", [1, 3, 8])
def test_the_bound_is_reached(width, prequential_mistakes):
    # The empty disjunction, and rows that make one surviving literal true at a time.
    names = [f"z{j}" for j in range(width)]
    rows = [dict.fromkeys(names, False)] + [{name: name == one for name in names} for one in names]
    assert prequential_mistakes(Elimination(), [(x, False) for x in rows]) == width + 1


def test_the_first_mistake_deletes_one_literal_of_each_feature():
    model = Elimination()
    model.learn_one({"a": True, "b": False, "c": True}, False)
    assert model.literals == ["b", "not a", "not c"]


def test_a_feature_that_emerges_late_was_false_before():
    model = Elimination()
    model.learn_one({"a": True}, False)
    model.learn_one({"a": True, "late": True}, True)
    assert model.literals == ["late", "not a"]


def test_null_is_absent_is_false():
    model = Elimination()
    model.learn_one({"a": None, "b": float("nan"), "c": True}, False)
    assert model.literals == ["a", "b", "not c"]
    assert model.predict_one({"a": None, "c": True}) is False


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param(37, "feature 'age' must be boolean, got 37; pass threshold=", id="integer"),
        pytest.param(0.5, "feature 'age' must be boolean, got 0.5; pass threshold=", id="fraction"),
        pytest.param(np.float64(2.0), r"feature 'age' must be boolean, got 2.0; pass threshold=", id="numpy"),
        pytest.param("old", "feature 'age' must be boolean, got 'old'; one-hot encode it", id="string"),
        pytest.param([1], r"feature 'age' must be boolean, got \[1\]", id="list"),
    ],
)
def test_refuses_a_feature_that_is_not_boolean_and_names_it(value, message):
    model = Elimination()
    model.learn_one({"ok": 1}, True)
    with pytest.raises(ValueError, match="^row 2: " + message):
        model.learn_one({"ok": True, "age": value}, True)
    with pytest.raises(ValueError, match="^" + message):
        model.predict_one({"ok": True, "age": value})
    assert model.state_dict()["rows"] == 1
    assert model.state_dict()["features"] == ["ok"]


def test_threshold_makes_numbers_boolean_but_not_strings():
    model = Elimination(threshold=18)
    model.learn_one({"age": 17.9}, False)
    assert model.predict_one({"age": 18}) is True
    with pytest.raises(ValueError, match="feature 'age' must be boolean, got 'old'; one-hot encode it"):
        model.predict_one({"age": "old"})


@pytest.mark.parametrize(("label", "positive"), [(True, 1), (1, 1), (np.bool_(True), 1), (False, 0), (0, 0), (-1, 0)])
def test_takes_every_binary_label(label, positive):
    model = Elimination()
    model.learn_one({"a": True}, label)
    assert model.predict_one({"a": True}) is bool(positive)


@pytest.mark.parametrize("label", [2, "yes", 0.5])
def test_refuses_other_labels(label):
    with pytest.raises(ValueError, match=r"row 1: label must be binary .* got .*OneVsRest"):
        Elimination().learn_one({"a": True}, label)


def test_continues_from_a_saved_state(prequential_mistakes):
    rng = np.random.default_rng(5)
    rows = [{f"z{j}": bool(b) for j, b in enumerate(bits)} for bits in rng.integers(0, 2, (60, 12))]
    stream = [(x, x["z2"] or not x["z9"]) for x in rows]
    for cut in (0, 1, 10):
        straight, halfway, resumed = Elimination(), Elimination(), Elimination()
        total = prequential_mistakes(straight, stream)
        first = prequential_mistakes(halfway, stream[:cut])
        resumed.load_state_dict(halfway.state_dict())
        assert first + prequential_mistakes(resumed, stream[cut:]) == total
        assert resumed.literals == straight.literals
        assert resumed.mistakes == straight.mistakes == total
