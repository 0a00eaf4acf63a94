"""Resuming, pickles and checkpoints; states that somebody wrote to do harm."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streams import mixed_stream, same_state

from stream_maxloss.checkpoint import load, save
from stream_maxloss.mixture import AutoClassifier

CUTS = [0, 1, 60, 99, 100, 101, 400, 499]


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("cut", CUTS)
def test_a_resumed_model_continues_to_the_bit(cut: int, classes: int) -> None:
    x, y = mixed_stream(500, classes)
    straight = AutoClassifier(seed=1, memory=300)
    for row, label in zip(x[:cut], y[:cut], strict=True):
        straight.learn_one(row, label)
    resumed = AutoClassifier(seed=2, memory=300)
    resumed.load_state_dict(straight.state_dict())
    copied = pickle.loads(pickle.dumps(straight))
    for row, label in zip(x[cut:], y[cut:], strict=True):
        for model in (straight, resumed, copied):
            model.learn_one(row, label)
    assert same_state(straight.state_dict(), resumed.state_dict())
    assert same_state(straight.state_dict(), copied.state_dict())
    assert straight.predict_proba_one(x[0]) == resumed.predict_proba_one(x[0]) == copied.predict_proba_one(x[0])


def test_a_checkpoint_holds_it(tmp_path: Path) -> None:
    x, y = mixed_stream(150, classes=3)
    model = AutoClassifier(seed=1, compute="least")
    for row, label in zip(x, y, strict=True):
        model.learn_one(row, label)
    save(tmp_path, model)
    again = load(tmp_path)
    assert same_state(model.state_dict(), again.state_dict())
    assert again.predict_proba_one(x[3]) == model.predict_proba_one(x[3])


@pytest.fixture(scope="module")
def state() -> dict[str, Any]:
    x, y = mixed_stream(300, classes=3)
    model = AutoClassifier(seed=1, memory=120)
    for row, label in zip(x, y, strict=True):
        model.learn_one(row, label)
    return model.state_dict()


def changed(array: Any, place: Any, value: Any) -> Any:
    array = array.copy()
    array[place] = value
    return array


HARM = {
    "place beyond the numbers": ("place", 0, 10_000),
    "more edges than room": ("num_edges", 0, 64),
    "test of no number": ("test_number", (0, 0), 200),
    "fern of no group": ("group", 0, 9),
    "fern among other features": ("group", 0, 0),
    "sum of squares below zero": ("leaves", (0, 0, 0, 9), -1.0),
    "rows without end": ("header", 0, (1 << 63) - 1),
    "code beyond the edges": ("kept_codes", (0, 0), 255),
    "leaf beyond the fern": ("kept_leaves", (0, 0), 60_000),
    "row longer than room": ("kept_length", 0, 10_000),
    "negative length": ("kept_length", 0, -1),
    "cell beyond the columns": ("kept_index", (0, 0), 1 << 30),
    "class beyond the classes": ("kept_target", 0, 77.0),
    "half a class": ("kept_target", 0, 0.5),
    "weight that is no number": ("raw", (0, 0, 0, 0), np.nan),
    "threshold that is no number": ("test_threshold", (0, 0), np.nan),
    "number that is no number": ("kept_numbers", (0, 0), np.nan),
    "rows beyond the window": ("header", 5, 1_000_000),
    "replays without end": ("header", 4, 1 << 60),
    "shift beyond the depth": ("header", 7, 60),
    "rows that are not kept": ("game", 5, 100_000.0),
    "weight that is negative": ("nodes", 0, -1.0),
    "row without weight": ("nodes", 0, 0.0),
    "table that is no probability": ("table", (0, 3), 2.0),
    "counts of nothing": ("table", (1, 3), 0.0),
    "prior beyond one": ("prior", 0, 2.0),
    "class that came less than never": ("seen", 0, -1.0),
}


@pytest.mark.parametrize("harm", HARM)
def test_a_state_that_could_do_harm_is_refused(state: dict[str, Any], harm: str) -> None:
    name, place, value = HARM[harm]
    model = AutoClassifier(seed=1, memory=120)
    before = model.state_dict()
    with pytest.raises(ValueError, match=r"must|got"):
        model.load_state_dict({**state, name: changed(state[name], place, value)})
    assert same_state(before, model.state_dict())


def test_every_array_is_needed_with_its_type_and_shape(state: dict[str, Any]) -> None:
    for name, value in state.items():
        model = AutoClassifier(seed=1, memory=120)
        with pytest.raises((KeyError, ValueError, TypeError)):
            model.load_state_dict({key: other for key, other in state.items() if key != name})
        if isinstance(value, np.ndarray) and value.size:
            for wrong in (value.astype(np.complex64), value[:-1], value[None]):
                with pytest.raises((KeyError, ValueError, TypeError)):
                    model.load_state_dict({**state, name: wrong})
    model.load_state_dict(state)


@pytest.mark.parametrize(
    "params", [{"memory": 121}, {"memory": 120, "compute": "least"}, {"memory": 120, "compute": "most"}]
)
def test_a_state_of_other_parameters_is_refused(state: dict[str, Any], params: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must"):
        AutoClassifier(**params).load_state_dict(state)


def test_labels_must_fit_the_scores(state: dict[str, Any]) -> None:
    model = AutoClassifier(seed=1, memory=120)
    for labels in (["a", "b"], ["a", "a", "b"], [None, 1, 2], {"a": 1}):
        with pytest.raises(ValueError, match="labels must"):
            model.load_state_dict({**state, "classes.labels": labels})


def test_scores_that_are_no_numbers_stay_within_the_table(state: dict[str, Any]) -> None:
    # Weights that may be, and whose sum is none: the place of such a probability in the table must be one of its own.
    huge = np.where(np.arange(state["raw"].shape[1])[:, None, None] % 2 == 0, 3e38, -3e38).astype(np.float32)
    raw = state["raw"].copy()
    raw[..., :8] = huge
    model = AutoClassifier(seed=1, memory=120)
    model.load_state_dict({**state, "raw": raw})
    x, y = mixed_stream(40, classes=3)
    for row, label in zip(x, y, strict=True):
        model.learn_one(row, label)
    table = model.state_dict()["table"]
    assert table.shape == state["table"].shape
