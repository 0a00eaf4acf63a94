"""An online standardiser."""

from __future__ import annotations

import functools
import math
import threading
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from river import base

from stream_maxloss.arguments import require_positive
from stream_maxloss.described import ArrayOf, check_state
from stream_maxloss.errors import RowError
from stream_maxloss.features import FeatureMap
from stream_maxloss.linear.statistics import COUNT, MEAN, SPREAD, observe_rows, scale_rows
from stream_maxloss.machine.pointers import address_of
from stream_maxloss.rows.columns import check_finite, read_map, to_floats
from stream_maxloss.rows.frame import to_record_batch
from stream_maxloss.rows.single import TEXT_KINDS, number_of

__all__ = ["Scaler"]

FIRST_CAPACITY = 16


# Statistics grow and are put back, while a kernel has their address: one call at a time, of all scalers, since kernels
# hold Python's own lock anyway. Within a thread calls may nest, as when a value's `__float__` learns.
ONE_CALL = threading.RLock()


def exclusive(call: Callable[..., Any]) -> Callable[..., Any]:
    """Let one thread at a time into a call."""

    @functools.wraps(call)
    def guarded(*arguments: Any, **keywords: Any) -> Any:
        with ONE_CALL:
            return call(*arguments, **keywords)

    return guarded


