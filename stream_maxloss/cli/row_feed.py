"""Rows from a source, split into features, labels, weights and slices, and cut by their count."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream_maxloss.cli.closest import closest, listed
from stream_maxloss.cli.targets import Target, TextTargetError, is_text
from stream_maxloss.errors import CheckpointError, DecodeError

if TYPE_CHECKING:
    from stream_maxloss_connectors.bad_records import BadRecords
    from stream_maxloss_connectors.base import Batch, Source

__all__ = ["BATCH_ROWS", "Columns", "RowBatch", "RowFeed"]

BATCH_ROWS = 16384
"""Rows per batch. Batches end at multiples of it, counted from the first row of the run."""


@dataclass(frozen=True)
class Columns:
    """Which column is what.

    Parameters
    ----------
    target
        The label's column; None where rows have none.
    weight, slice_by
        Columns of sample weights and of slices.
    features
        Columns to learn from; empty for all but the other three.
    exclude
        Columns not to learn from.

    """

    target: str | None
    weight: str | None = None
    slice_by: str | None = None
    features: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    @property
    def wanted(self) -> list[str] | None:
        """Columns that a source has to read, None for all."""
        if not self.features:
            return None
        others = [name for name in (self.target, self.weight, self.slice_by) if name is not None]
        return list(dict.fromkeys([*(n for n in self.features if n not in self.exclude), *others]))

    def choose(self, names: Sequence[str]) -> list[str]:
        """Return the features among the columns of a source.

        Raises
        ------
        ValueError
            If a column that was asked for is not there.

        """
        asked = {"--target": [self.target], "--weight": [self.weight], "--slice-by": [self.slice_by]}
        for option, wanted in {**asked, "--features": self.features, "--exclude": self.exclude}.items():
            for name in wanted:
                if name is not None and name not in names:
                    raise ValueError(f"{option} must name a column, got {name!r}; {closest(name, names)}")
        if self.features:
            return [name for name in self.features if name not in self.exclude]
        taken = {self.target, self.weight, self.slice_by, *self.exclude}
        return [name for name in names if name not in taken]


@dataclass(frozen=True)
class RowBatch:
    """Some consecutive rows.

    Parameters
    ----------
    X
        The features.
    y
        The labels as the model takes them; None where rows have none.
    w
        The sample weights, or None.
    slices
        The values of the slice column as text or None each, or None.
    address
        Where a user finds a row of this batch.

    """

    X: pa.RecordBatch
    y: NDArray[Any] | None
    w: NDArray[np.float64] | None
    slices: NDArray[np.object_] | None
    address: Callable[[int], str]

    def __len__(self) -> int:
        return int(self.X.num_rows)

    def without(self, rows: Sequence[int]) -> RowBatch:
        """Return the batch with some rows left out."""
        kept = np.ones(len(self), dtype=np.bool_)
        kept[list(rows)] = False
        places = np.flatnonzero(kept)
        parts = {name: None if (part := getattr(self, name)) is None else part[kept] for name in ("y", "w", "slices")}
        address = self.address
        X = self.X.filter(pa.array(kept))
        return replace(self, X=X, address=lambda row: address(int(places[row])), **parts)


class RowFeed:
    """Reads batches of rows that are cut by row counts only, so that a resumed run cuts them alike.

    Parameters
    ----------
    source
        An opened source.
    columns
        Which column is what.
    target
        How labels are read; None where there are none.
    bad_records
        Where rows without a usable label go.

    """

    def __init__(self, source: Source, columns: Columns, target: Target | None, bad_records: BadRecords) -> None:
        self.source = source
        self.columns = columns
        self.target = target
        self.bad_records = bad_records
        self.schema: pa.Schema | None = None
        self.features: list[str] = []
        self.learned_features: list[str] | None = None  # those of the checkpoint that the run goes on from

    def next(
        self, max_rows: int, timeout: float, patient: bool, should_stop: Callable[[], bool] = lambda: False
    ) -> RowBatch | None:
        """Return up to `max_rows` rows, or None if none came.

        Parameters
        ----------
        max_rows
            The most rows.
        timeout
            Seconds to wait for rows.
        patient
            Whether to wait again and again until the batch is full or the source at its end. Without, what came within
            `timeout` is returned: right for a source that trickles.
        should_stop
            Asked between reads; True ends the waiting.

        """
        parts = self._collect(max_rows, timeout, patient, should_stop)
        if not parts:
            return None
        records = parts[0].records if len(parts) == 1 else pa.concat_batches([part.records for part in parts])
        try:
            return self.split(records, address_of(parts))
        except TextTargetError:
            self._refuse_text(records)
            raise

    def _refuse_text(self, records: pa.RecordBatch) -> None:
        """Look at some more rows, so that the error can name more than the first text; the run ends anyway."""
        more = self.source.next_batch(1000, 1.0)
        if more is not None and self.target is not None:
            both = pa.concat_batches([records, more.records])
            self.target.read(both.column(self.target.name), str)

    def label_type(self, is_classifier: bool) -> pa.DataType:
        """Return the Arrow type of the labels, as the model predicts them."""
        if not is_classifier:
            return pa.float64()
        target = self.target
        if target is None:
            return pa.string()
        if target.kind == "binary" or target.positive is not None or self.schema is None:
            return pa.bool_()
        found = self.schema.field(target.name).type
        found = found.value_type if pa.types.is_dictionary(found) else found
        return pa.string() if is_text(found) else found

    def _collect(self, max_rows: int, timeout: float, patient: bool, should_stop: Callable[[], bool]) -> list[Batch]:
        parts: list[Batch] = []
        missing = max_rows
        deadline = time.monotonic() + timeout
        while missing and not (parts and should_stop()):
            wait = timeout if patient else max(0.0, deadline - time.monotonic())
            part = self.source.next_batch(missing, wait)
            if part is not None:
                parts.append(part)
                missing -= part.num_rows
                if patient or time.monotonic() < deadline:
                    continue
            if self.source.exhausted or not patient or should_stop():
                break
        return parts

    def split(self, records: pa.RecordBatch, address: Callable[[int], str]) -> RowBatch:
        """Split the columns of some rows into features, labels, weights and slices."""
        if self.schema is None or not records.schema.equals(self.schema):
            self.features = self.columns.choose(records.schema.names)
            self.schema = records.schema
            self._require_learned_features()
            if not self.features:
                raise ValueError("rows must have features, got none besides the target; check --features and --exclude")
        columns, n_rows = self.columns, records.num_rows
        labels: NDArray[Any] | None = None
        bad: dict[int, DecodeError] = {}
        if self.target is not None:
            labels, bad = self.target.read(records.column(self.target.name), address)
        weights = None if columns.weight is None else read_weights(records.column(columns.weight), columns.weight)
        slices = None if columns.slice_by is None else read_text(records.column(columns.slice_by))
        batch = RowBatch(records.select(self.features), labels, weights, slices, address)
        for error in bad.values():
            self.bad_records.handle(error)
        return batch.without(list(bad)) if bad and n_rows else batch

    def _require_learned_features(self) -> None:
        learned = self.learned_features
        if learned is not None and set(learned) != set(self.features):
            raise CheckpointError(
                f"the checkpoint was learned from the columns {listed(learned)}, and now there are "
                f"{listed(self.features)}; name the old ones with --features, start over with --fresh, or choose "
                "another directory"
            )


def address_of(parts: Sequence[Batch]) -> Callable[[int], str]:
    """Return what gives the address of a row counted through all parts."""
    if len(parts) == 1:
        return parts[0].address
    ends = np.cumsum([part.num_rows for part in parts])

    def address(row: int) -> str:
        part = int(np.searchsorted(ends, row, side="right"))
        return parts[part].address(row - int(ends[part]) + parts[part].num_rows)

    return address


def read_weights(column: pa.Array, name: str) -> NDArray[np.float64]:
    """Return the sample weights; a missing one is NaN, which the model refuses by row."""
    try:
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise ValueError(f"--weight must name a column of numbers, got {name!r} of type {column.type}") from error


def read_text(column: pa.Array) -> NDArray[np.object_]:
    """Return the values of a column as Python objects, whole numbers without a fraction."""
    values = column.to_pylist()
    if pa.types.is_floating(column.type):
        values = [
            int(value) if value is not None and value == value and value.is_integer() else value for value in values
        ]
    return np.array(values, dtype=object)
