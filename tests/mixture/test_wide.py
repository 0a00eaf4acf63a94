"""Wide rows, images for one: more and deeper untaught ferns, drawn twice, and experts that see nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from streams import frame_of, mixed_stream, same_state

from stream_maxloss.mixture import AutoClassifier, growing
from stream_maxloss.mixture.fields import SHIFT, WIDE
from stream_maxloss.mixture.reading import UNTESTED

ALONE = "untaught leaves, adaptive .5"


@pytest.fixture(autouse=True)
def _narrow_rows_count_as_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "MANY_NUMBERS", 2)
    monkeypatch.setattr(growing, "LAST_DRAW", 400)


def learned(rows: int, classes: int = 2, **params: Any) -> AutoClassifier:
    x, y = mixed_stream(500, classes)
    model = AutoClassifier(seed=1, memory=300, **params)
    for row, label in zip(x[:rows], y[:rows], strict=True):
        model.learn_one(row, label)
    return model


def test_rows_are_wide_from_the_first_thresholds_on() -> None:
    assert ALONE not in learned(99).weights()
    model = learned(100)
    assert len(model.weights()) == 19
    assert ALONE in model.weights()
    assert all(ALONE in weights for weights in learned(200).history().values())


def test_untaught_ferns_of_wide_rows_have_all_tests() -> None:
    memory = learned(100)._model.memory
    assert memory.untaught == 6 * 64
    assert (memory["test_threshold"][: memory.untaught] < UNTESTED).all()


def test_ferns_are_drawn_once_more_and_learned_with_the_window() -> None:
    before, after = learned(399)._model.memory, learned(400)._model.memory
    untaught = after.untaught
    assert not np.array_equal(before["test_threshold"][:untaught], after["test_threshold"][:untaught])
    size = after["leaves"].shape[1] // len(after["group"])
    assert np.abs(after["leaves"][:, : size * untaught]).sum() > 0.0


def test_ferns_stay_where_no_rows_are_kept_to_learn_them_with() -> None:
    before, after = (learned(rows, compute="least")._model.memory for rows in (399, 400))
    assert np.array_equal(before["test_threshold"], after["test_threshold"])


@pytest.mark.parametrize("compute", ["least", "normal"])
@pytest.mark.parametrize("classes", [2, 4])
def test_both_speeds_give_the_same_bits(classes: int, compute: str) -> None:
    x, y = mixed_stream(500, classes)
    frame = frame_of(x)
    many = AutoClassifier(seed=1, memory=300, compute=compute)
    for first, last in ((0, 130), (130, 390), (390, 500)):
        many.learn_many(frame.iloc[first:last], y[first:last])
    assert same_state(learned(500, classes, compute=compute).state_dict(), many.state_dict())


@pytest.mark.parametrize("cut", [99, 100, 399, 400, 450])
def test_a_resumed_model_continues_to_the_bit(cut: int) -> None:
    x, y = mixed_stream(500, classes=4)
    straight, resumed = learned(cut, classes=4), AutoClassifier(seed=2, memory=300)
    resumed.load_state_dict(straight.state_dict())
    for row, label in zip(x[cut:], y[cut:], strict=True):
        straight.learn_one(row, label)
        resumed.learn_one(row, label)
    assert same_state(straight.state_dict(), resumed.state_dict())
    assert straight.weights() == resumed.weights()


def test_a_state_from_before_there_were_wide_rows_keeps_its_experts() -> None:
    state = learned(200).state_dict()
    state["header"][WIDE] = 0
    model = AutoClassifier(seed=1, memory=300)
    model.load_state_dict(state)
    assert ALONE not in model.weights()
    tests = state["test_threshold"].copy()
    x, y = mixed_stream(500)
    for row, label in zip(x[200:], y[200:], strict=True):
        model.learn_one(row, label)
    assert np.array_equal(tests[: model._model.memory.untaught], model.state_dict()["test_threshold"][:384])


def test_a_state_that_is_wide_without_its_ferns_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = learned(200).state_dict()
    monkeypatch.setattr(growing, "MANY_NUMBERS", 128)
    narrow = learned(200).state_dict()
    narrow["header"][WIDE] = 1
    wide["header"][WIDE] = 2
    for state in (narrow, wide):
        with pytest.raises(ValueError, match="wide"):
            AutoClassifier(seed=1, memory=300).load_state_dict(state)


def test_many_classes_cost_tests_and_not_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    from stream_maxloss.mixture import memory

    monkeypatch.setattr(memory, "WIDE_CELLS", 1 << 18)
    held = learned(500, classes=4)._model.memory
    assert held["leaves"].shape[1] * 4 <= 1 << 18
    assert held["header"][SHIFT] > 0
