from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numba import njit, types

from stream_maxloss.linear import Perceptron
from stream_maxloss.machine.dict_values import PLAIN_NUMBERS, python_object, read_values


@njit
def read(names: Any, x: Any, count: int, goal: int) -> bool:
    return read_values(names, 1, x, count, goal)


@pytest.fixture(scope="module")
def entry_point():
    signature = (python_object, python_object, types.int64, types.int64)
    read.compile(signature)
    return read.overloads[signature].entry_point


def read_row(entry_point, names, x) -> list[float] | None:
    found = np.full(len(names), 7.0)
    return found.tolist() if entry_point((PLAIN_NUMBERS, *names), x, len(names), found.ctypes.data) else None


def test_values_come_in_the_order_of_the_names(entry_point) -> None:
    assert read_row(entry_point, ("b", "a", 3), {"a": 1.5, 3: 2.5, "b": -1.0}) == [-1.0, 1.5, 2.5]


@pytest.mark.parametrize(
    "value", [True, 3, -1, -1.0, np.float64(2.5), np.float32(0.5), np.int8(-3), np.uint64(7), np.bool_(True)]
)
def test_every_plain_kind_of_number_is_read(entry_point, value) -> None:
    assert read_row(entry_point, ("a", "b"), {"a": value, "b": 1.0}) == [float(value), 1.0]


@pytest.mark.parametrize(
    "x",
    [
        {"a": Decimal(1), "b": 1.0},
        {"a": Fraction(1, 4), "b": 1.0},
        {"a": 1j, "b": 1.0},
        {"a": np.array(1.0), "b": 1.0},
        {},
        {"a": 1.0},
        {"a": 1.0, "c": 2.0},
        {"a": 1.0, "b": 2.0, "c": 3.0},
        {"a": "1", "b": 2.0},
        {"a": 1.0, "b": None},
    ],
    ids=["decimal", "fraction", "complex", "array", "empty", "too few", "another name", "too many", "text", "nothing"],
)
def test_a_row_that_does_not_fit_is_left_to_the_slow_way(entry_point, x) -> None:
    assert read_row(entry_point, ("a", "b"), x) is None


@pytest.mark.parametrize("x", [None, [1.0, 2.0], "ab", 5], ids=str)
def test_anything_but_a_dict_is_left_to_the_slow_way_without_an_error(entry_point, x) -> None:
    assert read_row(entry_point, ("a", "b"), x) is None


def test_a_value_that_empties_its_dict_while_it_is_read_does_no_harm(entry_point) -> None:
    class Sly:
        def __init__(self, x: dict[str, Any]) -> None:
            self.x = x

        def __float__(self) -> float:
            self.x.clear()
            return 4.0

    x: dict[str, Any] = {"b": 1.0}
    x["a"] = Sly(x)
    assert read_row(entry_point, ("a", "b"), x) is None


def test_an_integer_too_large_for_a_float_is_refused_by_name() -> None:
    model = Perceptron()
    model.learn_one({"a": 1.0}, True)
    with pytest.raises(ValueError, match="feature 'a' must be finite"):
        model.learn_one({"a": 10**400}, True)
    assert model.n_rows == 1
