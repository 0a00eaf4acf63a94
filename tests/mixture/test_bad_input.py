"""What cannot be learned is refused with its address, and the model is as it was."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streams import frame_of, mixed_stream, same_state

from stream_maxloss.errors import RowError
from stream_maxloss.mixture import AutoClassifier


@pytest.fixture
def model() -> AutoClassifier:
    x, y = mixed_stream(120)
    learner = AutoClassifier(seed=1)
    learner.learn_many(frame_of(x), y)
    return learner


@pytest.mark.parametrize(
    ("row", "label", "w", "error", "message"),
    [
        ({"size": float("inf")}, True, 1.0, ValueError, "feature 'size' must be finite, got inf"),
        ({"new": -float("inf")}, True, 1.0, ValueError, "feature 'new' must be finite, got -inf"),
        ({"size": [1]}, True, 1.0, TypeError, "feature 'size' must be a list of texts, got 1"),
        ({"size": 1.0}, None, 1.0, ValueError, "label must be a class, got None"),
        ({"size": float("inf")}, "new label", 1.0, ValueError, "must be finite"),
        ({"size": 1.0}, True, 0.0, ValueError, "w must be positive and finite, got 0.0"),
        ({"size": 1.0}, True, float("nan"), ValueError, "w must be positive and finite, got nan"),
    ],
)
def test_a_refused_row_leaves_the_model_as_it_was(
    model: AutoClassifier, row: dict[str, Any], label: Any, w: float, error: type[Exception], message: str
) -> None:
    before = model.state_dict()
    with pytest.raises(error, match=message):
        model.learn_one(row, label, w=w)
    assert same_state(before, model.state_dict())


def test_a_refused_batch_leaves_the_model_as_it_was(model: AutoClassifier) -> None:
    before = model.state_dict()
    good = pd.DataFrame({"size": [1.0, 2.0, 3.0], "other": [1.0, 2.0, 3.0]})
    bad = good.assign(size=[1.0, np.inf, 2.0])
    with pytest.raises(RowError, match="feature 'size' of row 1 must be finite") as caught:
        model.learn_many(bad, ["a", "b", "c"])
    assert caught.value.row == 1
    with pytest.raises(ValueError, match="y must have one label per row"):
        model.learn_many(good, ["a", "b"])
    with pytest.raises(ValueError, match="w of row 2 must be positive"):
        model.learn_many(good, ["a", "b", "c"], [1.0, 1.0, -1.0])
    assert same_state(before, model.state_dict())


@pytest.mark.parametrize("value", [1e308, -1e308, 5e-324, 2**70, True, np.float32(3.0)])
def test_any_finite_number_is_learned(model: AutoClassifier, value: Any) -> None:
    for _ in range(5):
        model.learn_one({"size": value, "weight": 1.0}, True)
    p = model.predict_proba_one({"size": value})
    assert np.isfinite(list(p.values())).all()
    assert sum(p.values()) == pytest.approx(1.0)


def test_an_empty_row_and_an_empty_frame_are_fine(model: AutoClassifier) -> None:
    model.learn_one({}, True)
    model.learn_one({"size": None, "weight": float("nan")}, False)
    assert sum(model.predict_proba_one({}).values()) == pytest.approx(1.0)
    model.learn_many(pd.DataFrame({"size": pd.Series([], dtype=float)}), [])
    assert len(model.predict_many(pd.DataFrame({"size": pd.Series([], dtype=float)}))) == 0


def test_a_value_that_learns_while_it_is_read_does_no_harm(model: AutoClassifier) -> None:
    class Busy(float):
        def __float__(self) -> float:
            model.learn_one({f"new {i}": 1.0 for i in range(40)}, True)
            return 1.0

    for _ in range(3):
        model.learn_one({"size": Busy(1.0), "weight": 2.0}, True)
        model.learn_one({"size": 1.0, "weight": Busy(2.0)}, False)
    assert np.isfinite(list(model.predict_proba_one({"size": 1.0}).values())).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"memory": 0}, "memory must be a whole number of at least 1, got 0"),
        ({"compute": "much"}, "compute must be one of 'least', 'normal', 'most', got 'much'"),
        ({"seed": "one"}, "seed must be an integer or None, got 'one'"),
    ],
)
def test_arguments_are_checked(params: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        AutoClassifier(**params)


def test_threads_that_share_a_model_do_no_harm() -> None:
    shared = AutoClassifier(seed=1, memory=64)
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for i in range(150):
                row = {f"{number} {i % 50} {j}": float(j) for j in range(1 + i % 9)}
                shared.learn_one(row, f"class {(i + number) % 5}")
                shared.predict_proba_one(row)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert not failures
    assert shared.n_rows == 600
