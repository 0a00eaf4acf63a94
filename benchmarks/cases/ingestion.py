"""Files into the matrix that the learners take, beside what others need to read them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from benchmarks.point import OURS, Point, claim
from benchmarks.row_files import FEATURES, NAMES, row_file, shared_folder

TITLE = "Reading files"
INCLUDED = (
    "Files of 20 float columns with four decimals and a label, read whole. Ours: `open_source`, batches of up to "
    "65,536 rows, the label apart, and the features as the rows that the learners take: float64, row by row, or "
    "sparse rows for svmlight. `pyarrow` reads the same file into record batches and stops there: `csv.open_csv`, "
    "`json.open_json`, `ParquetFile.iter_batches`, and for IPC the reader over an opened file, which copies the bytes "
    "into memory; over a mapped file, as we read it, it would touch none of them. One copy is all that it does there: "
    "writing the columns as rows moves as many bytes again, so that for IPC `pyarrow, matrix` is the like for like. "
    "`pyarrow, matrix` goes on to `RecordBatch.to_tensor`. pyarrow has one thread in all of them. `vowpalwabbit` is "
    "its parser: `--noop` over the same rows in its own text format. `scikit-learn` is `load_svmlight_file`. "
    "Processor time."
)
AXIS = None
MATRIX = "pyarrow, matrix"
VW = "vowpalwabbit"
LABELS = {
    ".csv": "CSV",
    ".jsonl": "JSON lines",
    ".parquet": "Parquet",
    ".arrow": "Arrow IPC file",
    ".arrows": "Arrow IPC stream",
    ".svm": "svmlight",
}
PEERS = {
    ".csv": ("pyarrow", MATRIX, VW),
    ".jsonl": ("pyarrow",),
    ".parquet": ("pyarrow", MATRIX),
    ".arrow": ("pyarrow", MATRIX, VW),
    ".arrows": ("pyarrow", MATRIX),
    ".svm": ("scikit-learn",),
}
# Rows read at once: what pyarrow's Parquet reader takes where nothing is said.
READ_ROWS = 65_536
# So many rows that opening a file, which takes a millisecond, does not count.
ROWS = {".parquet": 1_000_000, ".arrow": 2_000_000, ".arrows": 2_000_000}
TEXT_ROWS = 100_000
TEXT_REPEATS, BINARY_REPEATS = 7, 15
LIMITED = (".csv", ".parquet", ".arrow", ".arrows")
VW_TARGETS = {".csv": 1.5, ".arrow": 5.0}


def points(quick: bool) -> list[Point]:
    """Return one point per format."""
    endings = (".csv", ".arrow") if quick else tuple(LABELS)
    return [make_point(ending, quick) for ending in endings]


def make_point(ending: str, quick: bool) -> Point:
    """Return the point of a format."""
    rows = ROWS.get(ending, TEXT_ROWS) // (6 if quick else 1)
    repeats = None if quick else BINARY_REPEATS if ending in ROWS else TEXT_REPEATS
    name, label = ending.removeprefix("."), f"{LABELS[ending]}, {rows:,} rows"
    return Point(name, label, (OURS, *PEERS[ending]), {"ending": ending, "rows": rows}, repeats=repeats)


def surroundings(quick: bool) -> AbstractContextManager[Any]:
    """Return the folder of the files."""
    return shared_folder()


def prepare(system: str, settings: dict[str, Any]) -> Callable[[], int]:
    """Return one pass over the file."""
    ending, rows = settings["ending"], settings["rows"]
    if system == VW:
        rows = min(rows, TEXT_ROWS)
        return parse_as_vw(str(row_file(".vw", rows)), rows)
    path = str(row_file(ending, rows))
    if system == "scikit-learn":
        from sklearn.datasets import load_svmlight_file

        return lambda: int(load_svmlight_file(path)[0].shape[0])
    import pyarrow as pa

    pa.set_cpu_count(1)
    if system == OURS:
        return read_as_ours(path)
    batches = READERS[ending]
    if system == MATRIX:
        return lambda: sum(map(to_matrix, batches(path)))
    return lambda: sum(batch.num_rows for batch in batches(path))


def read_as_ours(path: str) -> Callable[[], int]:
    """Return a pass through a source to the learners' rows."""
    from stream_maxloss.features import FeatureMap
    from stream_maxloss.rows.frame import read_frame
    from stream_maxloss_connectors.open import open_source

    options = {} if path.endswith((".arrow", ".arrows")) else {"threads": 1}

    def work() -> int:
        features, rows = FeatureMap(), 0
        with open_source(path, **options) as source:
            source.open()
            while not source.exhausted:
                batch = source.next_batch(READ_ROWS, 1.0)
                if batch is not None:
                    names = [name for name in batch.records.schema.names if name not in ("y", "target")]
                    rows += sum(map(len, read_frame(batch.records.select(names), features, learn=True)))
        if len(features) != FEATURES:
            raise RuntimeError(f"there must be {FEATURES} features, got {len(features)}")
        return rows

    return work


