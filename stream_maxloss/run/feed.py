"""Rows from a source, split into features, labels, weights and slices, and cut by their count."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from stream_maxloss.errors import CheckpointError, DecodeError, UsageError
from stream_maxloss.evaluate import RowBatch
from stream_maxloss.intake.intake import Intake
from stream_maxloss.intake.nested import flatten
from stream_maxloss.keyed.keys import key_texts
from stream_maxloss.run.closest import listed
from stream_maxloss.run.columns import Columns, MissingColumnError
from stream_maxloss.run.target import Target, TextTargetError
from stream_maxloss.run.task import is_text
from stream_maxloss.run.texts import TextValues

if TYPE_CHECKING:
    from stream_maxloss_connectors import BadRecords, Batch, Source

__all__ = ["BATCH_ROWS", "RowFeed"]

logger = logging.getLogger("stream_maxloss.run")

BATCH_ROWS = 16384
"""Rows per batch. Batches end at multiples of it, counted from the first row of the run."""


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
    texts
        Which values of text columns are kept apart.
    learn
        Whether the rows are learned, so that their values are kept, too.
    intake
        What turns columns into features; None for one that decides by itself.
    head
        The first rows of the source, for it to decide from; None: it has to decide from the first batch.
    find_text
        Whether it looks for free text.

    """

    def __init__(
        self,
        source: Source,
        columns: Columns,
        target: Target | None,
        bad_records: BadRecords,
        texts: TextValues | None = None,
        learn: bool = True,
        intake: Intake | None = None,
        head: pa.RecordBatch | None = None,
        find_text: bool = True,
    ) -> None:
        self.source = source
        self.columns = columns
        self.target = target
        self.bad_records = bad_records
        self.texts = TextValues() if texts is None else texts
        self.learns = learn
        self.schema: pa.Schema | None = None
        self.features: list[str] = []
        self.learned_features: list[str] | None = None  # those of the checkpoint that the run goes on from
        self.intake = Intake() if intake is None else intake
        self.head = head
        self.find_text = find_text

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
            return self.split(records, address_of(parts), places_of(parts))
        except TextTargetError:
            self._refuse_text(records)
            raise

    @property
    def must_look_ahead(self) -> bool:
        """Whether the first batch has to be long: what columns are is decided from it, and it comes as it trickles."""
        return self.schema is None and self.head is None and not self.intake.plans and self.source.waits

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
        if target.kind == "class" and pa.types.is_floating(found):
            return pa.int64()
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

    def split(
        self, records: pa.RecordBatch, address: Callable[[int], str], places: pa.RecordBatch | None = None
    ) -> RowBatch:
        """Split the columns of some rows into features, labels, weights and slices."""
        records = flatten(records)
        if self.schema is None or not records.schema.equals(self.schema):
            self.features = self.columns.choose(records.schema.names)
            self.schema = records.schema
            self._require_learned_features()
            if not self.features:
                raise UsageError("rows must have features, got none but the target; check features and exclude")
            self._settle(records)
        columns, n_rows = self.columns, records.num_rows
        labels: NDArray[Any] | None = None
        unlabelled: NDArray[np.bool_] | None = None
        bad: dict[int, DecodeError] = {}
        if self.target is not None:
            column = without_blanks(records.column(self.target.name))
            labels, bad = self.target.read(column, address)
            unlabelled = find_unlabelled(column) if self.target.mark is None else np.isnan(labels)
        weights = None if columns.weight is None else read_weights(records.column(columns.weight), columns.weight)
        slices = None if columns.slice_by is None else read_text(records.column(columns.slice_by))
        X, wrong = self.intake.apply(records.select(self.features), self.learns)
        if not X.num_columns:
            raise UsageError(
                f"rows must have features, got none that can be learned from; {'; '.join(self.intake.notes)}"
            )
        for row, reason in wrong.items():
            bad.setdefault(row, DecodeError(address(row), reason))
        X = self.texts.bound(X, self.learns)
        if columns.model_per is not None:
            X = self._add_model_key(X, records.column(columns.model_per), address, bad)
        batch = RowBatch(X, labels, weights, slices, address, unlabelled, records, places)
        for row in sorted(bad):
            self.bad_records.handle(bad[row])
        return batch.without(list(bad)) if bad and n_rows else batch

    def _add_model_key(
        self, X: pa.RecordBatch, column: pa.Array, address: Callable[[int], str], bad: dict[int, DecodeError]
    ) -> pa.RecordBatch:
        """Add the column by which models are told apart, as text; a row without it is bad."""
        name, texts = str(self.columns.model_per), key_texts(without_blanks(column))
        if texts.null_count:
            reason = f"model-per column {name!r} must have a value, got none; repair the row, or leave it out"
            for row in np.flatnonzero(texts.is_null().to_numpy(zero_copy_only=False)).tolist():
                bad.setdefault(row, DecodeError(address(row), reason))
        return X.append_column(name, texts)

    def _settle(self, records: pa.RecordBatch) -> None:
        """Decide what becomes of columns that were never seen, and say what is left out."""
        known = self.intake.plans
        for name in self.intake.wishes:
            if not known and name not in records.schema.names:
                raise MissingColumnError("a date, text or type", name, records.schema.names)
        head = records if self.head is None else flatten(self.head)
        there = set(head.schema.names)
        if self.target is not None and self.target.name in there:
            self.target.settle(head.column(self.target.name))
        self.intake.settle(head.select([name for name in self.features if name in there]), self.find_text)
        self.head = None
        for note in self.intake.notes if not known else ():
            logger.info("%s", note)

    def _require_learned_features(self) -> None:
        learned = self.learned_features
        if learned is not None and set(learned) != set(self.features):
            raise CheckpointError(
                f"the checkpoint was learned from the columns {listed(learned)}, and now there are "
                f"{listed(self.features)}; name the old ones as features, start over with --fresh (fresh=True), "
                "or choose another directory"
            )


