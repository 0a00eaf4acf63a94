"""The contract suite: over every source, and over sources that are broken on purpose."""

from __future__ import annotations

import gzip

import orjson
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from stream_maxloss_connectors.bad_records import BadRecords
from stream_maxloss_connectors.contract import check_sink, check_source
from stream_maxloss_connectors.open import open_source
from stream_maxloss_connectors.testing import MemorySink, MemorySource, Pause

ROWS = [{"x": i, "s": "abc"[i % 3], "f": None if i == 4 else i / 2} for i in range(9)]
BATCHES = [pa.RecordBatch.from_pylist(ROWS[i : i + 3]) for i in range(0, 9, 3)]


@pytest.mark.parametrize("partitions", [1, 3])
def test_memory_source_keeps_the_contract(partitions):
    expected = {str(i): ROWS[i::partitions] for i in range(partitions)}
    check_source(lambda: MemorySource(ROWS, partitions=partitions), expected)


def test_memory_source_of_batches_and_pauses_keeps_the_contract():
    check_source(lambda: MemorySource([BATCHES[0], Pause(), BATCHES[1], BATCHES[2]]), ROWS)


def test_waiting_memory_source_keeps_the_contract():
    check_source(lambda: MemorySource(ROWS, end="wait"), ROWS, bounded=False, timeout=0.0)


def test_empty_source_keeps_the_contract():
    check_source(lambda: MemorySource([], schema=BATCHES[0].schema), [])


class OffByOne(MemorySource):
    def position(self):
        return {name: {"row": max(0, at["row"] - 1)} for name, at in super().position().items()}


class ReadsAhead(MemorySource):
    def position(self):
        return {name: {"row": at["row"] + 1 if at["row"] else 0} for name, at in super().position().items()}


class Reverses(MemorySource):
    def open(self, position=None):
        super().open(position)
        if position is not None:
            self._parts = {name: list(reversed(part)) for name, part in self._parts.items()}


class Reinfers(MemorySource):
    def open(self, position=None):
        super().open(position)
        if position is not None:
            narrow = pa.schema([("x", pa.float64()), ("s", pa.string()), ("f", pa.float64())])
            self._parts = {name: [batch.cast(narrow) for batch in part] for name, part in self._parts.items()}


class Overfills(MemorySource):
    def next_batch(self, max_rows, timeout):
        return super().next_batch(max_rows + 1, timeout)


class NotJson(MemorySource):
    def position(self):
        return {name: {"row": at["row"], "seen": {1}} for name, at in super().position().items()}


class IntegerKeys(MemorySource):
    def position(self):
        return {**super().position(), 7: 1}


class NeverEnds(MemorySource):
    @property
    def exhausted(self):
        return False


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (OffByOne, "must hold 9 rows, got 10"),
        (ReadsAhead, "must hold 9 rows, got 8"),
        (Reverses, "first difference is at row"),
        (Reinfers, "first difference|schema must be"),
        (Overfills, "a batch must hold 1 to 1 rows, got 2"),
        (NotJson, "must be JSON-able"),
        (IntegerKeys, "must survive JSON"),
        (NeverEnds, "must give rows or be exhausted, got 50 times None"),
    ],
)
def test_broken_source_is_found_out(broken, message):
    with pytest.raises(AssertionError, match=message):
        check_source(lambda: broken(BATCHES), ROWS)


def test_source_that_says_it_is_bounded_must_end():
    with pytest.raises(AssertionError, match="exhausted must be False at the end, got True"):
        check_source(lambda: MemorySource(ROWS), ROWS, bounded=False)


def test_memory_sink_keeps_the_contract():
    places = {}
    check_sink(lambda name: MemorySink(places.setdefault(name, [])), places.get, BATCHES)


class KeepsEverything(MemorySink):
    def open(self, position=None):
        pass


class AtLeastOnce(KeepsEverything):
    exactly_once = False


class Loses(MemorySink):
    exactly_once = False

    def open(self, position=None):
        self.stored.clear()


