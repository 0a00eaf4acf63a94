"""A synthetic stream of network connections with a rare kind of attack, written to a file that grows."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

__all__ = ["KINDS", "FileWriter", "make_connections"]

KINDS = ("normal", "flood", "scan", "escalation")
"""What a connection can be; all but the first are attacks, and the last is the rare one."""

SHARES = (0.797, 0.12, 0.08, 0.003)
RARE = len(KINDS) - 1

# Means of the logarithms of what a connection does, by kind. An escalation looks like normal traffic in all of them.
LOG_MEANS = {
    "log_duration": (1.0, -1.5, -2.5, 1.2),
    "log_bytes_sent": (6.0, 4.0, 2.0, 6.0),
    "log_bytes_received": (8.0, 2.0, 1.0, 7.5),
    "log_connections": (1.0, 5.0, 2.0, 1.0),
}

# What tells an escalation: each count alone occurs in normal traffic too, their sum does not. Per column the mean of
# normal traffic, its most, and the least of an escalation.
COUNTS = {"failed_logins": (0.1, 2, 1), "root_commands": (0.3, 2, 2), "files_created": (0.8, 3, 2)}


def make_connections(rows: int, seed: int = 0) -> pa.Table:
    """Return a table of connections: eight numbers, the label `attack` and the `kind` it was made from.

    Floods and scans are common and easy. Escalations are 0.3 % of the rows, and a linear model can tell them, but the
    weights they need are pulled the other way by the many normal connections with one or two of their signs.

    Parameters
    ----------
    rows
        How many.
    seed
        Of the generator; the same seed makes the same rows.

    Examples
    --------
    >>> from stream_maxloss.cli.demo.stream import make_connections
    >>> table = make_connections(10_000)
    >>> table.column_names[-4:]
    ['files_created', 'ssh', 'attack', 'kind']
    >>> table["kind"].to_pylist().count("escalation")
    33

    """
    generator = np.random.default_rng(seed)
    kinds = generator.choice(len(KINDS), rows, p=SHARES)
    columns: dict[str, NDArray[Any]] = {}
    for name, means in LOG_MEANS.items():
        columns[name] = np.round(generator.normal(np.array(means)[kinds], 1.0), 3)
    columns["ports"] = generator.poisson(np.array([1.5, 1.0, 15.0, 1.5])[kinds])
    for name, (mean, most, least) in COUNTS.items():
        usual = np.where(kinds == 0, np.minimum(generator.poisson(mean, rows), most), 0)
        columns[name] = np.where(kinds == RARE, least + generator.poisson(1.0, rows), usual)
    columns["ssh"] = (generator.random(rows) < np.where(kinds == RARE, 0.8, 0.1)).astype(np.int64)
    columns["attack"] = (kinds > 0).astype(np.int64)
    columns["kind"] = np.array(KINDS)[kinds]
    return pa.table(columns)


class FileWriter(threading.Thread):
    """Appends a table to a CSV file in the background, a little at a time, as a logging process would.

    Parameters
    ----------
    table
        What to write.
    path
        The file. It is made, with its header, when the thread starts.
    chunk_rows
        Rows written at once.
    pause
        Seconds between two chunks.

    Attributes
    ----------
    failure
        Why the file could not be written, or None.

    """

    def __init__(self, table: pa.Table, path: Path, chunk_rows: int = 2000, pause: float = 0.02) -> None:
        super().__init__(name="demo-writer", daemon=True)
        self.table = table
        self.path = path
        self.chunk_rows = chunk_rows
        self.pause = pause
        self.failure: OSError | None = None

    def run(self) -> None:
        """Write the file."""
        try:
            with self.path.open("wb") as file:
                for piece in self._pieces():
                    # In two halves: so a reader meets lines that are not finished yet.
                    for part in (piece[: len(piece) // 2], piece[len(piece) // 2 :]):
                        file.write(part)
                        file.flush()
                    time.sleep(self.pause)
        except OSError as error:
            self.failure = error

    def _pieces(self) -> Iterator[bytes]:
        for first in range(0, self.table.num_rows, self.chunk_rows):
            text = io.BytesIO()
            options = pyarrow.csv.WriteOptions(include_header=first == 0, quoting_style="none")
            pyarrow.csv.write_csv(self.table.slice(first, self.chunk_rows), text, options)
            yield text.getvalue()
