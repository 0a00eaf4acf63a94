from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from stream_maxloss.labels import as_array, sign_of, signs_of, target_of, targets_of


@pytest.mark.parametrize("label", [True, np.True_, 1, 1.0, np.int8(1)], ids=repr)
def test_positive_labels(label: Any) -> None:
    assert sign_of(label) == 1.0


@pytest.mark.parametrize("label", [False, np.False_, 0, -1, -1.0, np.int64(-1)], ids=repr)
def test_negative_labels(label: Any) -> None:
    assert sign_of(label) == -1.0


COLUMNS = {
    "list": [True, False, True],
    "numbers": [1, -1, 1],
    "numpy objects": np.array([True, False, np.True_], dtype=object),
    "unsigned": np.array([1, 0, 1], dtype=np.uint8),
    "column vector": np.array([[1], [0], [1]]),
    "pandas": pd.Series([1.0, 0.0, 1.0], index=[7, 8, 9]),
    "pandas nullable": pd.Series([True, False, True], dtype="boolean"),
    "polars": pl.Series([True, False, True]),
    "arrow": pa.array([True, False, True]),
    "arrow chunks": pa.chunked_array([[1], [0, 1]]),
}


@pytest.mark.parametrize("labels", COLUMNS.values(), ids=COLUMNS)
def test_columns_of_labels_of_every_kind(labels: Any) -> None:
    assert signs_of(labels).tolist() == [1.0, -1.0, 1.0]


WRONG = {
    "null in arrow": (pa.array([True, None]), "label of row 1 must be .*, got None"),
    "null in pandas": (pd.Series([True, pd.NA], dtype="boolean"), "label of row 1 must be .*, got <NA>"),
    "null in polars": (pl.Series([1, None]), "label of row 1 must be .*, got nan"),
    "text": (["yes", "no"], "label of row 0 must be .*, got 'yes'; for more than two classes"),
    "a third class": ([0, 2], "label of row 1 must be .*, got 2; for more"),
}


@pytest.mark.parametrize(("labels", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_label_is_named_with_its_row(labels: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        signs_of(labels)


@pytest.mark.parametrize("y", [1, 2.5, True, np.float32(0.5), Fraction(1, 2)], ids=repr)
def test_targets_are_numbers_of_any_kind(y: Any) -> None:
    assert target_of(y) == float(y)
    assert targets_of([y]).tolist() == [float(y)]


@pytest.mark.parametrize("y", ["1", None, float("nan"), float("-inf"), [1.0]], ids=repr)
def test_other_targets_are_refused(y: Any) -> None:
    with pytest.raises(ValueError, match=r"y must be a finite number, got .*; leave the row out"):
        target_of(y)


def test_a_null_target_is_named_with_its_row() -> None:
    with pytest.raises(ValueError, match=r"y of row 1 must be a finite number, got nan; leave the row out"):
        targets_of(pa.array([1.0, None]))


def test_any_column_is_an_array() -> None:
    assert as_array(range(3)).tolist() == [0, 1, 2]
    assert as_array(pa.chunked_array([["a"], ["b"]])).tolist() == ["a", "b"]


@pytest.mark.parametrize("offset", range(10))
@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 40])
def test_signs_of_arrow_booleans_are_read_from_their_bits(offset: int, length: int) -> None:
    labels = pa.array(np.random.default_rng(offset).random(60) < 0.5).slice(offset, length)
    assert signs_of(labels).tolist() == [1.0 if label else -1.0 for label in labels.to_pylist()]


def test_a_null_among_arrow_booleans_is_refused_and_one_outside_the_slice_is_not() -> None:
    labels = pa.array([True, None, False])
    with pytest.raises(ValueError, match="label of row 1"):
        signs_of(labels)
    assert signs_of(labels.slice(2)).tolist() == [-1.0]


def test_a_frame_of_one_column_is_labels_and_one_of_several_is_refused() -> None:
    import pandas as pd

    frame = pd.DataFrame({"y": [1.0, 2.0], "z": [3.0, 4.0]})
    assert targets_of(frame[["y"]]).tolist() == [1.0, 2.0]
    assert targets_of(np.array([[1.0], [2.0]])).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match=r"y must be one column, got 2; take one of them: y\['y'\]"):
        targets_of(frame)
    with pytest.raises(ValueError, match=r"got 2; take one of them: y\[:, 0\]"):
        targets_of(frame.to_numpy())
