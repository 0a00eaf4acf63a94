"""Compiles what the demonstration runs, on two cores: on a fresh machine that is most of its time."""

from __future__ import annotations

import subprocess
from typing import Any

import pyarrow as pa

from stream_maxloss.cli.demo.stream import make_connections
from stream_maxloss.evaluate import Engine
from stream_maxloss.focus import FocusedClassifier
from stream_maxloss.linear import HingeOGD, Scaler
from stream_maxloss.mixture import AutoClassifier
from stream_maxloss.mixture.growing import compile_lessons
from stream_maxloss.mixture.mixing import compile_mixing

__all__ = ["compile_kernels", "make_models"]

ROWS = 64


def make_models() -> dict[str, Any]:
    """Return the learners of the demonstration, fresh."""
    return {
        "bare": Scaler() | HingeOGD(),
        "focused": Scaler() | FocusedClassifier(HingeOGD(), seed=0),
        "auto": AutoClassifier(seed=0),
    }


def compile_for(name: str) -> None:
    """Let one of the learners learn a few rows, which compiles what it needs and keeps it on disk."""
    table = make_connections(ROWS).combine_chunks()
    features = table.drop(["attack", "kind"])
    # As they come from the file: whole numbers are read as float64, too.
    floats = features.cast(pa.schema([(name, pa.float64()) for name in features.column_names]))
    labels = table["attack"].to_numpy() == 1
    Engine(make_models()[name]).learn(floats.to_batches()[0], labels)


def compile_kernels(other: subprocess.Popen[bytes]) -> None:
    """Compile what the other process, which does `compile_others`, leaves out, and wait for it."""
    # In this order: when `auto` needs the parts that the other process begins with, they are on disk.
    compile_lessons()
    compile_for("auto")
    other.wait()  # Should it fail, the kernels are compiled when they are called.


def compile_others() -> None:
    """Compile two parts of the kernel of `auto`, which takes longest, and all for the learners that share kernels."""
    compile_mixing()
    compile_for("bare")
    compile_for("focused")


if __name__ == "__main__":
    compile_others()
