"""Every stream is what its entry says, the same each time, and hides its label."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.streams.catalogue import STREAMS, open_stream
from benchmarks.streams.flights import make_flights
from benchmarks.streams.stream import BINARY, CLASSES, NUMBER

ROWS = 300


def opened(name, seed=1, rows=ROWS):
    try:
        return open_stream(name, seed, rows)
    except FileNotFoundError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_has_the_rows_and_labels_of_its_entry(name):
    stream, entry = opened(name), STREAMS[name]
    assert len(stream) == stream.table.num_rows == min(ROWS, entry.size)
    assert stream.kind == entry.kind
    assert stream.is_sparse == entry.wide
    expected = {BINARY: np.bool_, CLASSES: np.str_, NUMBER: np.floating}[entry.kind]
    assert np.issubdtype(stream.labels.dtype, expected)
    assert stream.is_sparse or {field.type for field in stream.table.schema} <= {pa.float64(), pa.string()}
    assert not {"label", "class", "split"} & set(stream.table.column_names)
    assert all(len(mask) == len(stream) for mask in stream.slices.values())
    assert not stream.rare or stream.rare in stream.slices
    if entry.kind != NUMBER:
        assert len(stream.classes) > 1
        assert stream.classes[stream.codes()[0]] == stream.labels[0]


@pytest.mark.parametrize("name", STREAMS)
def test_a_seed_says_all_and_another_seed_another_order_unless_there_is_one(name):
    first, again, other = opened(name), opened(name), opened(name, 2)
    assert first.table.equals(again.table)
    assert first.labels.tolist() == again.labels.tolist()
    assert first.table.equals(other.table) == STREAMS[name].one_order


@pytest.mark.parametrize("name", ["phishing", "image_segments", "chick_weights", "spambase", "rcv1_small", "usps"])
def test_the_size_of_a_stored_stream_is_that_of_its_entry(name):
    assert len(opened(name, rows=10**9)) == STREAMS[name].size


def test_there_are_streams_of_each_kind():
    kinds = [entry.kind for entry in STREAMS.values()]
    assert len(kinds) >= 30
    assert min(kinds.count(kind) for kind in (BINARY, CLASSES, NUMBER)) >= 5


def test_sea_changes_after_each_quarter():
    stream = opened("sea", rows=8000)
    total = np.asarray(stream.table["0"]) + np.asarray(stream.table["1"])
    # Between the lowest threshold, 7, and the highest, 9.5, only a change of concept turns labels: noise is 10 %.
    between = (total > 7.2) & (total < 9.3)
    shares = [
        stream.labels[first : first + 2000][between[first : first + 2000]].mean() for first in range(0, 8000, 2000)
    ]
    assert max(shares) - min(shares) > 0.5


def test_flights_are_late_where_they_are_made_to_be():
    stream = make_flights(1, 20_000)
    dates = stream.table["date"].to_pylist()
    assert dates == sorted(dates)
    departure = np.asarray(stream.table["departure"])
    assert stream.labels[departure > 1900].mean() > stream.labels[departure < 900].mean() + 3.0
    origin, destination = stream.table["origin"].to_pylist(), stream.table["destination"].to_pylist()
    assert all(one != other for one, other in zip(origin, destination, strict=True))
    # A tail to the right: the mean lies above the median.
    assert stream.labels.mean() > np.median(stream.labels) + 1.0
