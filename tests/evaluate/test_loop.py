from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from river import neighbors

from stream_maxloss.errors import RowError
from stream_maxloss.evaluate import Engine, Loop, RowBatch
from stream_maxloss.linear import Perceptron, Scaler


class Rows:
    """A board that remembers."""

    def __init__(self) -> None:
        self.labels = []

    def add(self, scored, slices=None):
        self.labels += np.asarray(scored.y_true).tolist()


def make_batch(x, w=None) -> RowBatch:
    labels = np.arange(len(x)) % 2 == 0
    return RowBatch(pa.table({"x": x}), labels, w, address=lambda row: f"rows.csv:{row + 2}")


BAD = [1.0, float("inf"), -1.0, 2.0, float("-inf")]


@pytest.mark.parametrize("learn", [True, False], ids=["learn", "predict"])
@pytest.mark.parametrize("model", [Perceptron(), Scaler() | Perceptron()], ids=["bare", "scaled"])
def test_refused_rows_are_handed_on_with_their_address_and_left_out(model, learn):
    refused = []
    model = model.clone()
    model.learn_many(pa.table({"x": [1.0, -1.0]}), [True, False])  # what it does not know, it does not look at
    loop = Loop(Engine(model), Rows(), learn=learn)
    batch, scored = loop.run(make_batch(BAD), refused.append)
    assert [error.address for error in refused] == ["rows.csv:3", "rows.csv:6"]
    assert all(error.reason.startswith("feature 'x' must be finite, got") for error in refused)
    assert len(batch) == len(scored.y_true) == 3
    assert loop.learned == (3 if learn else 0)
    assert loop.board.labels == [True, True, False]


def test_without_somebody_to_hand_it_to_a_refused_row_is_an_error():
    with pytest.raises(RowError, match="of row 1 must be finite") as found:
        Loop(Engine(Perceptron()), Rows()).run(make_batch(BAD))
    assert found.value.row == 1


def test_delayed_rows_refuse_values_and_weights_before_they_wait():
    refused = []
    loop = Loop(Engine(Perceptron()), Rows(), delay=2)
    batch, scored = loop.run(make_batch(BAD, np.array([1.0, 1.0, float("nan"), 1.0, 1.0])), refused.append)
    assert [error.address for error in refused] == ["rows.csv:3", "rows.csv:4", "rows.csv:6"]
    assert len(batch) == len(scored.answers) == 2
    list(loop.finish(refused.append))
    assert loop.learned == 2
    assert loop.board.labels == [True, False]


@pytest.mark.parametrize("delay", [0, 2])
def test_a_model_without_weights_learns_all_rows_alike(delay):
    loop = Loop(Engine(neighbors.KNNClassifier()), Rows(), delay=delay)
    loop.run(make_batch([1.0, 2.0, 3.0, 4.0], np.array([1.0, 2.0, 3.0, 4.0])))
    list(loop.finish())
    assert loop.learned == 4


def test_the_queue_of_delayed_rows_survives_as_plain_values():
    straight, resumed = (Loop(Engine(Perceptron(), labels=False), Rows(), delay=3) for _ in range(2))
    x = np.random.default_rng(1).normal(size=20).tolist()
    for part in (make_batch(x[:10]), make_batch(x[10:])):
        straight.run(part)
    first = Loop(Engine(resumed.engine.model, labels=False), Rows(), delay=3)
    first.run(make_batch(x[:10]))
    resumed.delayed.load_state_dict(first.delayed.state_dict())
    resumed.run(make_batch(x[10:]))
    assert list(resumed.delayed.waiting) == list(straight.delayed.waiting)
    assert resumed.engine.model.weights == straight.engine.model.weights


def test_a_negative_delay_is_refused():
    with pytest.raises(ValueError, match="delay must not be negative, got -1"):
        Loop(Engine(Perceptron()), Rows(), delay=-1)
