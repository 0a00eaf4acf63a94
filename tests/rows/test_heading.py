from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from stream_maxloss.features import FeatureMap
from stream_maxloss.rows.heading import Heading, heading_of


def test_similar_batches_of_one_reader_share_a_heading_and_others_do_not() -> None:
    features = FeatureMap()
    one = heading_of(pa.record_batch({"a": [1.0], "b": [2]}), features)
    assert heading_of(pa.record_batch({"a": [5.0, 6.0], "b": [7, 8]}), features) is one
    assert heading_of(pa.record_batch({"a": [1.0], "b": [2]}), FeatureMap()) is not one
    other = heading_of(pa.record_batch({"a": [1.0], "b": [2.0]}), features)
    assert other is not one
    assert pickle.loads(pickle.dumps(features)).heading is None
    assert (one.is_wide.tolist(), other.is_wide.tolist()) == ([True, False], [True, True])


def test_only_numbers_and_booleans_are_numeric() -> None:
    assert Heading(pa.schema({"a": pa.float64(), "b": pa.bool_()})).is_numeric
    assert not Heading(pa.schema({"a": pa.float64(), "b": pa.string()})).is_numeric
    assert not Heading(pa.schema([])).is_numeric


def test_the_order_follows_the_map_of_features() -> None:
    heading, features = Heading(pa.schema([(name, pa.float64()) for name in ("b", "new", "a")])), FeatureMap()
    features.add(["a", "b"])
    order = heading.order(features.find)
    assert (order.names, order.places.tolist(), order.columns.tolist()) == (["a", "b"], [2, 0], [0, 1])
    assert heading.order(features.find) is order
    features.truncate(0)
    features.add(["b"])
    features.add(["a"])
    assert heading.order(features.find).names == ["b", "a"]


def test_names_that_share_a_column_are_not_distinct() -> None:
    heading = Heading(pa.schema({"a": pa.float64(), "b": pa.float64()}))
    assert not heading.order(lambda name: 5).is_distinct
    assert heading.order({"a": 0, "b": 1}.__getitem__).is_distinct


def test_names_that_were_only_looked_up_before_are_learned() -> None:
    heading, features = Heading(pa.schema({"a": pa.float64(), "b": pa.float64()})), FeatureMap()
    assert not heading.order(features.find).is_complete
    assert heading.order(features.find, lambda found: features.add(["a", "b"])).columns.tolist() == [0, 1]
    assert heading.order(features.find, lambda found: pytest.fail("all are known")).is_complete
