"""The mean of the worst share of the losses, of a stream and of its last rows."""

from __future__ import annotations

from typing import Any

from stream_maxloss.metrics.loss_histogram import LossHistogram, tail_mean
from stream_maxloss.metrics.loss_metric import LossMetric, checked_loss, checked_weight
from stream_maxloss.metrics.ring import Ring
from stream_maxloss.metrics.row_loss import RowLoss

__all__ = ["RollingTailLoss", "TailLoss"]


class TailLoss(LossMetric):
    """The mean of the worst share `alpha` of all losses so far: their conditional value at risk.

    It lies between the mean loss (`alpha=1`) and the greatest (`alpha` to 0), and unlike the greatest is not decided by
    a single row. The share is one of weight, and the row on its border counts in part; with equal weights and a
    whole `alpha * n` it is the plain mean of the worst `alpha * n` losses. Before any row it is 0.

    Parameters
    ----------
    alpha
        The share, in (0, 1]. Lowering it looks only at worse rows.
    loss
        What a row costs, as in `MaxLoss`.
    bins
        Number of bins of [0, 1] in which the losses are counted. The value is too low by at most `1 / bins`,
        and never too high.

    Notes
    -----
    A row outside the worst share can enter it later, as the share grows with the stream, so an exact value
    needs every loss ever seen. Instead each of `bins` equal bins keeps the count, the weight and the exact sum of
    its losses (24 bytes a bin, whatever the length of the stream). Only the bin on the border is not known in full:
    the part of it that is needed is taken at the mean of the bin. Where the losses in that bin are all equal, as
    zero-one losses are, the value is exact. `revert` takes a row back under the same bound, so
    `river.utils.Rolling(TailLoss, window_size=...)` works; `RollingTailLoss` is exact.

    Examples
    --------
    >>> from river import datasets, evaluate, linear_model, preprocessing
    >>> from stream_maxloss.metrics import TailLoss

    >>> model = preprocessing.StandardScaler() | linear_model.LogisticRegression()
    >>> evaluate.progressive_val_score(datasets.Phishing(), model, TailLoss(alpha=0.05))
    TailLoss: 0.7321

    """

    _store: LossHistogram

    def __init__(self, alpha: float = 0.05, loss: RowLoss | None = None, bins: int = 4096) -> None:
        super().__init__(loss, LossHistogram(bins))
        self.alpha = _checked_alpha(alpha)
        self.bins = bins

    def revert(self, y_true: Any, y_pred: Any, w: float = 1.0) -> None:
        """Take one row back."""
        self._store.remove(checked_loss(self.loss(y_true, y_pred)), checked_weight(w))

    def merge(self, other: TailLoss) -> None:
        """Add the rows that another metric with as many bins has seen."""
        self._store.merge(other._store)

    def get(self) -> float:
        """Return the mean of the worst share."""
        return self._store.tail_mean(self.alpha)


class RollingTailLoss(LossMetric):
    """The mean of the worst share `alpha` of the last `window_size` losses, exactly.

    Parameters
    ----------
    alpha
        The share, in (0, 1], as in `TailLoss`.
    window_size
        How many rows are looked back on. Each costs 16 bytes, and `get` sorts them.
    loss
        What a row costs, as in `MaxLoss`.

    Examples
    --------
    >>> from stream_maxloss.metrics import RollingTailLoss

    >>> metric = RollingTailLoss(alpha=0.5, window_size=4)
    >>> metric.update_many([1.0, 0.0, 0.25, 0.5, 0.75])
    >>> metric
    RollingTailLoss: 0.625

    """

    _store: Ring

    def __init__(self, alpha: float = 0.05, window_size: int = 1000, loss: RowLoss | None = None) -> None:
        super().__init__(loss, Ring(window_size))
        self.alpha = _checked_alpha(alpha)
        self.window_size = window_size

    def get(self) -> float:
        """Return the mean of the worst share of the window."""
        return tail_mean(self._store.values(), self._store.weights(), self.alpha)


def _checked_alpha(alpha: float) -> float:
    if not 0.0 < alpha <= 1.0:
        raise ValueError(f"alpha must be in (0, 1], got {alpha!r}; 0.05 asks for the worst 5 % of the rows")
    return alpha
