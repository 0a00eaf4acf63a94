from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_maxloss.linear import HingeOGD, Perceptron
from stream_maxloss.linear.columnar import (
    FEWEST_ROWS,
    LONG_RUN,
    NARROW_TILE,
    WIDE_TILE,
    is_columnar,
    narrow_rows,
    tile_rows,
)
from stream_maxloss.linear.sums import ORDERED_SUM

MAKERS = {
    "perceptron": Perceptron,
    "hinge": lambda: HingeOGD(lr=0.3),
    "hinge with a constant step": lambda: HingeOGD(lr=0.3, margin=0.5, schedule="constant"),
}


def rows_of(batch: pa.RecordBatch) -> list[dict[str, float | None]]:
    return batch.to_pylist()


def same_state(one, many) -> None:
    assert many.weights == pytest.approx(one.weights, abs=1e-12)
    assert many.intercept == pytest.approx(one.intercept, abs=1e-12)
    assert (many.n_rows, many.n_mistakes) == (one.n_rows, one.n_mistakes)


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS.keys())
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_columns_leave_the_model_of_the_rows(maker, data) -> None:
    length, width = data.draw(st.integers(1, 45)), data.draw(st.integers(1, 9))
    generator = np.random.default_rng(data.draw(st.integers(0, 10_000)))
    columns = generator.integers(-3, 4, (width, length)) / 2.0
    holes = generator.random((width, length)) < data.draw(st.sampled_from([0.0, 0.02, 0.3]))
    names = [f"f{j}" for j in generator.permutation(width)]
    batch = pa.record_batch({n: pa.array(c, mask=m) for n, c, m in zip(names, columns, holes, strict=True)})
    labels = generator.random(length) < 0.5
    one, many = maker(), maker()
    assert is_columnar(many._model.program, many._model.memory)
    for x, y in zip(rows_of(batch), labels.tolist(), strict=True):
        one.learn_one({name: value for name, value in x.items() if value is not None}, y)
    cut = data.draw(st.integers(0, length))
    many.learn_many(batch.slice(0, cut), labels[:cut])
    many.learn_many(batch.slice(cut), labels[cut:])
    same_state(one, many)


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS.keys())
@pytest.mark.parametrize("length", [1, 7, 8, 9, 127, 128, 129, 255, 256, 257, 700])
def test_tiles_of_any_length_give_the_scores_of_single_rows(maker, length) -> None:
    generator = np.random.default_rng(length)
    columns = generator.standard_normal((6, length))
    labels = generator.random(length) < 0.5
    batch = pa.record_batch({f"f{j}": column for j, column in enumerate(columns)})
    one, many = maker(), maker()
    expected = []
    for x, y in zip(rows_of(batch), labels.tolist(), strict=True):
        expected.append(one._model.score(x))
        one.learn_one(x, y)
    np.testing.assert_allclose(many._learn_scored(batch, labels), expected, rtol=0.0, atol=1e-12)
    same_state(one, many)


def test_tiles_are_whole_blocks_that_fit_their_cache() -> None:
    for width in range(ORDERED_SUM + 1):
        rows = narrow_rows(width)
        assert rows > 0
        assert rows % 8 == 0
        assert 8 * (width + 2) * (rows + 8) <= NARROW_TILE
    for stride in range(64, 1 << 17, 64):
        rows = tile_rows(stride)
        assert rows % 8 == 0
        assert rows == FEWEST_ROWS or rows * stride <= WIDE_TILE
        assert rows >= LONG_RUN or rows == FEWEST_ROWS or (rows + 8) * stride > WIDE_TILE


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS.keys())
@pytest.mark.parametrize(("length", "width"), [(300, 48), (300, 49), (700, 51), (90, 500), (40, 1100)])
def test_wide_rows_leave_the_model_of_the_rows(maker, length, width) -> None:
    generator = np.random.default_rng(width)
    columns = generator.standard_normal((width, length))
    labels = columns[0] + generator.standard_normal(length) > 0.0
    batch = pa.record_batch({f"f{j}": column for j, column in enumerate(columns)})
    one, many = maker(), maker()
    expected = []
    for x, y in zip(rows_of(batch), labels.tolist(), strict=True):
        expected.append(one._model.score(x))
        one.learn_one(x, y)
    np.testing.assert_allclose(many._learn_scored(batch, labels), expected, rtol=0.0, atol=1e-9)
    assert many.weights == pytest.approx(one.weights, abs=1e-9)
    assert (many.n_rows, many.n_mistakes) == (one.n_rows, one.n_mistakes)


def test_columns_that_are_not_the_learners_first_ones_are_learned_in_place() -> None:
    generator = np.random.default_rng(2)
    columns, labels = generator.standard_normal((3, 40)), generator.random(40) < 0.5
    one, many = Perceptron(), Perceptron()
    for model in (one, many):
        model.learn_one(dict.fromkeys("abcdef", 1.0), True)
    batch = pa.record_batch(dict(zip("fbd", columns, strict=True)))
    for x, y in zip(rows_of(batch), labels.tolist(), strict=True):
        one.learn_one(x, y)
    many.learn_many(batch, labels)
    same_state(one, many)


@pytest.mark.parametrize("width", [4, 60])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("place", [0, 5, 130, 299])
def test_an_infinite_value_is_refused_and_nothing_is_learned(place, sign, width) -> None:
    columns = np.random.default_rng(3).standard_normal((width, 300))
    columns[2, place] = sign * np.inf
    batch = pa.record_batch({f"f{j}": column for j, column in enumerate(columns)})
    labels = columns[0] > 0.0
    model = Perceptron()
    model.learn_many(batch.slice(0, 0), labels[:0])
    with pytest.raises(ValueError, match=rf"feature 'f2' of row {place} must be finite"):
        model.learn_many(batch, labels)
    assert (model.n_rows, model.weights) == (0, {})


def test_weights_of_rows_scale_their_steps() -> None:
    generator = np.random.default_rng(5)
    columns, w = generator.standard_normal((3, 50)), generator.random(50) + 0.5
    batch = pa.record_batch({f"f{j}": column for j, column in enumerate(columns)})
    labels = generator.random(50) < 0.5
    one, many = HingeOGD(), HingeOGD()
    for x, y, weight in zip(rows_of(batch), labels.tolist(), w.tolist(), strict=True):
        one.learn_one(x, y, w=weight)
    many.learn_many(batch, labels, w=w)
    same_state(one, many)


def test_labels_of_another_length_are_refused() -> None:
    batch = pa.record_batch({"x": [1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match="one label per row"):
        Perceptron().learn_many(batch, [True, False])
