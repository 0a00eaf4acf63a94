from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from stream_maxloss.linear import Scaler

KIND = pa.map_(pa.string(), pa.float64())
TABLE = pa.table({"a": [1.0, None, 4.0], "n": [True, False, None], "s": ["x", None, "y"], "c": [5, 5, 5]})


def test_statistics_are_those_of_the_present_values() -> None:
    scaler = Scaler()
    scaler.learn_many(TABLE)
    assert scaler.counts == {"a": 2, "n": 2, "c": 3}
    assert scaler.means == pytest.approx({"a": 2.5, "n": 0.5, "c": 5.0})
    assert scaler.variances == pytest.approx({"a": 2.25, "n": 0.25, "c": 0.0})


def test_a_constant_or_unknown_feature_is_0_and_never_a_division_by_zero() -> None:
    scaler = Scaler()
    scaler.learn_many(TABLE)
    assert scaler.transform_one({"c": 9, "unknown": 3.0, "s": "x", "a": None}) == {"c": 0.0, "unknown": 0.0, "s": "x"}


FRAMES = {"table": TABLE, "batch": TABLE.to_batches()[0], "pandas": TABLE.to_pandas(), "polars": pl.from_arrow(TABLE)}


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_frames_of_every_kind_are_transformed_into_their_own(frame: Any) -> None:
    one, many = Scaler(), Scaler()
    many.learn_many(frame)
    for x in TABLE.to_pylist():
        one.learn_one(x)
    assert (many.means, many.variances, many.counts) == (one.means, one.variances, one.counts)
    answer = many.transform_many(frame)
    assert type(answer) is type(frame)
    rows = answer.to_dict("records") if isinstance(answer, pd.DataFrame) else pa.table(answer).to_pylist()
    for x, row in zip(TABLE.to_pylist(), rows, strict=True):
        present = {name: value for name, value in row.items() if value is not None and value == value}
        assert present == pytest.approx(one.transform_one(x))


def test_maps_and_decimals_are_scaled_as_in_rows() -> None:
    maps = pa.array([[("k", 1.0)], None, [("k", 3.0), ("l", 2.0)]], KIND)
    table = pa.table({"m": maps, "d": pa.array([1, 2, None], pa.decimal128(3, 1))})
    scaler = Scaler()
    scaler.learn_many(table)
    assert scaler.counts == {"d": 2, "k": 2, "l": 1}
    answer = scaler.transform_many(table)
    assert answer["m"].to_pylist() == [[("k", -1.0)], [], [("k", 1.0), ("l", 0.0)]]
    assert answer["d"].to_pylist() == [-1.0, 1.0, None]


def test_an_empty_record_batch_stays_one() -> None:
    batch = TABLE.to_batches()[0].slice(0, 0)
    assert isinstance(Scaler().transform_many(batch), pa.RecordBatch)


@pytest.mark.parametrize("act", ["learn_many", "transform_many"])
def test_an_infinity_is_named_and_teaches_nothing(act: str) -> None:
    scaler = Scaler()
    message = "feature 'b' of row 1 must be finite, got inf; clip it or leave it out"
    with pytest.raises(ValueError, match=message):
        getattr(scaler, act)(pa.table({"a": [1.0, 2.0], "b": [1.0, np.inf]}))
    with pytest.raises(ValueError, match=message):
        getattr(scaler, act)(pa.table({"a": [1.0, 2.0], "m": pa.array([[], [("b", np.inf)]], KIND)}))
    assert scaler.counts == {}


def test_many_features_make_room() -> None:
    scaler = Scaler()
    scaler.learn_one({f"f{j}": float(j) for j in range(100)})
    assert scaler.means["f99"] == 99.0


def test_clipped_values_are_those_of_numpy_and_the_statistics_do_not_know_of_it() -> None:
    values = np.concatenate([np.random.default_rng(1).normal(size=200), [90.0, -70.0]])
    plain, clipped = Scaler(), Scaler(clip=1.5)
    for scaler in (plain, clipped):
        scaler.learn_many(pa.table({"a": values}))
    assert clipped.means == plain.means
    assert clipped.variances == plain.variances
    expected = np.clip((values - values.mean()) / values.std(), -1.5, 1.5)
    assert (np.abs(expected) == 1.5).any(), "or nothing is clipped here"
    assert clipped.transform_many(pa.table({"a": values}))["a"].to_pylist() == pytest.approx(expected.tolist())
    assert [clipped.transform_one({"a": a})["a"] for a in values.tolist()] == pytest.approx(expected.tolist())


def test_maps_are_clipped_as_rows() -> None:
    scaler = Scaler(clip=0.5)
    scaler.learn_many(pa.table({"m": pa.array([[("k", 1.0)], [("k", 3.0), ("l", 2.0)]], KIND)}))
    answer = scaler.transform_many(pa.table({"m": pa.array([[("k", 1.0)], [("k", 2.0), ("k2", 9.0)]], KIND)}))
    assert answer["m"].to_pylist() == [[("k", -0.5)], [("k", 0.0), ("k2", 0.0)]]


@pytest.mark.parametrize("clip", [0.0, -1.0, np.nan, np.inf, "5"])
def test_a_bound_that_bounds_nothing_is_refused(clip: Any) -> None:
    with pytest.raises(ValueError, match=r"clip must be positive, got .*; 5 is usual; leave it None for no bound"):
        Scaler(clip=clip)


def test_rows_of_plain_numbers_are_scaled_to_the_bits_of_other_rows_also_after_names_were_forgotten():
    scaler = Scaler(clip=2.0)
    for i in range(20):
        scaler.learn_one({"a": float(i), "b": float(i * i), "c": 1.0})
    row = {"b": 3.25, "a": 40.0, "new": 7.0}
    plain = scaler.transform_one(row)
    assert scaler.transform_one({**row, "text": "slow way"}) == {**plain, "text": "slow way"}
    known = len(scaler._features)
    scaler._features.add(["new"])
    scaler._make_room()
    scaler.transform_one(row)
    scaler._features.truncate(known)
    scaler._features.add(["other"])
    scaler.learn_one({"other": 5.0})
    scaler.learn_one({"other": 9.0})
    assert scaler.transform_one(row) == plain
    with pytest.raises(ValueError, match="must be finite"):
        scaler.transform_one({"a": float("inf"), "b": float("-inf")})