class Scaler(base.MiniBatchTransformer):
    r"""Standardise features by their running mean and standard deviation.

    $$x_j \mapsto \frac{x_j - \bar x_j}{s_j}, \qquad 0 \text{ where } s_j = 0,$$

    with mean and variance over the values seen so far, by Welford's rule. As `river.preprocessing.StandardScaler`, with
    three differences: absent features (None, NaN, null) are left alone and out of the statistics; text passes through,
    so that `Scaler() | HingeOGD()` takes mixed rows; and `Scaler() | learner` learns a batch row by row, each
    scaled with the statistics of its own moment, so that `learn_many` and `learn_one` give the same model.

    Parameters
    ----------
    clip
        Keep scaled values within [-clip, clip]; None for no bound. The mean and deviation of a column with a long tail
        (bytes, counts, prices) say little of its largest values, which come out tens or hundreds of deviations away and
        then make a linear learner jump; 5 leaves almost all of a bell-shaped column alone. The statistics are taken of
        the values as they come, before the bound.

    Raises
    ------
    ValueError
        If `clip` is not positive.

    Examples
    --------
    >>> from stream_maxloss.linear import Scaler
    >>> scaler = Scaler()
    >>> for size in (1.0, 2.0, 3.0):
    ...     scaler.learn_one({"size": size, "shape": "round"})
    >>> scaler.transform_one({"size": 3.0, "shape": "round", "age": None})
    {'size': 1.2247, 'shape': 'round'}
    >>> clipped = Scaler(clip=2.0)
    >>> for size in (1.0, 2.0, 3.0):
    ...     clipped.learn_one({"size": size})
    >>> clipped.transform_one({"size": 1e6})
    {'size': 2.0}

    """

    def __init__(self, clip: float | None = None) -> None:
        if clip is not None:
            require_positive("clip", clip, "5 is usual; leave it None for no bound")
        self.clip = clip
        self._features = FeatureMap()
        self._statistics = np.zeros((3, FIRST_CAPACITY))
        self._last_names: tuple[Any, ...] = ()
        self._last_columns: NDArray[np.int64] = np.empty(0, dtype=np.int64)

    @property
    def _limit(self) -> float:
        """The bound as the kernels take it."""
        return math.inf if self.clip is None else float(self.clip)

    def __or__(self, other: Any) -> Any:
        from stream_maxloss.linear.pipeline import RowPipeline

        return RowPipeline(self, other)

    def _numbers(self, x: Mapping[Hashable, Any]) -> dict[Hashable, float]:
        """Return the present numbers of a row."""
        values = {name: number_of(name, value) for name, value in x.items() if not isinstance(value, TEXT_KINDS)}
        return {name: number for name, number in values.items() if number is not None}

    def _make_room(self) -> None:
        capacity = self._statistics.shape[1]
        if len(self._features) > capacity:
            grown = np.zeros((3, max(len(self._features), 2 * capacity)))
            grown[:, :capacity] = self._statistics
            self._statistics = grown

    def _at(self) -> tuple[int, int]:
        """Return the address of the statistics and the number of their columns, for a kernel call at once."""
        return address_of(self._statistics), self._statistics.shape[1]

    def _observe(self, columns: NDArray[np.int64], rows: NDArray[np.float64]) -> None:
        """Take the rows of a matrix into account."""
        statistics = self._room_for(columns)
        observe_rows(address_of(statistics), statistics.shape[1], *matrix_at(columns, rows))

    def _scale(self, columns: NDArray[np.int64], rows: NDArray[np.float64]) -> None:
        """Scale the rows of a matrix in place."""
        statistics = self._room_for(columns)
        scale_rows(address_of(statistics), statistics.shape[1], *matrix_at(columns, rows), self._limit)

    def _room_for(self, columns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the statistics, which another thread may have put back meanwhile: no kernel must read beyond them."""
        statistics = self._statistics
        if columns.max(initial=-1) >= statistics.shape[1]:
            raise RuntimeError("a Scaler must be used by one thread at a time; give each thread its own or a lock")
        return statistics

    @exclusive
    def learn_one(self, x: dict[Hashable, Any]) -> None:
        """Take the numbers of a row into account."""
        values = self._numbers(x)
        self._features.add(values)
        self._make_room()
        columns = np.array([self._features.find(name) for name in values], dtype=np.int64)
        self._observe(columns, np.array([list(values.values())], dtype=np.float64).reshape(1, len(values)))

    @exclusive
    def transform_one(self, x: dict[Hashable, Any]) -> dict[Hashable, Any]:
        """Return the row with its numbers scaled, absent features left out and text as it is."""
        # Most rows are plain numbers, none of them absent: those are taken at once, for a third of the time.
        if {*map(type, x.values())} == {float} and math.isfinite(sum(x.values())):
            return self._scale_plain(x)
        values = self._numbers(x)
        columns = np.array([self._features.find(name) for name in values], dtype=np.int64)
        row = np.array([list(values.values())], dtype=np.float64).reshape(1, len(values))
        self._scale(columns, row)
        scaled = dict(zip(values, row[0].tolist(), strict=True))
        kept = {name: value for name, value in x.items() if name in scaled or isinstance(value, TEXT_KINDS)}
        return {name: scaled.get(name, value) for name, value in kept.items()}

    def _scale_plain(self, x: dict[Hashable, float]) -> dict[Hashable, Any]:
        """Return a row of finite numbers scaled."""
        features, row = self._features, np.array([*x.values()])
        names = (features, len(features), features.cuts, *x)
        if names != self._last_names:
            self._last_columns = np.array([*map(features.find, x)], dtype=np.int64)
            self._last_names = names
        columns, statistics = self._last_columns, self._statistics
        if len(features) > statistics.shape[1]:
            statistics = self._room_for(columns)
        scale_rows(address_of(statistics), statistics.shape[1], *matrix_at(columns, row[np.newaxis]), self._limit)
        return dict(zip(x, row.tolist(), strict=True))

    @exclusive
    def learn_many(self, X: Any) -> None:
        """Take the numbers of each row of a frame into account."""
        names, matrix, others = self._split(X)
        maps = [read_map(name, array) for name, array in others.items() if is_map(array)]
        for column in maps:
            check_finite(column)
        self._features.add(name for j, name in enumerate(names) if not np.isnan(matrix[:, j]).all())
        for column in maps:
            self._features.add(name for _, name in column.arrivals(self._features))
        self._make_room()
        columns = np.array([self._features.find(name) for name in names], dtype=np.int64)
        present = columns >= 0
        self._observe(columns[present], np.ascontiguousarray(matrix[:, present]))
        for column in maps:
            entries = column.entries(self._features)
            known = entries.columns >= 0
            self._observe(entries.columns[known], entries.values[known].reshape(1, -1))

    @exclusive
    def transform_many(self, X: Any) -> Any:
        """Return a frame like `X`, its number columns scaled by the statistics so far and the others as they are."""
        import pyarrow as pa

        from stream_maxloss.linear.native import is_record_batch, native_frame

        names, matrix, others = self._split(X)
        others = {name: self._scale_map(name, array) if is_map(array) else array for name, array in others.items()}
        columns = np.array([self._features.find(name) for name in names], dtype=np.int64)
        self._scale(columns, matrix)
        scaled: dict[Any, Any] = {name: matrix[:, j] for j, name in enumerate(names)}
        if is_record_batch(X) or isinstance(X, pa.Table):
            arrays = {str(n): pa.array(v, from_pandas=True) for n, v in scaled.items()}
            ordered = {name: arrays[name] if name in arrays else others[name] for name in X.schema.names}
            return pa.record_batch(ordered) if is_record_batch(X) else pa.table(ordered)
        scaled.update({name: values.to_pylist() for name, values in others.items()})
        return native_frame({name: scaled[name] for name in list(X.columns)}, X)

    def _scale_map(self, name: Hashable, array: Any) -> Any:
        """Return a map column with its numbers scaled; a null map becomes an empty one."""
        import pyarrow as pa

        column = read_map(name, array)
        check_finite(column)
        entries = column.entries(self._features)
        self._scale(entries.columns, entries.values.reshape(1, -1))
        keys = pa.array(column.entry_names(), pa.string())
        offsets = pa.array(column.indptr, pa.int32())
        return pa.MapArray.from_arrays(offsets, keys, pa.array(entries.values, from_pandas=True))

    def _split(self, X: Any) -> tuple[list[Hashable], NDArray[np.float64], dict[Hashable, Any]]:
        """Return the number columns' names and matrix (a copy), and the other columns."""
        import pyarrow as pa

        names, batch = to_record_batch(X)
        types = pa.types
        is_number = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
        numeric = [any(test(field.type) for test in is_number) for field in batch.schema]
        chosen = [j for j, is_numeric in enumerate(numeric) if is_numeric]
        matrix = np.empty((batch.num_rows, len(chosen)))
        for place, j in enumerate(chosen):
            matrix[:, place] = to_floats(batch.column(j))
        refuse_infinite([names[j] for j in chosen], matrix)
        others = {name: batch.column(j) for j, name in enumerate(names) if not numeric[j]}
        return [names[j] for j in chosen], matrix, others

    @property
    def counts(self) -> dict[Hashable, int]:
        """Number of present values, by feature."""
        return {name: int(self._statistics[COUNT, j]) for j, name in enumerate(self._features.names)}

    @property
    def means(self) -> dict[Hashable, float]:
        """Mean of the present values, by feature."""
        return {name: float(self._statistics[MEAN, j]) for j, name in enumerate(self._features.names)}

    @property
    def variances(self) -> dict[Hashable, float]:
        """Variance of the present values (divided by their number), by feature."""
        names = self._features.names
        return {
            name: float(self._statistics[SPREAD, j] / max(1.0, self._statistics[COUNT, j]))
            for j, name in enumerate(names)
        }

    def state_dict(self) -> dict[str, Any]:
        """Return the statistics, as arrays and JSON."""
        names = {f"features.{key}": value for key, value in self._features.state_dict().items()}
        return {"statistics": self._statistics.copy(), **names}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` returned.

        Raises
        ------
        ValueError
            If there are not three statistics for each name. The scaler is then unchanged.

        """
        statistics = np.array(state["statistics"], dtype=np.float64)
        features = FeatureMap()
        features.load_state_dict({k[9:]: v for k, v in state.items() if k.startswith("features.")})
        if statistics.ndim != 2 or len(statistics) != 3 or statistics.shape[1] < len(features):
            raise ValueError(
                f"state must hold three statistics for each of {len(features)} features, got shape {statistics.shape}; "
                "load what state_dict of a Scaler returned"
            )
        check_state({"statistics": statistics}, {"statistics": ArrayOf("float64", (3, statistics.shape[1]))})
        if (statistics[[COUNT, SPREAD]] < 0.0).any():
            raise ValueError("counts and spreads must not be negative; load what state_dict of a Scaler returned")
        self._features, self._statistics = features, statistics


def matrix_at(columns: NDArray[np.int64], rows: NDArray[np.float64]) -> tuple[int, int, int, int]:
    """Return a matrix as kernels take it: columns, their number, values and rows."""
    return address_of(columns), len(columns), address_of(rows), len(rows)


def is_map(array: Any) -> bool:
    """Return whether an Arrow array holds maps."""
    import pyarrow as pa

    return bool(pa.types.is_map(array.type))


def refuse_infinite(names: list[Hashable], matrix: NDArray[np.float64]) -> None:
    """Raise RowError for the first infinite value of a matrix."""
    infinite = np.isinf(matrix)
    if infinite.any():
        row, column = (int(place[0]) for place in np.nonzero(infinite))
        raise RowError(
            row,
            f"feature {names[column]!r} of row {row} must be finite, got {matrix[row, column].item()!r}; "
            "clip it or leave it out",
        )
