"""A long run of generated rows: memory must stay flat once the window is full, and checkpoints must not grow.

`python soak.py ROWS WINDOW DISTINCT` prints rows a second, and how memory and checkpoints have grown. `DISTINCT` is the
number of values that a text column takes; 0 for none.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from stream_maxloss.focus import FocusedClassifier
from stream_maxloss.linear import HingeOGD, Scaler
from stream_maxloss.run import Tail
from stream_maxloss_connectors import Batch, Position, Source

BATCH = 10_000


class Generated(Source):
    """Rows made from their number, so that they can be made again from any position."""

    def __init__(self, rows: int, distinct: int) -> None:
        self.rows = rows
        self.distinct = distinct
        self._next = 0

    def partitions(self) -> list[str]:
        return ["all"]

    def open(self, position: Position | None = None) -> None:
        self._next = 0 if position is None else int(position["all"]["row"])

    def next_batch(self, max_rows: int, timeout: float) -> Batch | None:
        count = min(max_rows, BATCH, self.rows - self._next)
        if count <= 0:
            return None
        first, self._next = self._next, self._next + count
        generator = np.random.default_rng(first)
        values = generator.normal(size=(5, count))
        columns: dict[str, Any] = {f"x{i}": column for i, column in enumerate(values)}
        if self.distinct:
            columns["text"] = pa.array([f"v{n % self.distinct}" for n in range(first, first + count)])
        columns["y"] = values[0] + 0.3 * generator.normal(size=count) > values[1]
        return Batch(pa.RecordBatch.from_pydict(columns), "all", lambda row: f"row {first + row}")

    @property
    def exhausted(self) -> bool:
        return self._next >= self.rows

    def position(self) -> Position:
        return {"all": {"row": self._next}}

    def lag(self) -> int:
        return self.rows - self._next

    @property
    def lag_unit(self) -> str:
        return "records"

    def close(self) -> None:
        """Nothing is held."""


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def main() -> None:
    rows, window, distinct = map(int, sys.argv[1:4])
    model = Scaler() | FocusedClassifier(HingeOGD(), window=window, replays=2, seed=1)
    sizes: list[int] = []
    memory: list[int] = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        every = str(max(rows // 20, 1))
        places: dict[str, Any] = {"checkpoint": folder, "checkpoint_every": every, "report_every": every, "keep": 1}
        with Tail(Generated(rows, distinct), model, "y", metrics=["accuracy"], **places) as tail:
            for progress in tail:
                if progress.rows > max(2 * window, rows // 4):
                    memory.append(resident())
                    sizes.append(sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file()))
    result = {
        "rows": rows,
        "rows_per_second": round(rows / (time.monotonic() - began)),
        "megabytes": round(memory[-1] / 2**20),
        "memory_growth": round(max(memory[len(memory) // 2 :]) / max(memory[: len(memory) // 2]) - 1, 4),
        "checkpoint_growth": round(sizes[-1] / sizes[0] - 1, 4),
    }
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
