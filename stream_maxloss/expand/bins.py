"""`Bins`: a number as the quantile bin that it lies in."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from stream_maxloss.arguments import require_count
from stream_maxloss.expand.columns import ColumnEdges, numbers_in
from stream_maxloss.expand.entries import LARGEST, Frame, is_text, map_entries
from stream_maxloss.expand.row_transformer import FlagMap, RowTransformer, as_record_batch
from stream_maxloss.features import text_feature
from stream_maxloss.rows.columns import NumberColumn, TextColumn
from stream_maxloss.rows.single import TEXT_KINDS, texts_of
from stream_maxloss.rows.text_lists import TextListColumn

__all__ = ["Bins", "bin_names"]


class Bins(RowTransformer):
    """Replace each number by a flag for its quantile bin, so that a linear learner can follow any shape.

    The thresholds of a column come from its own first values, half-way between neighbouring ones, and stay. A column
    that appears later gets its own when it has been seen as often. Until then, and if all its values are the same, it
    is the flag that it is there: of wide, sparse rows nothing is lost. Text is passed on as the flag `column=value`,
    and absent values stay absent.

    Whole batches are transformed column by column; `Bins() | model` runs in kernels where the model does.

    Parameters
    ----------
    bins
        The largest number of bins of a column.
    rows
        Values of a column that its thresholds are found on.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> from stream_maxloss.expand import Bins
    >>> from stream_maxloss.linear import Logistic
    >>> bins = Bins(bins=4, rows=8)
    >>> for size in range(8):
    ...     bins.learn_one({"size": size, "shape": "round"})
    >>> bins.transform_one({"size": 3.2, "shape": "flat", "new": 7.0})
    {'size=1.5..3.5': 1.0, 'shape=flat': 1.0, 'new': 1.0}
    >>> evaluate.progressive_val_score(datasets.Bananas(), Bins() | Logistic(), metrics.Accuracy())
    Accuracy: 69...%

    """

    def __init__(self, bins: int = 16, rows: int = 100) -> None:
        require_count("bins", bins, "16 are a good start")
        require_count("rows", rows, "100 are a good start")
        if bins > 1 << 15:
            raise ValueError(f"bins must be at most {1 << 15}, got {bins!r}; 16 are a good start")
        self.bins = bins
        self.rows = rows
        self._columns = ColumnEdges(rows, bins - 1)

    def learn_one(self, x: dict[Hashable, Any]) -> None:
        """Take a row into account."""
        self._columns.learn(numbers_in(x))

    def undo(self) -> None:
        """Take back the row that was learned last."""
        self._columns.undo()

    def transform_one(self, x: dict[Hashable, Any]) -> dict[Hashable, float]:
        """Return the flags of a row."""
        flags: dict[Hashable, float] = {}
        numbers = numbers_in(x)
        for name, value in x.items():
            if isinstance(value, TEXT_KINDS):
                flags.update((text_feature(name, text), 1.0) for text in texts_of(name, value))
            elif name in numbers:
                edges = self._columns.edges.get(name)
                flags[bin_names(name, edges)[bisect_left(edges, numbers[name])] if edges else str(name)] = 1.0
        return flags

    def _changes_at(self, frame: Frame) -> int | None:
        # A row that gives a column thresholds may, if they are none, change nothing: it is taken alone all the same.
        return self._columns.ready_at(frame.numbers(self._columns.edges))

    def _take(self, frame: Frame) -> None:
        self._columns.learn_many(frame.numbers(self._columns.edges))

    def _learn_row(self, frame: Frame) -> None:
        self._columns.learn({name: float(values[0]) for name, rows, values in frame.numbers() if len(rows)})

    def _expand(self, frame: Frame) -> Any:
        columns: dict[str, Any] = {}
        for column in frame.columns:
            if isinstance(column, NumberColumn):
                columns[str(column.name)] = self._binned(column)
            elif not isinstance(column, TextColumn | TextListColumn):
                flags = FlagMap(frame.num_rows)
                for name, rows, values in map_entries(column):
                    edges = self._columns.edges.get(name)
                    codes = np.searchsorted(edges, values) if edges else np.zeros(len(values), dtype=np.int64)
                    flags.add(bin_names(name, edges) if edges else [str(name)], rows, codes)
                columns[f"map {len(columns)}"] = flags.column()
        for name, array in zip(frame.names, frame.batch.columns, strict=True):
            if is_text(array.type):
                columns[str(name)] = array
        return as_record_batch(columns, frame.num_rows)

    def _binned(self, column: NumberColumn) -> Any:
        """Return a column of numbers as categories, or as the flag that it is there."""
        import pyarrow as pa

        edges, absent = self._columns.edges.get(column.name), np.isnan(column.values)
        if not edges:
            return pa.array(np.ones(len(absent)), mask=absent)
        codes = np.searchsorted(edges, np.clip(column.values, -LARGEST, LARGEST)).astype(np.int16)
        names = [name.removeprefix(f"{column.name}=") for name in bin_names(column.name, edges)]
        return pa.DictionaryArray.from_arrays(pa.array(codes, mask=absent), pa.array(names))

    def state_dict(self) -> dict[str, Any]:
        """Return what was learned, as JSON."""
        return self._columns.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take over what `state_dict` of a transformer with the same parameters returned."""
        self._columns.load_state_dict(state)


def bin_names(name: Hashable, edges: list[float]) -> list[str]:
    """Return the features of the bins of a column, the lowest first."""
    ends = ["", *(f"{edge:.9g}" for edge in edges), ""]
    return [text_feature(name, f"{low}..{high}") for low, high in itertools.pairwise(ends)]
