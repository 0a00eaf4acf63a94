from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from followed_files import drain, follow, numbers, reopen
from stream_maxloss.errors import GapError, SourceError
from stream_maxloss_connectors.follow.arriving_files import UnfinishedFileWarning
from stream_maxloss_connectors.follow.source import FollowedSource


def write_parquet(path, *values):
    pq.write_table(pa.table({"n": list(values)}), path.with_suffix(".tmp"), row_group_size=2)
    path.with_suffix(".tmp").rename(path)


def test_directory_gains_files_and_an_earlier_name_is_still_read_once(tmp_path):
    write_parquet(tmp_path / "b.parquet", 1, 2, 3)
    source = follow(tmp_path)
    assert source.next_batch(2, 0.0).records.to_pylist() == [{"n": 1}, {"n": 2}]
    source = reopen(source, tmp_path)
    assert numbers(source) == [3]
    write_parquet(tmp_path / "c.parquet", 5)
    write_parquet(tmp_path / "a.parquet", 4)
    source = reopen(source, tmp_path)
    assert numbers(source) == [4, 5]
    assert numbers(reopen(source, tmp_path)) == []


def test_file_still_being_written_is_left_until_it_is_whole(tmp_path):
    write_parquet(tmp_path / "whole.parquet", 1)
    data = (tmp_path / "whole.parquet").read_bytes()
    (tmp_path / "whole.parquet").unlink()
    (tmp_path / "a.parquet").write_bytes(data[:-3])
    write_parquet(tmp_path / "b.parquet", 2)
    source = follow(tmp_path)
    with pytest.warns(UnfinishedFileWarning, match=r"a.parquet: file must be whole Parquet"):
        assert numbers(source) == [2]
    (tmp_path / "a.parquet").write_bytes(data)
    assert numbers(source) == [1]
    (tmp_path / "c.parquet").write_bytes(data[:-3])
    ending = FollowedSource(tmp_path, until_eof=True)
    ending.open()
    with pytest.raises(SourceError, match=r"c.parquet: file must be whole Parquet"):
        drain(ending)


def test_feather_files_and_finished_streams_arrive_too(tmp_path):
    import pyarrow.feather as feather

    feather.write_feather(pa.table({"n": [1, 2]}), tmp_path / "a.feather")
    with pa.ipc.new_stream(str(tmp_path / "b.arrow"), pa.schema([("n", pa.int64())])) as writer:
        writer.write_batch(pa.record_batch({"n": [3]}))
    unfinished = (tmp_path / "b.arrow").read_bytes()[:-8]
    (tmp_path / "c.arrow").write_bytes(unfinished)
    source = follow(tmp_path, format="arrow")
    with pytest.warns(UnfinishedFileWarning, match=r"c.arrow: Arrow IPC must end with its end mark"):
        assert numbers(source) == [1, 2, 3]


def test_arriving_file_that_was_replaced_while_half_read_is_a_gap(tmp_path):
    write_parquet(tmp_path / "a.parquet", 1, 2, 3)
    source = follow(tmp_path)
    source.next_batch(2, 0.0)
    position = source.position()
    (tmp_path / "a.parquet").unlink()
    write_parquet(tmp_path / "b.parquet", 9)
    with pytest.raises(GapError, match=r"a.parquet: the file of \d+ bytes must be as it was .* it is gone"):
        FollowedSource(tmp_path).open(position)
    source = FollowedSource(tmp_path, on_gap="continue")
    with pytest.warns(UnfinishedFileWarning):
        source.open(position)
    assert numbers(source) == [9]
    assert source.gaps == 1
