from __future__ import annotations

import pyarrow as pa

from stream_maxloss.features import FeatureMap
from stream_maxloss.rows.heading import heading_of


def test_batches_alike_share_one_heading_and_others_do_not() -> None:
    one = heading_of(pa.record_batch({"a": [1.0], "b": [2]}))
    assert heading_of(pa.record_batch({"a": [5.0, 6.0], "b": [7, 8]})) is one
    other = heading_of(pa.record_batch({"a": [1.0], "b": [2.0]}))
    assert other is not one
    assert (one.is_wide.tolist(), other.is_wide.tolist()) == ([True, False], [True, True])


def test_only_numbers_and_booleans_are_numeric() -> None:
    assert heading_of(pa.record_batch({"a": [1.0], "b": [True]})).is_numeric
    assert not heading_of(pa.record_batch({"a": [1.0], "b": ["x"]})).is_numeric
    assert not heading_of(pa.RecordBatch.from_arrays([], names=[])).is_numeric


def test_the_order_follows_the_map_of_features() -> None:
    heading, features = heading_of(pa.record_batch({"b": [1.0], "new": [2.0], "a": [3.0]})), FeatureMap()
    features.add(["a", "b"])
    order = heading.order(features.find)
    assert (order.names, order.places.tolist(), order.columns.tolist()) == (["a", "b"], [2, 0], [0, 1])
    assert heading.order(features.find) is order
    features.truncate(0)
    features.add(["b"])
    features.add(["a"])
    assert heading.order(features.find).names == ["b", "a"]


def test_names_that_share_a_column_are_told() -> None:
    heading = heading_of(pa.record_batch({"a": [1.0], "b": [2.0]}))
    assert not heading.order(lambda name: 5).is_distinct
    assert heading.order({"a": 0, "b": 1}.__getitem__).is_distinct
