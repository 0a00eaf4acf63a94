from __future__ import annotations

import numpy as np
import pytest

from stream_maxloss.described import ArrayOf, Spans, check_state

WINDOW = {
    "values": ArrayOf("float64", ("entries",)),
    "columns": ArrayOf("int32", ("entries",), low=0, below="width"),
    "first": ArrayOf("int64", ("rows",), low=0),
    "lengths": ArrayOf("int32", ("rows",), low=0),
    "counts": ArrayOf("float64", (2,), low=0, whole=True),
}
STRETCHES = Spans("first", "lengths", within="values")


def good() -> dict[str, np.ndarray]:
    return {
        "values": np.array([1.0, 2.0, 3.0]),
        "columns": np.array([0, 4, 2], dtype=np.int32),
        "first": np.array([0, 2]),
        "lengths": np.array([2, 1], dtype=np.int32),
        "counts": np.array([3.0, 4.0]),
    }


def test_a_state_as_described_passes_and_names_its_lengths() -> None:
    assert check_state(good(), WINDOW, STRETCHES, width=5) == {"width": 5, "entries": 3, "rows": 2}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("values", np.array([1.0, np.nan, 3.0]), "values must be finite, got nan"),
        ("values", np.array([1.0, 2.0]), r"columns must have the shape \(2,\), got \(3,\)"),
        ("values", np.array([[1.0, 2.0, 3.0]]), r"values must have .* got .*\(1, 3\)"),
        ("values", np.array([1, 2, 3]), "values must be an array of float64, got int64"),
        ("values", [1.0, 2.0, 3.0], "values must be an array of float64, got list"),
        ("columns", np.array([0, 5, 2], dtype=np.int32), r"columns must lie in \[0, 5\), got 5"),
        ("columns", np.array([0, -1, 2], dtype=np.int32), r"columns must lie in \[0, 5\), got -1"),
        (
            "lengths",
            np.array([2, 2**31 - 1], dtype=np.int32),
            "stay within the 3 entries of values, got 2 and 2147483647",
        ),
        ("first", np.array([0, 3]), "got 3 and 1 at element 1"),
        ("first", np.array([0, 2**62]), "stay within the 3 entries"),
        ("counts", np.array([0.5, 1.0]), "counts must hold whole numbers, got 0.5"),
        ("counts", np.array([1.0, -1.0]), r"counts must lie in \[0, inf\), got -1"),
        ("counts", np.array([1.0, np.inf]), "counts must be finite, got inf"),
    ],
)
def test_what_is_not_as_described_is_named_with_what_was_found(name: str, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_state({**good(), name: value}, WINDOW, STRETCHES, width=5)


def test_a_missing_array_is_a_key_error() -> None:
    state = good()
    del state["first"]
    with pytest.raises(KeyError, match="first"):
        check_state(state, WINDOW, width=5)


def test_infinities_pass_where_they_are_allowed() -> None:
    plan = {"plan": ArrayOf("float64", (2,), low=0, finite=False)}
    assert check_state({"plan": np.array([1.0, np.inf])}, plan) == {}
    with pytest.raises(ValueError, match="got -inf"):
        check_state({"plan": np.array([1.0, -np.inf])}, plan)
