"""The same rows in every file format, in a folder that all processes of a case share and that goes with it."""

from __future__ import annotations

import fcntl
import io
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import dense_rows

__all__ = ["BLOCK", "FEATURES", "NAMES", "free_bytes", "row_file", "shared_folder"]

FEATURES = 20
NAMES = [f"f{j}" for j in range(FEATURES)]
BLOCK = 50_000
VARIABLE = "STREAM_MAXLOSS_BENCH_FOLDER"
# Rows of an IPC batch and of a Parquet row group: what pyarrow's writers take where nothing is said, or less.
IPC_ROWS = 65_536
GROUP_ROWS = 1 << 20


@contextmanager
def shared_folder() -> Iterator[Path]:
    """Make a folder, tell the processes started meanwhile of it, and remove it whatever happens."""
    with tempfile.TemporaryDirectory(prefix="stream-maxloss-bench-") as folder:
        os.environ[VARIABLE] = folder
        try:
            yield Path(folder)
        finally:
            del os.environ[VARIABLE]


def free_bytes() -> int:
    """Return how much fits into the shared folder."""
    place = os.statvfs(os.environ[VARIABLE])
    return place.f_bavail * place.f_frsize


def row_file(ending: str, rows: int) -> Path:
    """Return a file of so many rows in the shared folder, made if it is not there.

    The rows are a seeded block of 50,000, again and again: standard normal numbers with four decimals, as many columns
    as `FEATURES`, and a label `y`.

    Parameters
    ----------
    ending
        One of `WRITERS`; it tells the format.
    rows
        How many; rounded up to whole blocks if there are more than one.

    """
    path = Path(os.environ[VARIABLE]) / f"rows_{rows}{ending}"
    # The systems of a point may get ready at the same time.
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.is_file():
            partial = path.with_name("partial_" + path.name)
            WRITERS[ending](partial, make_block(min(rows, BLOCK)), -(-rows // BLOCK))
            partial.rename(path)
    return path


def make_block(rows: int) -> Any:
    """Return the block as a table."""
    import pyarrow as pa

    X, y = dense_rows(rows, FEATURES)
    X = np.round(X, 4)
    columns: dict[str, Any] = {name: np.ascontiguousarray(X[:, j]) for j, name in enumerate(NAMES)}
    return pa.table({**columns, "y": y.astype(np.int8)})


def repeat_text(path: Path, head: bytes, block: bytes, times: int) -> None:
    """Write a text once and another again and again."""
    with path.open("wb") as file:
        file.write(head)
        for _ in range(times):
            file.write(block)


def write_csv(path: Path, table: Any, times: int) -> None:
    """Write comma-separated values with a header."""
    import pyarrow.csv

    buffer = io.BytesIO()
    pyarrow.csv.write_csv(table, buffer, pyarrow.csv.WriteOptions(include_header=False))
    repeat_text(path, ",".join(table.column_names).encode() + b"\n", buffer.getvalue(), times)


def write_lines(line: Callable[[list[float], int], str]) -> Callable[[Path, Any, int], None]:
    """Return a writer of one line per row."""

    def write(path: Path, table: Any, times: int) -> None:
        *columns, labels = (column.to_pylist() for column in table.columns)
        block = "".join(line(row, y) for *row, y in zip(*columns, labels, strict=True))
        repeat_text(path, b"", block.encode(), times)

    return write


def json_line(row: list[float], y: int) -> str:
    """Return a row as a JSON object."""
    return "{" + "".join(f'"{name}":{value},' for name, value in zip(NAMES, row, strict=True)) + f'"y":{y}}}\n'


def svmlight_line(row: list[float], y: int) -> str:
    """Return a row as svmlight writes it, features counted from 1."""
    return f"{y}" + "".join(f" {j}:{value}" for j, value in enumerate(row, 1)) + "\n"


def vw_line(row: list[float], y: int) -> str:
    """Return a row as Vowpal Wabbit reads it, by the names of the columns."""
    return ("1 |" if y else "-1 |") + "".join(f" {n}:{value}" for n, value in zip(NAMES, row, strict=True)) + "\n"


def large_parts(table: Any, times: int) -> Iterator[Any]:
    """Yield a block so many times over, as tables of about a million rows."""
    import pyarrow as pa

    blocks = max(1, min(times, GROUP_ROWS // table.num_rows))
    for first in range(0, times, blocks):
        yield pa.concat_tables([table] * min(blocks, times - first))


def write_parquet(path: Path, table: Any, times: int) -> None:
    """Write Parquet in row groups of about a million rows, with pyarrow's settings."""
    import pyarrow.parquet as pq

    with pq.ParquetWriter(path, table.schema) as writer:
        for part in large_parts(table, times):
            writer.write_table(part, GROUP_ROWS)


def write_ipc(stream: bool) -> Callable[[Path, Any, int], None]:
    """Return a writer of Arrow IPC, the stream or the file."""

    def write(path: Path, table: Any, times: int) -> None:
        import pyarrow as pa

        opener = pa.ipc.new_stream if stream else pa.ipc.new_file
        with pa.OSFile(str(path), "wb") as sink, opener(sink, table.schema) as writer:
            for part in large_parts(table, times):
                writer.write_table(part.combine_chunks(), IPC_ROWS)

    return write


WRITERS: dict[str, Callable[[Path, Any, int], None]] = {
    ".csv": write_csv,
    ".jsonl": write_lines(json_line),
    ".svm": write_lines(svmlight_line),
    ".vw": write_lines(vw_line),
    ".parquet": write_parquet,
    ".arrow": write_ipc(stream=False),
    ".arrows": write_ipc(stream=True),
}
"""Ending of a file's name -> what writes a block so many times over."""
