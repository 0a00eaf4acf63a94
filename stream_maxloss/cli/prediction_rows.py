"""What a model said of each row, as rows to write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from stream_maxloss.evaluate import Scored

__all__ = ["PredictionRows"]


class PredictionRows:
    """Makes rows of `row` (counted from 0), `label` (where known), `prediction` and `probability` (of a classifier).

    The probability is that of the positive label for two labels as booleans, else that of the predicted label.

    Parameters
    ----------
    label_type
        Arrow type of labels and predictions.
    is_classifier
        Whether there are probabilities.
    with_labels
        Whether labels are known.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa
    >>> from stream_maxloss.cli.prediction_rows import PredictionRows
    >>> from stream_maxloss.evaluate import Scored
    >>> rows = PredictionRows(pa.bool_(), is_classifier=True, with_labels=True)
    >>> rows.make(7, Scored(np.array([True]), np.array([False]), np.array([0.25]))).to_pylist()
    [{'row': 7, 'label': True, 'prediction': False, 'probability': 0.25}]

    """

    def __init__(self, label_type: pa.DataType, is_classifier: bool, with_labels: bool) -> None:
        self.label_type = label_type
        self.is_classifier = is_classifier
        self.with_labels = with_labels

    def make(self, first: int, scored: Scored, labels: Any = None) -> pa.RecordBatch:
        """Return the rows of a batch whose first row is number `first`."""
        predictions, shares = columns_of(scored)
        columns = {"row": pa.array(np.arange(first, first + len(predictions)))}
        if self.with_labels:
            columns["label"] = self._typed(scored.y_true if labels is None else labels)
        columns["prediction"] = self._typed(predictions)
        if self.is_classifier:
            columns["probability"] = pa.array(shares, pa.float64())
        return pa.RecordBatch.from_pydict(columns)

    def _typed(self, values: Any) -> pa.Array:
        plain = values.tolist() if isinstance(values, np.ndarray) and values.dtype == object else values
        if pa.types.is_string(self.label_type):
            plain = [None if value is None else str(value) for value in plain]
        return pa.array(plain, self.label_type)


def columns_of(scored: Scored) -> tuple[Any, Any]:
    """Return predictions and probabilities, from arrays or from answers one by one."""
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
