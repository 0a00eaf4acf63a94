from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stream_maxloss.errors import GapError, SourceError
from stream_maxloss_connectors.base import Position, Source
from stream_maxloss_connectors.open import open_source

TABLE = pa.table(
    {
        "n": pa.array(range(100), pa.int32()),
        "text": pa.array([None if i % 7 == 0 else f"t{i}" for i in range(100)]),
        "kind": pa.array([f"k{i % 3}" for i in range(100)]).dictionary_encode(),
        "pair": pa.array([[i, i] for i in range(100)]),
    }
)


def write(path: Path, table: pa.Table = TABLE, **options: Any) -> Path:
    pq.write_table(table, path, **{"row_group_size": 30, **options})
    return path


def take(source: Source, rows: int, max_rows: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while len(found) < rows and not source.exhausted:
        batch = source.next_batch(min(max_rows, rows - len(found)), 1.0)
        found += [] if batch is None else batch.records.to_pylist()
    return found


def rest(path: Path, position: Position | None, **options: Any) -> list[dict[str, Any]]:
    with open_source(path, **options) as source:
        source.open(json.loads(json.dumps(position)))
        return take(source, 10**9, 11)


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
@pytest.mark.parametrize("batch_rows", [7, 30, 1 << 16])
def test_a_reader_reopened_at_any_row_continues_with_the_next(
    tmp_path: Path, compression: str, batch_rows: int
) -> None:
    path = write(tmp_path / "day.parquet", compression=compression)
    for cut in range(0, 101, 5):
        with open_source(path, batch_rows=batch_rows) as source:
            source.open()
            rows = take(source, cut, 8)
            position = source.position()
        assert position[str(path)]["row_group"] == (4 if cut == 100 else cut // 30)
        assert rows + rest(path, position, batch_rows=batch_rows) == TABLE.to_pylist()


def test_columns_are_selected_and_cast_to_the_schema(tmp_path: Path) -> None:
    path = write(tmp_path / "day.parquet")
    assert rest(path, None, columns=["pair", "n"]) == TABLE.select(["pair", "n"]).to_pylist()
    schema = pa.schema([("n", pa.float64())])
    assert rest(path, None, schema=schema)[1] == {"n": 1.0}
    with pytest.raises(SourceError, match=r"day.parquet: column must be one of the source's, got 'txt'; did you mean"):
        open_source(path, columns=["txt"]).open()
    with pytest.raises(SourceError, match=r"day.parquet: column 'text' must be a number, got string"):
        rest(path, None, schema=pa.schema([("text", pa.float64())]))


def test_files_of_a_directory_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    write(tmp_path / "b.parquet", TABLE.slice(50))
    write(tmp_path / "a.parquet", TABLE.slice(0, 50).select(["text", "n", "kind", "pair"]))
    (tmp_path / "_SUCCESS.parquet").write_bytes(b"")
    found = rest(tmp_path, None)
    assert found == TABLE.select(["text", "n", "kind", "pair"]).to_pylist()


def test_addresses_count_the_rows_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "day.parquet")
    with open_source(path, batch_rows=8) as source:
        source.open()
        take(source, 35, 100)
        batch = source.next_batch(5, 1.0)
    assert batch is not None
    assert batch.address(2) == f"{path}@{batch.records['n'][2].as_py()}"


@pytest.mark.parametrize("keep", [0.99, 0.5, 0.0001])
def test_a_cut_off_file_is_refused_in_one_line(tmp_path: Path, keep: float) -> None:
    path = write(tmp_path / "day.parquet")
    path.write_bytes(path.read_bytes()[: max(int(keep * path.stat().st_size), 1)])
    with pytest.raises(SourceError, match=r"day.parquet: file must be whole Parquet, got: [^\n]+; was it cut off"):
        open_source(path).open()


def test_damage_in_the_middle_is_an_error_and_not_a_crash(tmp_path: Path) -> None:
    path = write(tmp_path / "day.parquet", compression="snappy")
    contents = bytearray(path.read_bytes())
    contents[40:400] = b"\xff" * 360
    path.write_bytes(contents)
    with pytest.raises(SourceError, match=r"day.parquet: file must be whole Parquet"):
        rest(path, None)


def test_a_replaced_file_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "day.parquet")
    with open_source(path) as source:
        source.open()
        take(source, 10, 10)
        position = source.position()
    contents = path.read_bytes()
    write(path, TABLE.slice(0, 90))
    with pytest.raises(GapError, match="file changed under the saved position"):
        open_source(path).open(position)
    # The same length and beginning, but another footer.
    path.write_bytes(contents[:-20] + b"x" + contents[-19:])
    with pytest.raises(GapError, match="other contents in its last 1024 bytes"):
        open_source(path).open(position)


def test_a_file_without_rows_has_none(tmp_path: Path) -> None:
    assert rest(write(tmp_path / "day.parquet", TABLE.slice(0, 0)), None) == []


def test_memory_stays_flat_on_one_large_row_group(tmp_path: Path) -> None:
    rows = 1_500_000
    values = np.random.default_rng(0).normal(size=rows)
    path = write(tmp_path / "day.parquet", pa.table({"a": values, "b": values, "c": values}), row_group_size=rows)
    highest, total = 0, 0.0
    base = pa.total_allocated_bytes()
    with open_source(path) as source:
        source.open()
        while (batch := source.next_batch(4096, 1.0)) is not None:
            total += float(np.sum(batch.records["a"].to_numpy()))
            highest = max(highest, pa.total_allocated_bytes() - base)
    assert total == pytest.approx(values.sum())
    # The file is 36 MB; a batch of 65,536 rows is 1.6 MB, the read buffers 1 MiB for each column, and a page 1 MiB.
    assert highest < 16_000_000


def test_a_footer_that_names_more_rows_than_there_are_is_an_error_and_no_endless_wait(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"x": [1.0, 2.0, 3.0]}), path)
    with open_source(path) as source:
        source.open()
        source._reader._group_starts = np.array([0, 8])
        assert source.next_batch(10, 1.0).num_rows == 3
        with pytest.raises(SourceError, match="got: 3 rows where its footer names 8"):
            source.next_batch(10, 1.0)