def to_matrix(batch: Any) -> int:
    """Turn the features of a record batch into a matrix as pyarrow does."""
    matrix = batch.select(NAMES).to_tensor(null_to_nan=True, row_major=True).to_numpy()
    return int(matrix.shape[0])


def parse_as_vw(path: str, rows: int) -> Callable[[], int]:
    """Return a pass of Vowpal Wabbit's parser."""
    from vowpalwabbit import Workspace

    def work() -> int:
        Workspace(arg_list=["--noop", "--quiet", "-d", path]).finish()
        return rows

    return work


def csv_batches(path: str) -> Any:
    """Read CSV by pyarrow."""
    import pyarrow.csv

    return pyarrow.csv.open_csv(path, pyarrow.csv.ReadOptions(use_threads=False))


def json_batches(path: str) -> Any:
    """Read JSON lines by pyarrow."""
    import pyarrow.json

    return pyarrow.json.open_json(path, pyarrow.json.ReadOptions(use_threads=False))


def parquet_batches(path: str) -> Any:
    """Read Parquet by pyarrow."""
    import pyarrow.parquet as pq

    return pq.ParquetFile(path).iter_batches(use_threads=False)


def ipc_file_batches(path: str) -> Any:
    """Read an Arrow IPC file by pyarrow, copying it into memory."""
    import pyarrow as pa

    with pa.OSFile(path) as file:
        reader = pa.ipc.open_file(file)
        for index in range(reader.num_record_batches):
            yield reader.get_batch(index)


def ipc_stream_batches(path: str) -> Any:
    """Read an Arrow IPC stream by pyarrow, copying it into memory."""
    import pyarrow as pa

    with pa.OSFile(path) as file:
        yield from pa.ipc.open_stream(file)


READERS: dict[str, Callable[[str], Any]] = {
    ".csv": csv_batches,
    ".jsonl": json_batches,
    ".parquet": parquet_batches,
    ".arrow": ipc_file_batches,
    ".arrows": ipc_stream_batches,
}


def conclude(measured: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return our time over pyarrow's, and how many times as long the others take."""
    claims = []
    for name, point in measured.items():
        ending = point["settings"]["ending"]
        for peer, ratio in point["ratios"].items():
            if peer == "pyarrow":
                spread = {"lower": 1.0 / ratio["upper"], "upper": 1.0 / ratio["lower"], "suffix": " of its time"}
                target = 1.3 if ending in LIMITED else None
                what = f"{LABELS[ending]} to the matrix, beside pyarrow to record batches"
                claims.append(claim(name, what, 1.0 / ratio["median"], target=target, at_most=True, **spread))
            else:
                quartiles = {"lower": ratio["lower"], "upper": ratio["upper"]}
                target = VW_TARGETS.get(ending) if peer == VW else None
                what = f"{LABELS[ending]}, against {peer}{' (its text)' if peer == VW else ''}"
                claims.append(claim(name, what, ratio["median"], target=target, **quartiles))
    return claims


def tables(measured: dict[str, dict[str, Any]]) -> list[tuple[list[str], list[list[str]]]]:
    """Return rows and megabytes a second."""
    rows = []
    for point in measured.values():
        for system, cost in point["seconds_per_unit"].items():
            rate = 1.0 / cost["median"]
            rows.append([point["label"], system, f"{rate / 1e6:.3g}", f"{rate * FEATURES * 8 / 1e6:,.0f}"])
    return [(["file", "system", "million rows/s", "MB/s of float64"], rows)]
