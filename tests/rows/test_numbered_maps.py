from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stream_maxloss.features import LARGEST_NUMBER, FeatureMap, HashedFeatureMap
from stream_maxloss.linear import Perceptron
from stream_maxloss.rows.columns import check_finite, read_map

ROWS = st.lists(st.dictionaries(st.integers(0, 40), st.floats(-4, 4), max_size=6), min_size=1, max_size=25)


def maps(rows, key=None) -> pa.RecordBatch:
    key = key or pa.int32()
    spelt = [[(str(k) if key == pa.string() else k, v) for k, v in row.items()] for row in rows]
    return pa.record_batch({"x": pa.array(spelt, type=pa.map_(key, pa.float64()))})


@given(ROWS, st.data(), st.sampled_from([None, 6]))
@settings(max_examples=60, deadline=None)
def test_numbers_as_keys_are_the_same_features_as_their_text(rows, data, hash_bits) -> None:
    labels = [data.draw(st.booleans()) for _ in rows]
    cut = data.draw(st.integers(0, len(rows)))
    numbers, texts, dicts = (Perceptron(hash_bits=hash_bits) for _ in range(3))
    for part in (slice(0, cut), slice(cut, None)):
        numbers.learn_many(maps(rows[part]), labels[part])
        texts.learn_many(maps(rows[part], pa.string()), labels[part])
    for row, label in zip(rows, labels, strict=True):
        dicts.learn_one({str(k): v for k, v in row.items()}, label)
    assert numbers.weights == texts.weights
    assert numbers.weights == pytest.approx(dicts.weights, abs=1e-9)


def test_numbers_of_a_refused_batch_are_forgotten() -> None:
    model = Perceptron()
    model.learn_many(maps([{1: 1.0}]), [True])
    with pytest.raises(ValueError, match="must be finite"):
        model.learn_many(maps([{7: 1.0}, {8: float("inf")}]), [True, False])
    model.learn_one({"a": 1.0}, False)
    model.learn_many(maps([{7: 2.0}]), [False])
    assert list(model.weights) == ["1", "a", "7"]


def test_a_name_learned_from_a_dict_is_found_by_its_number() -> None:
    features = FeatureMap()
    assert features.find_numbers(np.array([3])).tolist() == [-1]
    features.add(["3"])
    assert features.find_numbers(np.array([3, 4, 3])).tolist() == [0, -1, 0]
    assert pickle.loads(pickle.dumps(features)).find_numbers(np.array([3])).tolist() == [0]


def test_large_and_negative_numbers_take_the_way_of_text() -> None:
    rows = [{-5: 1.0, LARGEST_NUMBER: 2.0}, {3: 1.0}]
    model = Perceptron()
    model.learn_many(maps(rows), [False, True])
    assert set(model.weights) == {"-5", str(LARGEST_NUMBER), "3"}


def test_hashed_numbers_land_where_their_text_does() -> None:
    features = HashedFeatureMap(bits=8)
    numbers = np.arange(100)
    assert features.find_numbers(numbers).tolist() == [features.find(str(n)) for n in range(100)]


def test_codes_point_at_the_names_of_the_entries() -> None:
    column = read_map("x", maps([{7: 1.0, 3: 2.0}, {}, {3: 4.0}]).column(0))
    assert [column.keys[code] for code in column.codes] == ["7", "3", "3"]


def test_an_infinite_entry_is_named_with_its_row() -> None:
    column = read_map("x", maps([{7: 1.0}, {}, {3: float("-inf")}]).column(0))
    with pytest.raises(ValueError, match=r"feature '3' of row 2 must be finite, got -inf"):
        check_finite(column)
