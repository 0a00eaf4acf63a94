"""Compiles what the demonstration runs, on two cores: on a fresh machine that is most of its time."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream_maxloss.cli.demo_stream import make_connections
from stream_maxloss.evaluate import Engine
from stream_maxloss.focus import FocusedClassifier
from stream_maxloss.linear import HingeOGD, Scaler

__all__ = ["compile_kernels", "make_models", "split_labels"]

ROWS = 64


def make_models() -> dict[str, Any]:
    """Return the two learners of the demonstration, fresh."""
    return {"bare": Scaler() | HingeOGD(), "focused": Scaler() | FocusedClassifier(HingeOGD(), seed=0)}


def split_labels(records: pa.RecordBatch) -> tuple[pa.RecordBatch, NDArray[np.bool_]]:
    """Return features and labels of some connections."""
    features = records.select([name for name in records.schema.names if name not in ("attack", "kind")])
    return features, np.asarray(records.column("attack").to_numpy() == 1)


def compile_for(name: str) -> None:
    """Let one of the learners learn a few rows, which compiles what it needs and keeps it on disk."""
    features, labels = split_labels(make_connections(ROWS).combine_chunks().to_batches()[0])
    # As they come from the file: whole numbers are read as float64, too.
    floats = [column.cast(pa.float64()) for column in features.columns]
    Engine(make_models()[name]).learn(pa.RecordBatch.from_arrays(floats, features.schema.names), labels)


def compile_kernels() -> None:
    """Compile for both learners, one here and one in a process of its own."""
    command = [sys.executable, "-m", "stream_maxloss.cli.demo_kernels"]
    nowhere = subprocess.DEVNULL
    with subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere) as other:
        try:
            compile_for("bare")
            other.wait()  # Should it fail, the kernels are compiled when they are called.
        finally:
            other.kill()


if __name__ == "__main__":
    compile_for("focused")
