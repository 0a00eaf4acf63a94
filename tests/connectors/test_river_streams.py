from __future__ import annotations

import gzip
import random

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from river import linear_model, metrics, preprocessing, stream

from stream_maxloss_connectors.river_streams import iter_arrow, iter_batches, iter_follow, iter_jsonl, iter_parquet
from stream_maxloss_connectors.testing import MemorySource, Pause

ROWS = [{"a": float(i), "b": None if i % 2 else "x", "id": i, "y": i % 3 == 0} for i in range(6)]
TABLE = pa.Table.from_pylist(ROWS)


def test_target_as_text_list_or_none():
    assert next(iter_arrow(TABLE, target="y")) == ({"a": 0.0, "b": "x", "id": 0}, True)
    assert next(iter_arrow(TABLE, target=["y", "id"])) == ({"a": 0.0, "b": "x"}, {"y": True, "id": 0})
    assert next(iter_arrow(TABLE)) == ({"a": 0.0, "b": "x", "id": 0, "y": True}, None)


def test_null_is_an_absent_key_and_a_null_target_is_none():
    pairs = list(iter_arrow(TABLE, target="b", drop=["id", "y"]))
    assert pairs[:2] == [({"a": 0.0}, "x"), ({"a": 1.0}, None)]
    assert [set(x) for x, _ in iter_arrow(TABLE, drop=["id"])][1] == {"a", "y"}


def test_converters_see_present_values_only_and_the_target_too():
    converters = {"a": int, "b": str.upper, "y": int}
    assert list(iter_arrow(TABLE, "y", converters, drop=["id"]))[:2] == [({"a": 0, "b": "X"}, 1), ({"a": 1}, 0)]


def test_fraction_draws_the_rows_that_river_draws(tmp_path):
    path = tmp_path / "day.csv"
    path.write_text("n\n" + "".join(f"{i}\n" for i in range(500)))
    river = [int(x["n"]) for x, _ in stream.iter_csv(str(path), fraction=0.3, seed=7)]
    ours = [int(x["n"]) for x, _ in iter_arrow(path, fraction=0.3, seed=7)]
    batches = [x["n"] for x, _ in iter_arrow(pa.table({"n": range(500)}).to_batches(10), fraction=0.3, seed=7)]
    assert ours == river == batches
    assert 100 < len(ours) < 200


def test_size_of_batches_does_not_change_what_comes_out():
    want = list(iter_batches(MemorySource(ROWS), "y", fraction=0.5, seed=1))
    for size in (1, 2, 5):
        assert list(iter_batches(MemorySource(ROWS), "y", fraction=0.5, seed=1, batch_rows=size)) == want


def test_map_columns_are_spread_into_features(tmp_path):
    path = tmp_path / "day.svm"
    path.write_text("+1 3:0.5 7:2\n-1\n")
    assert list(iter_arrow(path, target="target")) == [({"3": 0.5, "7": 2.0}, 1.0), ({}, -1.0)]


@pytest.mark.parametrize(
    "make",
    [
        lambda: TABLE,
        lambda: TABLE.to_batches()[0],
        lambda: TABLE.to_reader(max_chunksize=2),
        lambda: iter(TABLE.to_batches(max_chunksize=4)),
        lambda: pl.from_arrow(TABLE),
        lambda: TABLE.to_pandas(types_mapper={pa.string(): None}.get).astype({"b": "string"}),
        lambda: MemorySource(ROWS, partitions=1),
    ],
    ids=["table", "batch", "reader", "batches", "polars", "pandas", "source"],
)
def test_any_arrow_data_will_do(make):
    assert list(iter_arrow(make(), target="y")) == list(iter_arrow(TABLE, target="y"))


def test_parquet_file_glob_and_directory(tmp_path):
    pq.write_table(TABLE.slice(0, 2), tmp_path / "a.parquet")
    pq.write_table(TABLE.slice(2), tmp_path / "b.parquet")
    want = list(iter_arrow(TABLE, target="y"))
    assert list(iter_parquet(tmp_path, target="y")) == want
    assert list(iter_parquet(tmp_path / "*.parquet", target="y")) == want
    assert list(iter_parquet(tmp_path / "b.parquet", target="y")) == want[2:]


def test_compressed_json_lines(tmp_path):
    path = tmp_path / "day.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"x": 1, "y": true}\n{"y": false}\n'))
    assert list(iter_jsonl(path, target="y")) == [({"x": 1.0}, True), ({}, False)]


def test_followed_stream_takes_rows_written_meanwhile_and_ends_when_idle(tmp_path):
    path = tmp_path / "live.csv"
    path.write_text("x,y\n1,0\n")

    rows = iter_follow(path, target="y", idle_exit=0.05)
    assert next(rows) == ({"x": 1.0}, 0.0)
    with path.open("a") as file:
        file.write("2,1\n")
    assert list(rows) == [({"x": 2.0}, 1.0)]


def test_pauses_of_a_source_are_waited_out():
    source = MemorySource([ROWS[0], Pause(times=3), ROWS[1]])
    assert len(list(iter_batches(source))) == 2


def test_stream_resumes_at_a_position():
    source = MemorySource(ROWS)
    source.open()
    source.next_batch(4, 0.0)
    assert [x["id"] for x, _ in iter_batches(MemorySource(ROWS), position=source.position())] == [4, 5]


def test_source_is_closed_when_the_stream_is_dropped(tmp_path):
    closed = []

    class Noting(MemorySource):
        def close(self):
            closed.append(True)
            super().close()

    rows = iter_batches(Noting(ROWS))
    next(rows)
    rows.close()
    assert closed


def test_river_learns_from_a_parquet_file(tmp_path):
    rng = random.Random(1)
    points = [(rng.uniform(-1, 1), rng.uniform(-1, 1)) for _ in range(400)]
    table = pa.table({"u": [u for u, _ in points], "v": [v for _, v in points], "y": [u > v for u, v in points]})
    pq.write_table(table, tmp_path / "day.parquet")
    model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    accuracy = metrics.Accuracy()
    for x, y in iter_parquet(tmp_path / "day.parquet", target="y"):
        accuracy.update(y, model.predict_one(x))
        model.learn_one(x, y)
    # The classes are separated by a line through the origin; guessing gives one half.
    assert accuracy.get() > 0.9


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"target": "z"}, ValueError, "target and drop must name columns of the rows, got 'z'; there are"),
        ({"target": ["y", "z"]}, ValueError, "got 'z'"),
        ({"drop": ["z"]}, ValueError, "got 'z'"),
        ({"fraction": 0}, ValueError, r"fraction must lie in \(0, 1\], got 0"),
        ({"source": 5}, TypeError, "source must be Arrow data, a Source or a path, got int"),
    ],
)
def test_wrong_arguments_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        list(iter_arrow(**{"source": TABLE, **arguments}))


def test_the_form_for_kafka_stands_beside_the_others() -> None:
    from stream_maxloss_connectors import river_streams
    from stream_maxloss_connectors.kafka import iter_kafka

    assert river_streams.iter_kafka is iter_kafka
    with pytest.raises(AttributeError, match="has no attribute 'iter_nothing'"):
        river_streams.iter_nothing  # noqa: B018
