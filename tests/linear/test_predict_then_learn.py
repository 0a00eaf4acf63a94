from __future__ import annotations

import copy
import pickle

import numpy as np
import pyarrow as pa
import pytest

from stream_maxloss.linear import HingeOGD, Pegasos, Perceptron, Winnow

MAKERS = {"perceptron": Perceptron, "hinge": HingeOGD, "pegasos": Pegasos, "winnow": Winnow}


def stream(rows: int, seed: int) -> list[tuple[dict[str, float], bool]]:
    values = np.random.default_rng(seed).random((rows, 5))
    return [({f"f{j}": v for j, v in enumerate(row)}, bool(row[0] > row[1])) for row in values.tolist()]


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS.keys())
def test_asking_first_changes_nothing_that_is_learned(maker) -> None:
    silent, predicting = maker(), maker()
    for x, y in stream(300, seed=1):
        silent.learn_one(x, y)
        predicting.predict_one(x)
        predicting.learn_one(x, y)
    np.testing.assert_array_equal(predicting.state_dict()["memory"], silent.state_dict()["memory"])


def test_a_row_that_was_scored_by_other_weights_is_scored_again() -> None:
    [(x, _)] = stream(1, seed=2)
    model = Perceptron()
    model.learn_one(x, True)
    model.learn_one(x, True)
    assert model.predict_one(x)
    # Behind the model's back: the same memory is learned from by a batch that turns the weights round.
    model._model.memory[:] = turned(model, x)._model.memory
    before = model.n_mistakes
    model.learn_one(x, True)
    assert model.n_mistakes == before + 1


def turned(model: Perceptron, x: dict[str, float]) -> Perceptron:
    other = copy.deepcopy(model)
    other.learn_many(pa.RecordBatch.from_pylist([x] * 5), [False] * 5)
    return other


def test_a_changed_value_is_learned_as_it_is_now() -> None:
    (x, y), *_ = rows = stream(20, seed=3)
    model, fresh = Perceptron(), Perceptron()
    for row, label in rows:
        model.learn_one(row, label)
        fresh.learn_one(row, label)
    model.predict_one(x)
    x["f0"] = -50.0
    model.learn_one(x, not y)
    fresh.learn_one(dict(x), not y)
    assert model.weights == fresh.weights


def test_a_pickled_model_continues_where_it_was() -> None:
    rows = stream(100, seed=4)
    straight = Perceptron()
    for x, y in rows:
        straight.predict_one(x)
        straight.learn_one(x, y)
    first = Perceptron()
    for x, y in rows[:50]:
        first.predict_one(x)
        first.learn_one(x, y)
    second = pickle.loads(pickle.dumps(first))
    for x, y in rows[50:]:
        second.predict_one(x)
        second.learn_one(x, y)
    assert second.weights == straight.weights
    assert second.n_rows == 100
