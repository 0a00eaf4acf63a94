from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from river import checks, linear_model, optim, stats

from stream_maxloss.checkpoint import load, save
from stream_maxloss.expand import TaughtFerns
from stream_maxloss.expand.lesson import fit_fern
from stream_maxloss.linear import Logistic

SMALL = TaughtFerns(ferns=6, depth=3, window=60, lesson=10, seed=1)


@pytest.mark.parametrize("check", list(checks.yield_checks(SMALL)), ids=lambda check: check.__name__)
def test_taught_ferns_pass_the_check(check: Any) -> None:
    assert not SMALL._unit_test_skips()
    check(SMALL.clone())


def rows(count: int) -> list[dict[str, Any]]:
    draw = np.random.default_rng(1)
    made = []
    for i in range(count):
        row: dict[str, Any] = {f"x{j}": float(draw.normal()) for j in range(6)}
        made.append({**row, "t": str(draw.choice(["u", "v"])), **({"late": 1.0} if i > count // 2 else {})})
    return made


def plain_tests(columns: Any, edges: Any, residuals: Any, depth: int) -> list[tuple[int, int]]:
    """Return the tests of a lesson by trying every split of every leaf; where it is deep, every fourth edge of many."""
    leaf, chosen = np.zeros(len(residuals), dtype=int), []
    for d in range(depth):
        gains = {}
        for number, own in enumerate(edges):
            for edge, threshold in enumerate(own):
                if d >= 6 and len(own) >= 16 and edge % 4 != 3:
                    continue
                split = 2 * leaf + (columns[number] > threshold)
                gains[number, edge] = sum(
                    residuals[split == one].sum() ** 2 / ((split == one).sum() + 1) for one in np.unique(split)
                )
        best = max(gains, key=lambda key: gains[key])
        chosen.append(best)
        leaf = 2 * leaf + (columns[best[0]] > edges[best[0]][best[1]])
    return chosen


@pytest.mark.parametrize("depth", [4, 8])
def test_a_lesson_finds_the_tests_that_part_the_residuals_best(depth: int) -> None:
    draw = np.random.default_rng(3)
    columns = draw.normal(size=(4, 200))
    edges = [np.sort(draw.normal(size=count)) for count in (3, 17, 1, 20)]
    residuals = np.where(columns[1] * columns[3] > 0, 1.0, -1.0) + draw.normal(size=200)
    codes = np.array([np.searchsorted(own, column) for own, column in zip(edges, columns, strict=True)], dtype=np.uint8)
    tests, leaf = np.zeros((2, depth), dtype=np.int64), np.zeros(200, dtype=np.uint64)
    fit_fern(codes, np.array([3, 17, 1, 20]), residuals, tests, leaf)
    expected = plain_tests(columns, edges, residuals, depth)
    assert [tuple(test) for test in tests.T.tolist()] == expected
    bits = np.array([columns[number] > edges[number][edge] for number, edge in expected])
    assert leaf.tolist() == ((1 << np.arange(depth)[::-1]) @ bits).tolist()


def river_logistic() -> Any:
    return linear_model.LogisticRegression(optim.AdaGrad(0.3))


@pytest.mark.parametrize("learner", [Logistic, river_logistic])
def test_labels_teach_what_only_two_columns_tell_together(learner: Any) -> None:
    models = {
        "bare": TaughtFerns(ferns=1, lesson=10**6, keep="all") | learner(),
        "taught": TaughtFerns(seed=1) | learner(),
    }
    right = dict.fromkeys(models, 0)
    for i, x in enumerate(rows(1500)):
        label = abs(x["x1"]) > 0.7 and x["x4"] > -0.5
        for name, model in models.items():
            right[name] += i >= 1000 and model.predict_one(x) == label
            model.learn_one(x, label)
    assert right["taught"] > right["bare"] + 75


def test_the_conditions_of_a_fern_name_the_column_that_matters() -> None:
    ferns = TaughtFerns(ferns=3, depth=2, seed=1)
    for x in rows(200):
        ferns.learn_one(x, "high" if x["x2"] > 0.5 else "low")
    assert ferns.conditions(0)[0].startswith("x2 > 0.")


def test_a_number_is_taught_by_its_own_residuals() -> None:
    model, errors = TaughtFerns(seed=1) | linear_model.LinearRegression(), (stats.Mean(), stats.Mean())
    for i, x in enumerate(rows(1500)):
        y = 3.0 * (x["x0"] > 0) * (x["x1"] > 0)
        errors[i >= 1000].update(abs(model.predict_one(x) - y))
        model.learn_one(x, y)
    assert errors[1].get() < 0.5 * errors[0].get()


def test_three_classes_are_taught_in_turn() -> None:
    ferns = TaughtFerns(ferns=12, seed=1)
    for x in rows(900):
        ferns.learn_one(x, int(x["x0"] > 0) + int(x["x1"] > 0))
    assert set(ferns._outputs) == {0, 1, 2}


def test_a_saved_one_goes_on_as_if_it_had_never_stopped(tmp_path: Any) -> None:
    data = rows(300)
    straight = SMALL.clone()
    for i, x in enumerate(data):
        if i == 155:
            save(tmp_path / "state", straight)
        straight.learn_one(x, x["t"] == "u" and x["x0"] > 0)
    resumed = load(tmp_path / "state")
    for x in data[155:]:
        resumed.learn_one(x, x["t"] == "u" and x["x0"] > 0)
    assert all(resumed.transform_one(x) == straight.transform_one(x) for x in data)
    # Six places, a lesson every ten rows: some were given away, and their leaves have new names.
    assert any(".1=" in name for name in map(str, resumed.transform_one(data[0])))


def test_a_column_that_comes_later_can_be_tested() -> None:
    ferns = TaughtFerns(ferns=4, depth=2, window=100, lesson=20, seed=1)
    for x in rows(600):
        ferns.learn_one(x, x.get("late") == 1.0 and x["x0"] > 0)
    assert any("late" in condition or "x0" in condition for fern in range(4) for condition in ferns.conditions(fern))


def test_what_is_refused_leaves_it_as_it_was() -> None:
    ferns = SMALL.clone()
    for x in rows(50):
        ferns.learn_one(x, x["x0"] > 0)
    before = json.dumps(ferns.state_dict(), default=lambda array: array.tolist())
    with pytest.raises(ValueError, match="feature 'x0' must be finite"):
        ferns.learn_one({"x0": float("inf")}, True)
    with pytest.raises(ValueError, match="must be a class"):
        ferns.learn_one({"x0": 1.0}, None)
    assert json.dumps(ferns.state_dict(), default=lambda array: array.tolist()) == before


def test_a_state_of_other_parameters_is_refused() -> None:
    ferns = SMALL.clone()
    for x in rows(50):
        ferns.learn_one(x, x["x0"] > 0)
    with pytest.raises(ValueError, match="state must be of 6 ferns of depth 4"):
        TaughtFerns(ferns=6, depth=4, window=60, lesson=10).load_state_dict(ferns.state_dict())
