"""The regressor: what it shares with the classifier is tested there; here both speeds, resuming, scale and losses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streams import frame_of, mixed_stream, same_state

from stream_maxloss.checkpoint import load, save
from stream_maxloss.errors import RowError
from stream_maxloss.mixture import AutoRegressor


def numeric_stream(rows: int, seed: int = 1) -> tuple[list[dict[str, Any]], list[float]]:
    x, _ = mixed_stream(rows, seed=seed)
    draw = np.random.default_rng(seed)
    y = [3.0 * row["size"] * (row["shape"] == "round") + row["weight"] + 0.2 * draw.normal() for row in x]
    return x, y


def errors_of(model: AutoRegressor, x: list[dict[str, Any]], y: list[float]) -> np.ndarray:
    errors = []
    for row, target in zip(x, y, strict=True):
        errors.append(target - model.predict_one(row))
        model.learn_one(row, target)
    return np.array(errors)


@pytest.mark.parametrize(
    "params", [{}, {"loss": "squared", "memory": 150}, {"loss": "quantile", "level": 0.8, "compute": "least"}]
)
def test_both_speeds_and_a_resumed_model_learn_the_same(params: dict[str, Any]) -> None:
    x, y = numeric_stream(450)
    slow, fast, resumed = (AutoRegressor(seed=1, **params) for _ in range(3))
    errors = errors_of(slow, x, y)
    said = [fast.answer_learn_many(frame_of(x[a:b]), y[a:b]).labels for a, b in ((0, 130), (130, 450))]
    resumed.learn_many(frame_of(x[:230]), y[:230])
    again = AutoRegressor(seed=9, **params)
    again.load_state_dict(resumed.state_dict())
    again.learn_many(frame_of(x[230:]), y[230:])
    assert same_state(slow.state_dict(), fast.state_dict())
    assert same_state(slow.state_dict(), again.state_dict())
    assert np.array_equal(np.array(y) - np.concatenate(said), errors)


@pytest.mark.parametrize(("factor", "shift"), [(1.0, 0.0), (1e-6, 0.0), (1e6, -3e7)])
def test_scale_and_mean_are_found_from_the_stream(factor: float, shift: float) -> None:
    x, y = numeric_stream(1500)
    errors = errors_of(AutoRegressor(seed=1), x, [factor * target + shift for target in y])
    spread = np.abs(np.array(y) - np.median(y)).mean()
    assert np.abs(errors[500:]).mean() / factor < 0.5 * spread


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_a_quantile_is_exceeded_as_often_as_it_should_be(level: float) -> None:
    draw = np.random.default_rng(1)
    x = [{"x": float(draw.normal())} for _ in range(4000)]
    y = [row["x"] + float(draw.exponential()) for row in x]
    errors = errors_of(AutoRegressor(loss="quantile", level=level, compute="least", seed=1), x, y)
    # 3,000 rows: the standard error of a share of .5 is .009, and what is learned moves meanwhile.
    assert np.mean(errors[1000:] <= 0.0) == pytest.approx(level, abs=0.06)


def test_squared_loss_finds_the_mean_and_absolute_loss_the_median() -> None:
    draw = np.random.default_rng(1)
    y = draw.exponential(size=3000)
    x = [{"x": float(value)} for value in draw.normal(size=3000)]
    said = {}
    for loss in ("squared", "absolute"):
        model = AutoRegressor(loss=loss, compute="least", seed=1)
        model.learn_many(frame_of(x), y)
        said[loss] = np.mean([model.predict_one({"x": value}) for value in (-1.0, -0.5, 0.0, 0.5, 1.0)])
    assert said["squared"] == pytest.approx(1.0, abs=0.15)
    assert said["absolute"] == pytest.approx(np.log(2.0), abs=0.15)


def test_a_wild_target_does_not_hide_the_others() -> None:
    x, y = numeric_stream(1500)
    y[400] = 1e25
    errors = errors_of(AutoRegressor(seed=1), x, y)
    assert np.abs(np.delete(errors, 400)[600:]).mean() < 3.0


@pytest.mark.parametrize("target", [None, float("nan"), float("inf"), "text"])
def test_a_target_that_is_no_number_is_refused(target: Any) -> None:
    model = AutoRegressor(seed=1)
    before = model.state_dict()
    with pytest.raises(ValueError, match="y must be a finite number"):
        model.learn_one({"x": 1.0}, target)
    with pytest.raises(RowError, match="y of row 1 must be a finite number"):
        model.learn_many(frame_of([{"x": 1.0}, {"x": 2.0}]), np.array([1.0, target], dtype=object))
    assert same_state(before, model.state_dict())


def test_a_state_of_another_loss_or_quantile_is_refused(tmp_path: Path) -> None:
    x, y = numeric_stream(120)
    model = AutoRegressor(loss="quantile", level=0.8, seed=1)
    model.learn_many(frame_of(x), y)
    for params in ({"loss": "squared"}, {"loss": "quantile", "level": 0.7}, {}):
        with pytest.raises(ValueError, match="state must"):
            AutoRegressor(**params).load_state_dict(model.state_dict())
    save(tmp_path, model)
    assert load(tmp_path).predict_one(x[0]) == model.predict_one(x[0])


def test_a_prediction_is_explained() -> None:
    x, y = numeric_stream(600)
    model = AutoRegressor(seed=1)
    model.learn_many(frame_of(x), y)
    conditions = " ".join(reason.condition for reason in model.explain_one(x[-1])[:10])
    assert "size" in conditions
    assert len(model.debug_one(x[-1]).splitlines()) == 11
