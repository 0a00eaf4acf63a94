from __future__ import annotations

import pyarrow as pa
import pytest

from stream_maxloss.errors import UsageError
from stream_maxloss.run import Target
from stream_maxloss.run.task import find_task

FOUND = {
    "booleans": (pa.array([True, None, False]), "binary"),
    "0 and 1": (pa.array([0, 1, 1]), "binary"),
    "-1 and 1, as floats": (pa.array([-1.0, 1.0]), "binary"),
    "one of them so far": (pa.array([0, 0, None]), "binary"),
    "-1, 0 and 1": (pa.array([-1, 0, 1]), "class"),
    "1 and 2": (pa.array([1, 2, 2]), "class"),
    "twenty whole numbers": (pa.array(list(range(20))), "class"),
    "twenty-one whole numbers": (pa.array(list(range(21))), "number"),
    "fractions": (pa.array([0.0, 0.5]), "number"),
    "text": (pa.array(["a", "b"]), "class"),
    "a dictionary of text": (pa.array(["a", "b"]).dictionary_encode(), "class"),
}


@pytest.mark.parametrize("case", FOUND)
def test_the_first_values_say_what_a_target_is(case):
    column, kind = FOUND[case]
    assert find_task(column, "y").kind == kind


def test_only_what_had_to_be_found_from_numbers_is_told():
    assert find_task(pa.array([0, 1]), "y").reason == ""
    assert find_task(pa.array(["a", "b"]), "y").reason == ""
    assert "add --task number" in find_task(pa.array([1, 2, 3]), "y").reason
    assert "add --task class" in find_task(pa.array([0.5, 2.5]), "y").reason


def test_what_was_asked_is_taken():
    assert find_task(pa.array([1, 2, 3]), "y", "number").kind == "number"
    assert find_task(pa.array(list(range(50))), "y", "class").kind == "class"


def test_three_classes_have_metrics_of_their_own_and_two_have_those_of_the_model():
    assert find_task(pa.array(["a", "b", "c"]), "y").metrics == ("Accuracy", "MacroF1", "CrossEntropy")
    assert find_task(pa.array(["a", "b"]), "y").metrics == ()


def test_a_column_of_lists_is_refused():
    with pytest.raises(UsageError, match="target 'y' must be a number, a boolean or text, got list"):
        find_task(pa.array([[1], [2]]), "y")


@pytest.mark.parametrize("values", [["b", "a"], [3, 1]], ids=["text", "integers"])
def test_classes_keep_their_kind(values):
    labels, bad = Target("y", "class").read(pa.array(values), str)
    assert (labels.tolist(), bad) == (values, {})


def test_whole_floats_are_integers_and_fractions_are_bad_rows():
    labels, bad = Target("y", "class").read(pa.array([3.0, None, 0.5]), "day.csv:{}".format)
    assert labels[0] == 3
    assert isinstance(labels[0], int)
    assert sorted(bad) == [2]
    assert str(bad[2]).startswith("day.csv:2: target 'y' must be a whole number to be a class, got 0.5")


def test_without_a_look_ahead_text_is_classes_and_all_else_binary():
    assert Target("y", "auto").read(pa.array(["a"]), str)[0].tolist() == ["a"]
    assert Target("y", "auto").read(pa.array([1, 0]), str)[0].tolist() == [True, False]


@pytest.mark.parametrize("texts", [["$1,250.50", "$9.99"], ["1.402,32", "884,75"], ["12.5%", "3%"]])
def test_numbers_as_people_write_them_are_numbers_and_classes_only_if_asked(texts):
    assert find_task(pa.array(texts), "price").kind == "number"
    assert find_task(pa.array(texts), "price", "class").kind == "class"


def test_texts_of_which_each_row_has_another_are_no_classes_unless_asked():
    names = pa.array([f"user {i}" for i in range(500)])
    with pytest.raises(UsageError, match=r"500 different texts in the first 500 rows.*--positive VALUE"):
        find_task(names, "user")
    assert find_task(names, "user", "class").kind == "class"
