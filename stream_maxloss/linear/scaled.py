"""A scaler and a learner run together over frames, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stream_maxloss.linear.batch_checks import Labelled
from stream_maxloss.linear.faults import feature_name, find_fault, refuse_value, row_entries
from stream_maxloss.linear.model import LinearModel
from stream_maxloss.linear.scaler import Scaler
from stream_maxloss.linear.statistics import run_scaled, scale_stretch
from stream_maxloss.machine.pointers import address_of
from stream_maxloss.rows import Rows, read_frame

__all__ = ["run_scaled_frame", "run_stretch", "scale_rows_of"]


def scaled_columns(scaler: Scaler, model: LinearModel) -> NDArray[np.int64]:
    """Return for each of the learner's columns the scaler's, or -1 for a feature that is not scaled."""
    if scaler._features.is_same_as(model.features):
        return np.arange(len(model.features))
    return np.array([scaler._features.find(name) for name in model.features.names], dtype=np.int64)


def run_scaled_frame(
    scaler: Scaler,
    model: LinearModel,
    frame: Any,
    targets: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Score, then learn, each row of a frame, scaled as it comes; if a row is refused, both are as before."""
    known, observed = len(model.features), len(scaler._features)
    memory, statistics = model.memory, scaler._statistics
    model.memory, scaler._statistics = memory.copy(), statistics.copy()
    model._forget_row()
    labelled = Labelled(targets, weights, model.room_for_scores(len(targets)))
    try:
        for first, rows, part in labelled.split(read_frame(frame, model.features, learn=True)):
            run_stretch(scaler, model, rows, part, first)
    except Exception:
        model.memory, scaler._statistics = memory, statistics
        model.features.truncate(known)
        scaler._features.truncate(observed)
        model._forget_row()
        raise
    return labelled.scores


def scale_rows_of(scaler: Scaler, model: LinearModel, rows: Rows) -> NDArray[np.float64]:
    """Scale rows in place as they are learned; return the values that they are predicted on, of the same shape."""
    scaler._features.add(name for name in rows.names if model.features.find(name) >= 0)
    scaler._make_room()
    shown, scaled = np.empty(rows.values.shape), scaled_columns(scaler, model)
    scale_stretch(*scaler._at(), address_of(scaled), *rows.addresses(spelt_out=True), address_of(shown), scaler._limit)
    return shown


def run_stretch(scaler: Scaler, model: LinearModel, rows: Rows, labelled: Labelled, first: int) -> None:
    """Score, then learn, one stretch of rows, the first of which has this number."""
    model._make_room()
    # Of many stretches of a row or two, looking for every name would take most of the time.
    if not scaler._features.is_same_as(model.features):
        scaler._features.add(name for name in rows.names if model.features.find(name) >= 0)
        scaler._make_room()
    scaled, longest = scaled_columns(scaler, model), len(model.features)
    places, shown = np.empty(longest, dtype=np.int64), np.empty(longest)
    row, status = run_scaled(model.program)(
        address_of(model.memory),
        *scaler._at(),
        address_of(scaled),
        *rows.addresses(spelt_out=True),
        *labelled.addresses(),
        address_of(places),
        address_of(shown),
        scaler._limit,
    )
    if row >= 0:
        raise refuse_scaled_row(scaler, model, rows, row, status, first)


def refuse_scaled_row(scaler: Scaler, model: LinearModel, rows: Rows, row: int, status: int, first: int) -> ValueError:
    """Return the error for a row: an infinity as it came, anything else as the learner saw it."""
    columns, values = row_entries(rows, row)
    present = ~np.isnan(values)
    columns, values = columns[present], values[present]
    if not np.isinf(values).any():
        sources = scaled_columns(scaler, model)[columns]
        numeric = sources >= 0
        part = values[numeric].reshape(1, -1)
        scaler._scale(sources[numeric], part)
        values[numeric] = part[0]
    column, value = find_fault(columns, values, status)
    return refuse_value(status, feature_name(model.features, column), value, first + row)