def without_blanks(column: pa.Array) -> pa.Array:
    """Return labels with empty texts, which CSV has for missing ones, and NaN as null."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    is_float = pa.types.is_floating(column.type)
    if not (is_float or is_text(column.type)) or (is_float and not may_have_nan(column)):
        return column
    import pyarrow.compute as pc

    blank = pc.is_nan(column) if is_float else pc.equal(column, "")
    return pc.if_else(blank, pa.scalar(None, column.type), column) if pc.any(blank).as_py() else column


def may_have_nan(column: pa.Array) -> bool:
    """Return whether numbers have NaN among them, as far as that can be seen without loading Arrow's functions."""
    return bool(column.null_count) or bool(np.isnan(np.from_dlpack(column)).any())


def find_unlabelled(column: pa.Array) -> NDArray[np.bool_] | None:
    """Return which labels are missing; None where none is."""
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False)) if column.null_count else None


def address_of(parts: Sequence[Batch]) -> Callable[[int], str]:
    """Return the function from a row, counted through all parts, to its address."""
    if len(parts) == 1:
        return parts[0].address
    ends = np.cumsum([part.num_rows for part in parts])

    def address(row: int) -> str:
        part = int(np.searchsorted(ends, row, side="right"))
        return parts[part].address(row - int(ends[part]) + parts[part].num_rows)

    return address


def places_of(parts: Sequence[Batch]) -> pa.RecordBatch | None:
    """Return what the source knows of the rows of all parts, or None."""
    found = [part.places() for part in parts if part.places is not None]
    if len(found) < len(parts):
        return None
    return found[0] if len(found) == 1 else pa.concat_batches(found)


def read_weights(column: pa.Array, name: str) -> NDArray[np.float64]:
    """Return the sample weights; a missing one is NaN, which the model refuses by row."""
    try:
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise UsageError(f"weight must name a column of numbers, got {name!r} of type {column.type}") from error


def read_text(column: pa.Array) -> NDArray[np.object_]:
    """Return the values of a column as Python objects, whole numbers without a fraction."""
    values = column.to_pylist()
    if pa.types.is_floating(column.type):
        values = [
            int(value) if value is not None and value == value and value.is_integer() else value for value in values
        ]
    return np.array(values, dtype=object)
