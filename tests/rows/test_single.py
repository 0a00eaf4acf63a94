from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from stream_maxloss.features import FeatureMap, HashedFeatureMap
from stream_maxloss.rows import read_row


@pytest.mark.parametrize("value", [2, 2.0, np.float32(2), Decimal(2), Fraction(2), np.int8(2)], ids=repr)
def test_numbers_of_every_kind_are_features_by_name(value: Any) -> None:
    features = FeatureMap()
    columns, values = read_row({"a": value}, features, learn=True)
    assert (features.names, columns.tolist(), values.tolist()) == (["a"], [0], [2.0])


@pytest.mark.parametrize("value", [None, float("nan"), np.float64("nan"), Decimal("NaN")], ids=repr)
def test_a_missing_value_is_no_feature(value: Any) -> None:
    features = FeatureMap()
    columns, _ = read_row({"a": value, "b": np.True_}, features, learn=True)
    assert features.names == ["b"]
    assert len(columns) == 1


def test_without_learning_unknown_features_are_left_out() -> None:
    features = FeatureMap()
    read_row({"a": 1.0, "s": "x"}, features, learn=True)
    columns, values = read_row({"a": 3.0, "s": "y", "b": 1.0}, features, learn=False)
    assert (columns.tolist(), values.tolist()) == ([0], [3.0])
    assert features.names == ["a", "s=x"]


def test_columns_ascend_and_names_that_share_one_add_up() -> None:
    row = {f"f{j}": float(j) for j in range(20)}
    columns, values = read_row(row, HashedFeatureMap(3), learn=True)
    assert columns.tolist() == sorted(set(columns.tolist()))
    assert values.sum() == sum(row.values())


def test_a_number_too_large_for_a_float_is_shown_short() -> None:
    with pytest.raises(ValueError, match=r"feature 'a' must be finite, got 1000.*\.\.\. \(401 characters\); clip it"):
        read_row({"a": 10**400}, FeatureMap(), learn=True)
