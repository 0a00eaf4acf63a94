"""What a model said of each row, as rows to write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import orjson
import pyarrow as pa

from stream_maxloss.errors import UsageError

if TYPE_CHECKING:
    from stream_maxloss.evaluate import RowBatch, Scored
    from stream_maxloss.run.columns import Columns

__all__ = ["PredictionRows", "carried", "require_free_names"]

OWN = ("row", "label", "prediction", "probability", "probabilities", "key", "time", "partition", "offset")
"""Names that predictions have themselves."""


class PredictionRows:
    """Makes rows of `row` (counted from 0), `label` (where known), `prediction` and `probability` (of a classifier).

    The probability is that of the positive label for two labels as booleans, else that of the predicted label. Of
    several classes there is also `probabilities`, a JSON object with the probability of each class that has come so
    far: one column, because classes may come at any time.

    So that they can be joined with the rows, they carry `key` and `time` (columns of the row, or the key of a topic's
    message), `partition` and `offset` of a topic, and any other columns that are asked for.

    Parameters
    ----------
    label_type
        Arrow type of labels and predictions.
    is_classifier
        Whether there are probabilities.
    with_labels
        Whether labels are known.
    by_class
        Whether to write the probability of each class.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> from stream_maxloss.run.predictions import PredictionRows
    >>> from stream_maxloss.evaluate import Scored
    >>> rows = PredictionRows(pa.bool_(), is_classifier=True, with_labels=True)
    >>> rows.make(7, Scored(np.array([True]), np.array([False]), np.array([0.25]))).to_pylist()
    [{'row': 7, 'label': True, 'prediction': False, 'probability': 0.25}]

    """

    def __init__(self, label_type: pa.DataType, is_classifier: bool, with_labels: bool, by_class: bool = False) -> None:
        self.label_type = label_type
        self.is_classifier = is_classifier
        self.with_labels = with_labels
        self.by_class = by_class

    def make(
        self, first: int, scored: Scored, labels: Any = None, more: dict[str, pa.Array] | None = None
    ) -> pa.RecordBatch:
        """Return the rows of a batch whose first row is number `first`, with more columns that `carried` gives."""
        predictions, shares = columns_of(scored)
        columns = {"row": pa.array(np.arange(first, first + len(predictions)))}
        if self.with_labels:
            known = scored.y_true if labels is None else labels
            columns["label"] = self._typed([None] * len(predictions) if labels is None and not len(known) else known)
        columns["prediction"] = self._typed(predictions)
        if self.is_classifier:
            columns["probability"] = pa.array(shares, pa.float64())
        if self.by_class:
            columns["probabilities"] = pa.array(objects_of(scored), pa.string())
        return pa.RecordBatch.from_pydict(columns | (more or {}))

    def _typed(self, values: Any) -> pa.Array:
        plain = values.tolist() if isinstance(values, np.ndarray) and values.dtype == object else values
        if pa.types.is_string(self.label_type):
            plain = [None if value is None else str(value) for value in plain]
        return pa.array(plain, self.label_type)


def require_free_names(columns: Columns) -> None:
    """Refuse columns to carry that would be mistaken for a prediction's own."""
    for name in columns.keep:
        if name in OWN:
            raise UsageError(
                f"keep must not name a column of predictions ({', '.join(OWN)}), got {name!r}; rename it in the "
                "source, or use it as key or time"
            )


def carried(batch: RowBatch, columns: Columns) -> dict[str, pa.Array]:
    """Return what predictions carry of their rows: key, time, where they stand in a topic, and columns to keep.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from stream_maxloss.evaluate import RowBatch
    >>> from stream_maxloss.run import Columns
    >>> from stream_maxloss.run.predictions import carried
    >>> rows = pa.RecordBatch.from_pydict({"id": ["a", "b"], "shop": [3, 4], "x": [1.0, 2.0]})
    >>> found = carried(RowBatch(rows.select(["x"]), records=rows), Columns("y", key="id", keep=("shop",)))
    >>> {name: column.to_pylist() for name, column in found.items()}
    {'key': ['a', 'b'], 'shop': [3, 4]}

    """
    found: dict[str, pa.Array] = {}
    if batch.places is not None:
        found |= {name: batch.places.column(name) for name in ("partition", "offset", "key")}
    if batch.records is None:
        return found
    wanted = {"key": columns.key, "time": columns.time} | {name: name for name in columns.keep}
    there = {name: column for name, column in wanted.items() if column in batch.records.schema.names}
    found |= {name: plain(batch.records.column(column)) for name, column in there.items()}
    if "key" in there:
        found["key"] = as_key(found["key"], str(columns.key))
    return found


def as_key(column: pa.Array, name: str) -> pa.Array:
    """Return a key as text or whole numbers: as 7.0 it would match no 7."""
    if not pa.types.is_floating(column.type):
        return column
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"key must be a column of text or whole numbers, got {name!r}: {reason}") from error


def plain(column: pa.Array) -> pa.Array:
    """Return a column as its values: what has a dictionary changes its type from batch to batch."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def columns_of(scored: Scored) -> tuple[Any, Any]:
    """Return predictions and probabilities, from arrays or from answers one by one."""
    if scored.classes is not None and scored.probabilities is not None:
        said = scored.probabilities
        return scored.y_pred, [row.max() if len(row) and row.any() else None for row in said]
    if scored.answers is None:
        return scored.y_pred, scored.probabilities
    predictions: list[Any] = []
    shares: list[float | None] = []
    for answer in scored.answers:
        if not isinstance(answer, dict):
            predictions.append(answer)
            shares.append(None)
            continue
        best = max(answer, key=answer.__getitem__) if answer else None
        predictions.append(best)
        binary = isinstance(best, bool | np.bool_)
        shares.append(answer.get(True, 0.0) if binary else None if best is None else answer[best])
    return predictions, shares


def objects_of(scored: Scored) -> list[str | None]:
    """Return the probability of each class as a JSON object, row by row; None where the model gave none."""
    if scored.classes is None or scored.probabilities is None:
        return [as_json(answer) if isinstance(answer, dict) else None for answer in scored.answers or ()]
    return [as_json(dict(zip(scored.classes, row, strict=True))) for row in scored.probabilities.tolist()]


def as_json(shares: dict[Any, float]) -> str:
    """Return probabilities as JSON, without classes that have not come yet."""
    return orjson.dumps({str(label): p for label, p in shares.items() if p}).decode()
