from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stream_maxloss.features import FeatureMap, HashedFeatureMap, text_feature


@given(st.permutations(["b", "a", 2, 1, "c"]))
def test_the_order_of_a_rows_names_does_not_matter(names: list[object]) -> None:
    features = FeatureMap()
    features.add(names)
    assert features.names == [1, 2, "a", "b", "c"]


@given(st.lists(st.lists(st.text(max_size=3), max_size=6), max_size=6))
def test_columns_are_given_once_and_without_holes(rows: list[list[str]]) -> None:
    features = FeatureMap()
    for row in rows:
        features.add(row)
    assert sorted(map(features.find, features.names)) == list(range(len(features)))
    assert [features.name_of(column) for column in range(len(features))] == features.names


def test_a_name_that_comes_twice_in_one_row_takes_one_column() -> None:
    features = FeatureMap()
    features.add(["a", "a"])
    features.add(["b"])
    assert (features.find("a"), features.find("b"), len(features)) == (0, 1, 2)


def test_truncate_forgets_what_came_last() -> None:
    features = FeatureMap()
    features.add(["a"])
    features.add(["c", "b"])
    features.truncate(2)
    assert features.names == ["a", "b"]
    assert features.find("c") == -1


def test_state_keeps_text_and_whole_numbers_apart() -> None:
    features, other = FeatureMap(), FeatureMap()
    features.add([1, "1", "a"])
    other.load_state_dict(features.state_dict())
    assert other.names == features.names
    assert {type(name) for name in other.names} == {int, str}


@pytest.mark.parametrize("name", [(1, 2), 1.5, True], ids=repr)
def test_a_name_that_json_does_not_hold_is_refused_when_saved(name: object) -> None:
    features = FeatureMap()
    features.add([name])
    with pytest.raises(ValueError, match="a feature name must be text or a whole number to be saved, got"):
        features.state_dict()


def test_hash_is_the_same_in_every_process() -> None:
    code = "from stream_maxloss.features import HashedFeatureMap as H; print([H(10).find(n) for n in ('a', 'b', 7)])"
    runs = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    }
    assert runs == {f"{[HashedFeatureMap(10).find(name) for name in ('a', 'b', 7)]}\n"}


def test_hash_spreads_names_that_differ_in_a_digit() -> None:
    features = HashedFeatureMap(10)
    used = {features.find(f"f{j}") for j in range(1024)}
    # 1024 balls in 1024 bins fill 1 - 1/e = 647 on average, with a standard deviation of 16: five of them either way.
    assert 567 < len(used) < 727


def test_hashed_map_neither_grows_nor_forgets() -> None:
    features = HashedFeatureMap(2)
    features.add(["a", "b"])
    features.truncate(0)
    assert len(features) == 4
    assert features.names == ["#0", "#1", "#2", "#3"]
    assert features.name_of(3) == "#3"
    assert features.state_dict() == {}


def test_text_is_a_feature_of_column_and_value() -> None:
    assert text_feature("shape", "round") == "shape=round"


@pytest.mark.parametrize(
    "names", [None, "ab", ["a", "a"], [None], [True], [{"int": "1"}], [{"int": True}], [{}], [["a"]]]
)
def test_names_that_no_map_has_saved_are_refused(names):
    features = FeatureMap()
    features.add(["kept"])
    with pytest.raises(ValueError, match="name"):
        features.load_state_dict({"names": names})
    assert features.names == ["kept"]
