from __future__ import annotations

import pytest

from stream_maxloss.errors import UsageError
from stream_maxloss.scale.shards.keys import KeySample
from stream_maxloss.scale.shards.source import ShardSource
from stream_maxloss_connectors import open_source
from stream_maxloss_connectors.contract import check_source


@pytest.fixture
def path(tmp_path):
    lines = ["who,x"] + [f"{['ann', 'bob', '', 'cid', '7'][i % 5]},{i}" for i in range(500)]
    found = tmp_path / "day.csv"
    found.write_text("\n".join(lines) + "\n")
    return found


def read(source, position=None, most=10_000, each=37):
    rows = []
    source.open(position)
    while len(rows) < most and not source.exhausted:
        if (batch := source.next_batch(min(each, most - len(rows)), 1.0)) is not None:
            rows += [(batch.address(i), row["who"], row["x"]) for i, row in enumerate(batch.records.to_pylist())]
    place = source.position()
    source.close()
    return rows, place


def shard(path, bucket, buckets=3):
    return ShardSource(open_source(path), KeySample(), "who", bucket, buckets)


def test_shards_have_every_row_once_and_all_rows_of_a_key_in_one(path):
    parts = [read(shard(path, bucket))[0] for bucket in range(3)]
    assert sorted(row for part in parts for row in part) == sorted(read(open_source(path))[0])
    keys = [{who for _, who, _ in part} for part in parts]
    assert all(not (first & second) for i, first in enumerate(keys) for second in keys[:i])


def test_a_row_keeps_its_address(path):
    for rows in (read(shard(path, bucket))[0] for bucket in range(3)):
        assert all(address.endswith(f":{int(x) + 2}") for address, _, x in rows)


def test_a_shard_continues_where_it_stood(path):
    for bucket in range(3):
        whole, _ = read(shard(path, bucket))
        first, place = read(shard(path, bucket), most=len(whole) // 2)
        assert first + read(shard(path, bucket), place)[0] == whole


def test_the_contract_of_sources_holds(path):
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:31]))
    check_source(lambda: shard(path, 1))


def test_keys_are_noted_as_they_are_read(path):
    source = shard(path, 0, 1)
    read(source)
    assert {"ann", "bob", "cid"} <= set(source.keys.state_dict()["names"])


def test_a_column_that_is_not_there_is_named(path):
    source = ShardSource(open_source(path), KeySample(), "whom", 0, 2)
    source.open()
    with pytest.raises(UsageError, match=r"the column that rows are dealt by must name a column, got 'whom'"):
        source.next_batch(10, 1.0)
