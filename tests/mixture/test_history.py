"""What the stream chose when: the same at both speeds and after a resume, and bounded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from streams import frame_of, mixed_stream

from stream_maxloss.mixture import AutoClassifier, AutoRegressor
from stream_maxloss.mixture.history import History, interval_of, next_entry


def test_both_speeds_and_a_resumed_model_tell_the_same() -> None:
    x, y = mixed_stream(300)
    slow, fast, resumed = (AutoClassifier(seed=1, compute="least") for _ in range(3))
    for row, label in zip(x, y, strict=True):
        slow.learn_one(row, label)
    frame = frame_of(x)
    fast.learn_many(frame, y)
    half = AutoClassifier(seed=1, compute="least")
    half.learn_many(frame[:150], y[:150])
    resumed.load_state_dict(half.state_dict())
    resumed.learn_many(frame[150:], y[150:])
    assert list(slow.history()) == [64, 128, 192, 256]
    assert slow.history() == fast.history() == resumed.history()


def test_entries_are_the_weights_of_that_row() -> None:
    x, y = mixed_stream(128)
    model = AutoRegressor(seed=1, compute="least")
    for row, label in zip(x, y, strict=True):
        model.learn_one({"size": row["size"]}, float(label))
    assert list(model.history()) == [64, 128]
    assert model.history()[128] == model.weights()


def test_a_long_history_grows_coarser_and_no_longer() -> None:
    history = History(experts=1)
    rows, longest = 0, 0
    while rows < 10_000_000:
        rows = next_entry(rows)
        history.add(rows, np.array([1.0]))
        longest = max(longest, len(history.rows))
        assert history.rows == list(range(interval_of(rows), rows + 1, interval_of(rows)))
    assert longest <= 64


@pytest.mark.parametrize("rows", [[64], [64, 130], [], [64, 128, 192]])
def test_a_history_of_other_rows_is_refused(rows: list[int]) -> None:
    state: dict[str, Any] = {"rows": np.array(rows, dtype=np.int64), "weights": np.ones((len(rows), 1))}
    with pytest.raises(ValueError, match=r"history\.rows must be every 64 of 150 rows"):
        History(experts=1).load_state_dict(state, 150)


def test_the_weight_of_focus_is_that_of_the_replaying_experts() -> None:
    model = AutoClassifier(seed=1)
    # Six of the even experts replay, as do the two that weigh more, and half of each stack does.
    assert model.focus_weight() == pytest.approx(6.0 * 0.3 / 14.0 + 0.14 + 0.08)
    assert AutoClassifier(seed=1, compute="least").focus_weight() == 0.0
    memory = model._model.memory
    memory["prior"][:] = 0.0
    memory["prior"][9] = 0.6
    memory["prior"][16] = 0.4
    memory["stack"][0, :16] = [0.0] * 8 + [-1.0] + [0.0] * 6 + [3.0]
    assert model.focus_weight() == pytest.approx(1.0)
    memory["stack"][0, 0] = 4.0
    assert model.focus_weight() == pytest.approx(0.6 + 0.4 * 0.5)
