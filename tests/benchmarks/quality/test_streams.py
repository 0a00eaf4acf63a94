from __future__ import annotations

import numpy as np
import pytest

from benchmarks.quality import streams


def test_the_bundled_stream_is_the_same_each_time_and_a_shorter_one_its_beginning():
    longer, shorter = streams.load("shuttle", 200), streams.load("shuttle", 50)
    assert shorter.table.equals(longer.table.slice(0, 50))
    assert shorter.labels.tolist() == longer.labels[:50].tolist()


def test_all_rows_of_a_rare_slice_are_positive():
    stream = streams.load("shuttle", 500)
    rare = stream.slices == stream.rare
    assert 0 < rare.sum() < 100
    assert np.all(stream.labels[rare])


def test_a_stored_set_that_is_absent_is_said_to_be(tmp_path, monkeypatch):
    monkeypatch.setenv("STREAM_MAXLOSS_DATA", str(tmp_path))
    with pytest.raises(ImportError, match="nsl_kdd is not at hand"):
        streams.load("nsl_kdd", 10)


def test_judgements_are_not_among_the_features_of_nsl_kdd():
    try:
        stream = streams.load("nsl_kdd", 100)
    except ImportError as error:
        pytest.skip(str(error))
    assert stream.table.num_columns == 41
    assert not streams.HIDDEN & set(stream.table.column_names)
