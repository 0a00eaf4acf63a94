"""The data sets are the same each time, hide what would tell the label, and are told to be absent."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from benchmarks import data_sets


@pytest.fixture(params=[*data_sets.STORED, *data_sets.BUNDLED])
def name(request):
    if request.param in data_sets.STORED and data_sets.find_set(request.param) is None:
        pytest.skip(data_sets.ABSENT)
    return request.param


def test_every_set_has_both_labels_and_slices_that_hold_each_row_once(name):
    stream = data_sets.load(name, rows=500)
    assert len(stream) == stream.table.num_rows == 500
    assert 0 < stream.labels.sum() < 500
    assert np.sum(list(stream.slices.values()), axis=0).tolist() == [1] * 500
    assert 0 < stream.slices[stream.rare].sum() < 300
    assert stream.is_sparse or {field.type for field in stream.table.schema} <= {pa.float64(), pa.string()}
    assert "label" not in stream.table.column_names
    assert len(stream.dicts()) == 500


def test_a_set_is_the_same_each_time_and_a_shorter_one_its_beginning():
    longer, shorter = data_sets.load("shuttle", rows=200), data_sets.load("shuttle", rows=50)
    assert shorter.table.equals(longer.table.slice(0, 50))
    assert shorter.labels.tolist() == longer.labels[:50].tolist()
    assert longer.part(10, 50).table.equals(shorter.table.slice(10, 40))


def test_a_seed_shuffles_anew():
    first, second = data_sets.load("shuttle", 1, 100), data_sets.load("shuttle", 2, 100)
    assert not first.table.equals(second.table)


def test_a_stored_set_that_is_absent_is_reported(tmp_path, monkeypatch):
    monkeypatch.setenv("STREAM_MAXLOSS_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="nsl_kdd: the data set is absent"):
        data_sets.load("nsl_kdd", rows=10)


@pytest.mark.parametrize(("name", "columns"), [("nsl_kdd", 41), ("covtype", 54), ("elec2", 6), ("adult", 14)])
def test_what_would_tell_the_label_is_not_among_the_features(name, columns):
    if data_sets.find_set(name) is None:
        pytest.skip(data_sets.ABSENT)
    stream = data_sets.load(name, rows=100)
    assert stream.table.num_columns == columns
    assert not {"attack", "difficulty", "category", "class", "date", "nswprice"} & set(stream.table.column_names)


def test_words_are_counted():
    table = pa.table({"text": ["Win win NOW", "see you now", "!"], "label": [1, 0, 0]})
    stream = data_sets.messages(table)
    assert stream.is_sparse
    assert stream.dicts() == [{"now": 1.0, "win": 2.0}, {"now": 1.0, "see": 1.0, "you": 1.0}, {}]
    assert stream.slices["spam"].tolist() == [True, False, False]


def test_a_turn_is_where_the_label_is_another_one_than_before():
    table = pa.table({"date": [0.0] * 4, "nswprice": [0.0] * 4, "day": [1.0] * 4, "label": [0, 1, 1, 0]})
    stream = data_sets.elec2(table)
    assert stream.slices["turn"].tolist() == [False, True, False, True]
    assert stream.table.column_names == ["day"]
