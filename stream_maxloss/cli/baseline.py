"""What a model that ignores the features would have scored."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Baseline"]


class Baseline:
    """The constant prediction, as far as it is known: the share of each label, or the mean value, of the rows so far.

    It is scored progressively like the model: each row is predicted from the rows before it.

    Parameters
    ----------
    is_classifier
        Whether labels or values are predicted.

    Examples
    --------
    >>> import numpy as np
    >>> from stream_maxloss.cli.baseline import Baseline
    >>> labels, shares = Baseline(True).predict_many(np.array([True, False, False, False]))
    >>> labels, shares.round(2)
    (array([ True,  True,  True, False]), array([0.5 , 1.  , 0.5 , 0.33]))

    """

    def __init__(self, is_classifier: bool) -> None:
        self.is_classifier = is_classifier
        self.counts: Counter[Any] = Counter()
        self.rows = 0
        self.total = 0.0

    def predict_many(self, y_true: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
        """Return predictions (labels with the share of True, or values) for rows, and take them in."""
        before = np.arange(self.rows, self.rows + len(y_true), dtype=np.float64)
        sums = np.zeros(len(y_true) + 1)
        np.cumsum(y_true, dtype=np.float64, out=sums[1:])
        sums += self.total
        is_first = self.rows == 0 and len(y_true) > 0
        before[:is_first] = 1.0
        means = sums[:-1] / before
        means[:is_first] = 0.5 if self.is_classifier else 0.0
        self.rows += len(y_true)
        self.total = float(sums[-1])
        return (means >= 0.5, means) if self.is_classifier else (means, None)

    def predict_one(self, y_true: Any, labels: bool) -> Any:
        """Return the prediction for one row (a label, a dict of shares, or a value), and take the row in."""
        prediction = self._predict(labels)
        self.rows += 1
        if self.is_classifier:
            self.counts[y_true] += 1
        else:
            self.total += float(y_true)
        return prediction

    def _predict(self, labels: bool) -> Any:
        if not self.is_classifier:
            return self.total / self.rows if self.rows else 0.0
        if not self.counts:
            return None
        if labels:
            return self.counts.most_common(1)[0][0]
        return {label: count / self.rows for label, count in self.counts.items()}

    def state_dict(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        return {"rows": self.rows, "total": self.total, "counts": [list(pair) for pair in self.counts.items()]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take over what `state_dict` returned."""
        self.rows, self.total = int(state["rows"]), float(state["total"])
        self.counts = Counter(dict(state["counts"]))
