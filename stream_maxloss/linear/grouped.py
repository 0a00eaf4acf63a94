"""One batch for many learners of one kind: rows that were read once, handed to each learner a stretch at a time.

Reading a frame costs as much for one row as for a hundred. Where the rows of a batch belong to many learners, it is
read once, and every learner whose columns are those of the frame takes its own rows as they lie.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from stream_maxloss.features import FeatureMap
from stream_maxloss.linear.batch_checks import Labelled
from stream_maxloss.linear.batches import learn_rows
from stream_maxloss.linear.classifier import LinearClassifier
from stream_maxloss.linear.learner import Learner
from stream_maxloss.linear.regressor import LinearRegressor
from stream_maxloss.linear.scaled import run_stretch
from stream_maxloss.linear.scaler import Scaler
from stream_maxloss.rows import Rows
from stream_maxloss.rows.frame import open_numbers

__all__ = ["learn_stretch", "linear_parts", "part_of_rows", "read_matrix", "snapshot", "takes_matrix"]


def linear_parts(model: Any) -> tuple[Scaler | None, Learner] | None:
    """Return the scaler, if there is one, and the learner of a linear model of one score; None for another model."""
    steps = list(model.steps.values()) if hasattr(model, "steps") else [model]
    learner = steps[-1]
    if not isinstance(learner, LinearClassifier | LinearRegressor) or not learner.takes_scaled:
        return None
    if len(steps) == 1:
        return None, learner
    return (steps[0], learner) if len(steps) == 2 and isinstance(steps[0], Scaler) and model.is_native else None


def read_matrix(frame: Any) -> Rows | None:
    """Return an all-numeric Arrow frame as a matrix, its columns in the order that a row with all of them gives them.

    None for another frame.
    """
    features = FeatureMap()
    features.add(frame.schema.names)
    numbers = open_numbers(frame, features, learn=False)
    if numbers is None or not frame.num_rows:
        return None
    return Rows(numbers.names, numbers.columns, numbers.table.rows(0, numbers.num_rows), None, True)


def takes_matrix(learner: Learner, names: list[Hashable]) -> bool:
    """Return whether the columns of a learner are those of a matrix, or become so with its first row."""
    features = learner._model.features
    if not len(features):
        features.add(names)
        return True
    return len(features) == len(names) and features.names == names


def learn_stretch(scaler: Scaler | None, learner: Learner, rows: Rows, labelled: Labelled, first: int) -> None:
    """Score, then learn, some rows of a matrix without absent values, the first of which has this number.

    Raises
    ------
    RowError
        If a row is refused; the rows before it have then been learned.

    """
    if scaler is None:
        learn_rows(learner._model, rows, labelled, first)
    else:
        run_stretch(scaler, learner._model, rows, labelled, first)


def snapshot(scaler: Scaler | None, learner: Learner) -> Callable[[], None]:
    """Return what puts a scaler and a learner back to where they are now."""
    model = learner._model
    memory, known = model.memory.copy(), len(model.features)
    statistics = None if scaler is None else scaler._statistics.copy()
    observed = 0 if scaler is None else len(scaler._features)

    def restore() -> None:
        model._replace(memory)
        model.features.truncate(known)
        if scaler is not None and statistics is not None:
            scaler._statistics = statistics
            scaler._features.truncate(observed)

    return restore


def part_of_rows(rows: Rows, first: int, last: int) -> Rows:
    """Return some rows of a matrix, in a copy: kernels write to them."""
    return Rows(rows.names, rows.columns, np.ascontiguousarray(rows.values[first:last]), None, rows.prefix)
