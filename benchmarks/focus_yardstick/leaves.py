"""The leaves of random ferns, as sparse rows: features over which a linear learner can get rare rows right."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.streams.stream import Stream

__all__ = ["over_leaves"]

FERNS, DEPTH, FIRST = 100, 6, 1000


def over_leaves(stream: Stream, seed: int) -> Stream:
    """Return a stream whose rows are the leaves they fall into; thresholds are values of the first rows."""
    import pyarrow as pa

    if stream.is_sparse:
        return stream
    columns = [tests_of(column) for column in stream.table.columns]
    varying = [column for column in columns if len(np.unique(column[:FIRST])) > 1]
    chance = np.random.default_rng(seed)
    rows, names, parts = len(stream), [], []
    for fern in range(FERNS):
        leaf = np.zeros(rows, dtype=np.int64)
        for _ in range(DEPTH):
            column = varying[chance.integers(len(varying))]
            leaf = 2 * leaf + (column > chance.choice(column[:FIRST][column[:FIRST] < column[:FIRST].max()]))
        parts.append(leaf + 2**DEPTH * fern)
        names += [f"{fern}:{place}" for place in range(2**DEPTH)]
    places = pa.array(np.stack(parts, axis=1).ravel())
    ends = pa.array(np.arange(0, FERNS * rows + 1, FERNS, dtype=np.int32))
    # Each row then has the length 1.
    values = pa.array(np.full(FERNS * rows, 1.0 / np.sqrt(FERNS)))
    return replace(
        stream, table=pa.table({"leaves": pa.MapArray.from_arrays(ends, pa.array(names).take(places), values)})
    )


def tests_of(column: Any) -> NDArray[np.float64]:
    """Return a column as numbers that thresholds cut: text by how often a value comes among the first rows."""
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype != object:
        return np.nan_to_num(values.astype(np.float64), nan=-np.inf)
    names, counts = np.unique(values[:FIRST].astype(str), return_counts=True)
    rank = {name: float(count) + 1e-6 * place for place, (name, count) in enumerate(zip(names, counts, strict=True))}
    return np.array([rank.get(str(value), 0.0) for value in values])
