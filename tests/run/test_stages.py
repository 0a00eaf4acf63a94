"""Learners in processes of their own get the rows, and end with the scores, that they would in one."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from stream_maxloss.errors import DecodeError, ModelError
from stream_maxloss.evaluate import RowBatch
from stream_maxloss.run.stages import Stages


class Counting:
    """Counts rows and adds values up; refuses one value, and breaks down at another."""

    def __init__(self, name: str, refused: float = -1.0, fatal: float = -1.0) -> None:
        self.name, self.refused, self.fatal = name, refused, fatal
        self.rows, self.total, self.marks = 0, 0.0, 0

    def learn(self, batch: RowBatch, refuse: Callable[[DecodeError], None]) -> RowBatch:
        values = batch.X.column("x").to_numpy()
        if (values == self.fatal).any():
            raise ModelError(f"{batch.address(int(np.argmax(values == self.fatal)))}: no more")
        bad = np.flatnonzero(values == self.refused).tolist()
        for row in bad:
            refuse(DecodeError(batch.address(row), f"{self.name} refuses it"))
        batch = batch.without(bad) if bad else batch
        self.rows, self.total = self.rows + len(batch), self.total + float(batch.X.column("x").to_numpy().sum())
        return batch

    def mark(self) -> None:
        self.marks += 1

    def settle(self) -> Counting:
        return self


def batches() -> list[RowBatch]:
    made = []
    for first in range(0, 100, 10):
        X = pa.record_batch({"x": np.arange(first, first + 10, dtype=np.float64)})
        made.append(RowBatch(X, np.ones(10, dtype=bool), address=lambda row, first=first: f"day.csv:{first + row}"))
    return made


def run(learners: list[Counting], drop: Any = None) -> tuple[list[Counting], list[str]]:
    refused: list[str] = []
    stages = Stages(learners, lambda error: refused.append(str(error)), drop)
    try:
        for batch in batches():
            stages.take(batch, marks=True)
        return stages.finish(), refused
    finally:
        stages.close()


def test_a_row_that_one_refuses_reaches_those_before_it_and_none_behind() -> None:
    found, refused = run([Counting("a"), Counting("b", refused=42.0), Counting("c")])
    assert [(one.rows, one.total, one.marks) for one in found] == [
        (100, 4950.0, 10),
        (99, 4908.0, 10),
        (99, 4908.0, 10),
    ]
    assert refused == ["day.csv:42: b refuses it"]


def test_a_learner_that_breaks_down_is_left_out_and_the_others_get_every_row() -> None:
    dropped: list[str] = []
    learners = [Counting("a"), Counting("b", fatal=55.0), Counting("c")]
    found, _ = run(learners, lambda one, error: dropped.append(f"{one.name}: {error}"))
    assert [(one.name, one.rows) for one in found] == [("a", 100), ("c", 100)]
    assert dropped == ["b: day.csv:55: no more"]


def test_a_process_that_is_killed_is_one_clear_error() -> None:
    stages = Stages([Counting("a"), Counting("b")], print, print)
    try:
        os.kill(stages.stages[1].process, signal.SIGKILL)
        with pytest.raises(ModelError, match="must stay alive, got its end"):
            take_all(stages)
    finally:
        stages.close()


def take_all(stages: Stages) -> None:
    for batch in batches():
        stages.take(batch, marks=False)
    stages.finish()
