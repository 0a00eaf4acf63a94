from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from river import checks

from stream_maxloss.errors import RowError
from stream_maxloss.expand import Bins, Ferns
from stream_maxloss.linear import Logistic

TRANSFORMERS = {"bins": Bins(rows=20), "ferns": Ferns(rows=20), "ferns, all kept": Ferns(rows=20, keep="all")}


def cases() -> Iterator[Any]:
    for name, model in TRANSFORMERS.items():
        for place, check in enumerate(checks.yield_checks(model)):
            yield pytest.param(model, check, id=f"{name}-{place}-{check.__name__}")


@pytest.mark.parametrize(("model", "check"), list(cases()))
def test_transformer_passes_the_check(model: Any, check: Any) -> None:
    assert not model._unit_test_skips()
    check(model.clone())


def rows(count: int) -> list[dict[str, Any]]:
    draw = np.random.default_rng(1)
    made = []
    for i in range(count):
        row: dict[str, Any] = {"x": float(draw.normal()), "y": float(draw.normal()), "t": str(draw.choice(["u", "v"]))}
        if i % 3:
            row["sometimes"] = float(draw.integers(4))
        made.append({**row, "fixed": 1.0})
    return made


@pytest.mark.parametrize("make", [lambda: Bins(rows=50), lambda: Ferns(rows=50, seed=3)], ids=["bins", "ferns"])
def test_both_speeds_and_a_resumed_one_give_the_same_features(make: Any) -> None:
    data = rows(120)
    one, many, resumed = make(), make(), make()
    for x in data[:30]:
        one.learn_one(x)
    resumed.load_state_dict(one.state_dict())
    for x in data[30:]:
        one.learn_one(x)
        resumed.learn_one(x)
    many.learn_many(pd.DataFrame(data[:70]))
    many.learn_many(pd.DataFrame(data[70:]))
    frame = many.transform_many(pd.DataFrame(data))
    for i, x in enumerate(data):
        expected = one.transform_one(x)
        assert expected == resumed.transform_one(x) == many.transform_one(x)
        assert {name for name, value in frame.iloc[i].items() if value} == set(expected)


def test_of_what_is_constant_or_new_bins_tell_that_it_is_there() -> None:
    bins = Bins(rows=50)
    for x in rows(120):
        bins.learn_one(x)
    flags = bins.transform_one({"x": 0.1, "y": None, "fixed": 1.0, "new": 3.0, "t": "u"})
    assert len(flags) == 4
    assert flags["t=u"] == flags["fixed"] == flags["new"] == 1.0


def test_each_bin_holds_about_as_many_rows() -> None:
    draw = np.random.default_rng(1)
    bins = Bins(bins=8, rows=1000)
    counts: dict[Any, int] = {}
    for value in draw.exponential(size=1000):
        bins.learn_one({"x": float(value)})
    for value in draw.exponential(size=8000):
        for flag in bins.transform_one({"x": float(value)}):
            counts[flag] = counts.get(flag, 0) + 1
    assert len(counts) == 8
    assert min(counts.values()) > 700


def test_leaves_let_a_linear_learner_follow_an_exclusive_or() -> None:
    right = {}
    for name, model in (("bare", Logistic()), ("leaves", Ferns(seed=1) | Logistic())):
        right[name] = 0
        for i, x in enumerate(rows(1500)):
            label = x["x"] * x["y"] > 0
            right[name] += i > 700 and model.predict_one(x) == label
            model.learn_one(x, label)
    assert right["leaves"] > right["bare"] + 150


def test_states_of_other_parameters_are_refused() -> None:
    ferns = Ferns(rows=20, seed=1)
    for x in rows(30):
        ferns.learn_one(x)
    with pytest.raises(ValueError, match="state must be of 50 ferns of depth 4"):
        Ferns(depth=4, rows=20).load_state_dict(ferns.state_dict())
    bins = Bins(rows=100)
    for x in rows(60):
        bins.learn_one(x)
    with pytest.raises(ValueError, match="waiting must hold fewer than 20 values"):
        Bins(rows=20).load_state_dict(bins.state_dict())


@pytest.mark.parametrize("make", [Bins, Ferns])
def test_an_infinite_value_is_refused(make: Any) -> None:
    with pytest.raises(ValueError, match="feature 'x' must be finite"):
        make().learn_one({"x": float("inf")})


def test_a_column_that_comes_later_gets_its_own_tests() -> None:
    ferns = Ferns(ferns=200, rows=20, seed=1)
    data = rows(200)
    for i, x in enumerate(data):
        ferns.learn_one({**x, "late": float(i % 5)} if i > 100 else x)
    tested = [name for tests in ferns._tests for name, _ in tests]
    # One of about as many ferns as there are columns: 200 / 6, with a deviation of 5.
    assert 10 < tested.count("late") < 60
    changed = [name for name in ferns.transform_one(data[0]) if ".1=" in str(name)]
    assert len(changed) == tested.count("late")


def test_rare_flags_are_drawn_less_often_than_columns_that_spread() -> None:
    ferns = Ferns(ferns=400, rows=100, seed=1)
    draw = np.random.default_rng(1)
    for i in range(100):
        ferns.learn_one({"x": float(draw.normal()), "rare": "yes" if i % 50 == 0 else None})
    tested = [name for tests in ferns._tests for name, _ in tests]
    # The roots of .99 and .02: about one in eight.
    assert 0.05 < tested.count("rare=yes") / len(tested) < 0.25


def test_leaves_together_are_as_long_as_one_flag() -> None:
    ferns = Ferns(ferns=30, rows=20, seed=1)
    for x in rows(30):
        ferns.learn_one(x)
    found = ferns.transform_one(rows(31)[-1])
    leaves = [value for name, value in found.items() if str(name).startswith("fern ")]
    assert len(leaves) == 30
    assert sum(value * value for value in leaves) == pytest.approx(1.0)
    assert [name for name in found if not str(name).startswith("fern ")] in (["t=u"], ["t=v"])


def test_leaves_take_two_bytes() -> None:
    ferns = Ferns(ferns=10, depth=16, rows=20, seed=1)
    frame = pd.DataFrame(rows(40))
    ferns.learn_many(frame)
    leaves = ferns.leaves_of(frame)
    assert leaves.dtype.itemsize == 2
    assert leaves.shape == (40, 10)
    with pytest.raises(ValueError, match="depth must be at most 16, got 17"):
        Ferns(depth=17)


@pytest.mark.parametrize("make", [Bins, Ferns])
def test_an_infinite_value_of_a_frame_is_refused_with_its_row(make: Any) -> None:
    transformer = make(rows=2)
    with pytest.raises(RowError, match="feature 'x' of row 1 must be finite, got inf") as caught:
        transformer.learn_many(pd.DataFrame({"x": [1.0, np.inf, 2.0]}))
    assert caught.value.row == 1
    assert transformer.state_dict()["waiting"] == []


@pytest.mark.parametrize("make", [lambda: Bins(rows=10), lambda: Ferns(rows=10, seed=2)], ids=["bins", "ferns"])
def test_a_row_that_is_taken_back_leaves_nothing(make: Any) -> None:
    straight, other = make(), make()
    for i, x in enumerate(rows(60)):
        x = {**x, "late": float(i)} if i > 20 else x
        other.learn_one({**x, "x": 99.0, "odd": 1.0})
        other.undo()
        other.learn_one(x)
        straight.learn_one(x)
        one, two = straight.state_dict(), other.state_dict()
        assert np.array_equal(one.pop("generator", 0), two.pop("generator", 0))
        assert one == two