@pytest.mark.parametrize(("broken", "message"), [(KeepsEverything, "the sink must hold"), (Loses, "rows are missing")])
def test_broken_sink_is_found_out(broken, message):
    places = {}
    with pytest.raises(AssertionError, match=message):
        check_sink(lambda name: broken(places.setdefault(name, [])), places.get, BATCHES)


def test_sink_that_repeats_rows_passes_when_it_says_so():
    places = {}
    check_sink(lambda name: AtLeastOnce(places.setdefault(name, [])), places.get, BATCHES)


FILE_ROWS = [{"x": i / 4, "s": f"text {i}", "f": None if i == 4 else i % 2 == 0} for i in range(9)]


def write_file(path, rows):
    """Write rows in the format that the ending of the path names."""
    table = pa.Table.from_pylist(rows)
    ending = path.suffixes[0]
    if ending in (".jsonl", ".ndjson"):
        data = b"".join(orjson.dumps(row) + b"\n" for row in rows)
    elif ending in (".csv", ".tsv"):
        stream = pa.BufferOutputStream()
        pa_csv.write_csv(table, stream, pa_csv.WriteOptions(delimiter="\t" if ending == ".tsv" else ","))
        data = stream.getvalue().to_pybytes()
    elif ending == ".parquet":
        pq.write_table(table, path, row_group_size=2)
        return
    else:
        stream = pa.BufferOutputStream()
        new_writer = pa.ipc.new_stream if ending == ".arrows" else pa.ipc.new_file
        with new_writer(stream, table.schema) as writer:
            writer.write_table(table, max_chunksize=4)
        data = stream.getvalue().to_pybytes()
    if path.suffix == ".gz":
        data = gzip.compress(data)
    elif path.suffix == ".zst":
        data = pa.compress(data, codec="zstd", asbytes=True)
    path.write_bytes(data)


@pytest.mark.parametrize(
    "ending",
    ["csv", "csv.gz", "csv.zst", "tsv", "jsonl", "jsonl.gz", "ndjson", "parquet", "arrow", "arrows", "feather"],
)
def test_file_source_keeps_the_contract(tmp_path, ending):
    path = tmp_path / f"day.{ending}"
    write_file(path, FILE_ROWS)
    check_source(lambda: open_source(path), FILE_ROWS)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow", "arrows"])
def test_directory_of_files_keeps_the_contract(tmp_path, ending):
    parts = {f"{name}.{ending}": FILE_ROWS[start : start + 3] for start, name in ((0, "b"), (3, "a"), (6, "c"))}
    for name, rows in parts.items():
        write_file(tmp_path / name, rows)
    expected = {str(tmp_path / name): rows for name, rows in sorted(parts.items())}
    check_source(lambda: open_source(tmp_path / f"*.{ending}"), expected)


def test_svmlight_source_keeps_the_contract(tmp_path):
    path = tmp_path / "day.svm"
    path.write_text("".join(f"{i} 1:{i / 2} 7:1\n" for i in range(5)))
    check_source(
        lambda: open_source(path), [{"target": float(i), "features": [(1, i / 2), (7, 1.0)]} for i in range(5)]
    )


@pytest.mark.parametrize("block_bytes", [16, 40, 1 << 20])
def test_skipped_records_and_blank_lines_keep_the_contract(tmp_path, block_bytes):
    path = tmp_path / "day.csv"
    path.write_text('x,s\n1,a\n\nbad,b\n3,"c\nd"\n\n\n4,e,f\n5,g\nbad,h\n')
    rows = [{"x": 1.0, "s": "a"}, {"x": 3.0, "s": "c\nd"}, {"x": 5.0, "s": "g"}]
    schema = pa.schema([("x", pa.float64()), ("s", pa.string())])

    def make():
        return open_source(path, schema=schema, bad_records=BadRecords("skip"), block_bytes=block_bytes)

    check_source(make, rows)
